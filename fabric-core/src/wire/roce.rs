//! A whole RoCEv2 packet as one plain value, independent of the datapath.
//!
//! InfiniBand Architecture, `RoCEv2` annex (A17), over IPv4:
//!
//! ```text
//! Ethernet 14 | IPv4 20 | UDP 8 | BTH 12 | RETH 16 or AETH 4 or CNP 16 or none
//!             | payload | pad 0-3 | ICRC 4 | telemetry or none | zeros to the Ethernet minimum of 60
//! ```
//!
//! The UDP datagram ends with the ICRC; telemetry is a UDP option behind it (see `telemetry`).

use core::fmt;
use core::net::Ipv4Addr;

use super::ip_packet::frame_length;
use super::psn::Psn;
use super::remaining_size::RemainingSize;
use super::{aeth, bth, cnp, ipv4, reth, udp};

#[cfg(feature = "icrc")]
mod frame;
#[cfg(feature = "icrc")]
const _: () = assert!(ICRC_LEN == super::icrc::LEN);

pub use super::aeth::{Fields as AethFields, Syndrome};
pub use super::bth::Opcode;
pub use super::ethernet::LinkAddresses;
pub use super::ipv4::Ecn;
pub use super::reth::Fields as RethFields;
pub use super::telemetry::Fields as TelemetryFields;

/// UDP destination port of RoCEv2 (IANA).
pub const UDP_PORT: u16 = 4791;

/// The invariant CRC's length in bytes, whether or not this build can compute one.
const ICRC_LEN: usize = 4;

/// A RoCEv2 packet: every field that its bytes carry, except for the payload itself, which is a
/// function of the queue pair and PSN (see `payload`), the ICRC, a function of the rest, and the stamps of its
/// telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RocePacket {
    /// Source IPv4 address, host order.
    pub source: u32,
    /// Destination IPv4 address, host order.
    pub destination: u32,
    /// UDP source port: the entropy that ECMP hashes.
    pub source_port: u16,
    /// Differentiated services code point, 0 to 63. By convention 8 per priority, plus 1 in packets
    /// of labelled incasts ([`INCAST_LABEL`](super::ipv4::INCAST_LABEL)), plus 2 in marked packets
    /// of a first round trip ([`FIRST_RTT`](super::ipv4::FIRST_RTT)).
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// IPv4 time to live.
    pub ttl: u8,
    /// BTH opcode.
    pub opcode: Opcode,
    /// BTH acknowledge request.
    pub ack_request: bool,
    /// BTH BECN of an ACK or NAK: the responder saw a packet marked congestion experienced. False in
    /// every other packet; a CNP has BECN by its opcode.
    pub congestion_echo: bool,
    /// Destination queue pair, 24 bits.
    pub destination_qp: u32,
    /// Packet sequence number.
    pub psn: Psn,
    /// Present in `WriteFirst` and `WriteOnly`.
    pub reth: Option<RethFields>,
    /// Present in `Acknowledge`.
    pub aeth: Option<AethFields>,
    /// Payload bytes, without padding; zero for ACK and CNP.
    pub payload_length: u16,
    /// Fields of the packet's telemetry. `None` without room for stamps.
    pub telemetry: Option<TelemetryFields>,
    /// Bytes that the packet's flow has left to send, in the IPv4 identification.
    pub remaining: RemainingSize,
}

impl RocePacket {
    /// The frame's length in bytes without FCS, padded to the Ethernet minimum.
    #[inline]
    pub const fn frame_length(&self) -> usize {
        frame_length(self.ip_total_length())
    }

    /// IP header to ICRC or, in a packet with telemetry, to the last stamp, in bytes.
    #[inline]
    pub const fn ip_total_length(&self) -> usize {
        ipv4::LEN + self.udp_length() + self.surplus_length()
    }

    /// UDP header to ICRC, in bytes.
    #[inline]
    pub const fn udp_length(&self) -> usize {
        let payload = (self.payload_length as usize).next_multiple_of(4);
        udp::LEN + bth::LEN + extension_length(self.opcode) + payload + ICRC_LEN
    }

    /// Bytes of telemetry.
    #[inline]
    const fn surplus_length(&self) -> usize {
        match self.telemetry {
            None => 0,
            Some(telemetry) => telemetry.surplus_length(),
        }
    }

    /// Bytes of zeros between payload and ICRC, 0 to 3.
    #[inline]
    pub const fn pad_count(&self) -> u8 {
        (self.payload_length.wrapping_neg() & 3) as u8
    }
}

/// Bytes between BTH and payload. A sum instead of a branch, because no branch predictor can
/// predict the next opcode at a switch.
const fn extension_length(opcode: Opcode) -> usize {
    opcode.has_reth() as usize * reth::LEN
        + opcode.has_aeth() as usize * aeth::LEN
        + matches!(opcode, Opcode::Cnp) as usize * cnp::LEN
}

impl fmt::Display for RocePacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (Ipv4Addr::from(self.source), Ipv4Addr::from(self.destination));
        let Self { source_port, opcode, destination_qp, psn, .. } = self;
        write!(f, "{source}:{source_port} > {destination} {opcode} qp {destination_qp} psn {psn}")?;
        if let Some(aeth) = self.aeth {
            match aeth.arrived() {
                Some(psn) => write!(f, " {} arrived {psn}", aeth.syndrome)?,
                None => write!(f, " {} msn {}", aeth.syndrome, aeth.message_sequence_number)?,
            }
        }
        if self.congestion_echo {
            f.write_str(" BECN")?;
        }
        if self.opcode.has_payload() {
            write!(f, " {} bytes", self.payload_length)?;
        }
        if self.ecn == Ecn::CongestionExperienced {
            f.write_str(" CE")?;
        }
        match self.telemetry {
            None => Ok(()),
            Some(telemetry) => write!(f, " {telemetry}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: RocePacket = RocePacket {
        source: 0x0a00_0101,
        destination: 0x0a00_0102,
        source_port: 50000,
        dscp: 24,
        ecn: Ecn::CongestionExperienced,
        ttl: 63,
        opcode: Opcode::WriteMiddle,
        ack_request: false,
        congestion_echo: false,
        destination_qp: 7,
        psn: Psn::new(9),
        reth: None,
        aeth: None,
        payload_length: 0,
        telemetry: None,
        remaining: RemainingSize::UNKNOWN,
    };

    #[test]
    fn lengths_by_opcode_and_payload() {
        for (opcode, payload_length, pad_count, frame_length) in [
            (Opcode::WriteMiddle, 0, 0, 60),
            (Opcode::WriteMiddle, 1, 3, 62),
            (Opcode::WriteMiddle, 4, 0, 62),
            (Opcode::WriteLast, 1000, 0, 1058),
            (Opcode::WriteFirst, 1000, 0, 1074),
            (Opcode::WriteOnly, 1001, 3, 1078),
            (Opcode::Acknowledge, 0, 0, 62),
            (Opcode::Cnp, 0, 0, 74),
        ] {
            let packet = RocePacket { opcode, payload_length, ..PACKET };
            assert_eq!(packet.pad_count(), pad_count, "{packet}");
            assert_eq!(packet.frame_length(), frame_length, "{packet}");
            for room in 1..=8 {
                let telemetry = TelemetryFields::with_room(room);
                let with_room = RocePacket { telemetry, ..packet };
                let length = 14 + packet.ip_total_length() + 8 + 8 * usize::from(room);
                assert_eq!(with_room.frame_length(), length, "{with_room}");
            }
        }
        assert_eq!(PACKET.ip_total_length(), 44);
    }

    #[test]
    fn a_packet_is_one_line() {
        let text = "10.0.1.1:50000 > 10.0.1.2 WRITE_MIDDLE qp 7 psn 9 0 bytes CE";
        assert_eq!(PACKET.to_string(), text);
        let echo = RocePacket {
            ecn: Ecn::NotCapable,
            opcode: Opcode::Acknowledge,
            congestion_echo: true,
            aeth: Some(AethFields { syndrome: Syndrome::Ack, message_sequence_number: 5 }),
            ..PACKET
        };
        let text = "10.0.1.1:50000 > 10.0.1.2 ACKNOWLEDGE qp 7 psn 9 ACK msn 5 BECN";
        assert_eq!(echo.to_string(), text);
        let telemetry = Some(TelemetryFields { room: 5, hops: 2, echo: true, exceeded: true });
        let stamped = RocePacket { telemetry, ..echo };
        assert_eq!(stamped.to_string(), format!("{text} telemetry 2 of 5 exceeded echo"));
        let aeth = Some(AethFields::selective_nak(Psn::new(12)));
        let nak = RocePacket { congestion_echo: false, aeth, ..echo };
        let text = "10.0.1.1:50000 > 10.0.1.2 ACKNOWLEDGE qp 7 psn 9 SELECTIVE_NAK arrived 12";
        assert_eq!(nak.to_string(), text);
    }
}
