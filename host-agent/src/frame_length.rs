//! Lengths of the frames that hosts exchange, without FCS.
//!
//! With `[frames]` the accounted length of a frame differs from its real length. Hosts, stores of frames, headroom and
//! `emulation/src/ideal.rs` compute it here; switches get it with each frame, in the kernel through `CLOCK`.

use fabric_core::wire::telemetry;
use units::Bytes;

/// Ethernet, IPv4, UDP and BTH before the payload, and the ICRC behind it.
pub const ROCE_HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
/// RDMA extended transport header.
pub const RETH: u64 = 16;
/// ACK extended transport header.
const AETH: u64 = 4;
/// Shortest Ethernet frame, without FCS.
const MIN_FRAME: u64 = 60;

/// Frame length of an ACK or a NAK, without FCS, that echoes telemetry with room for `telemetry_hops` stamps (0 to 8;
/// 0 for none).
pub const fn ack_frame(telemetry_hops: u8) -> Bytes {
    Bytes(ROCE_HEADERS + AETH + telemetry::surplus_length(telemetry_hops) as u64)
}

/// Length of a data frame, with a RETH or without one, and without FCS: `payload` is padded to four bytes. Telemetry has
/// room for `telemetry_hops` stamps (0 to 8; 0 for none).
pub const fn data_frame(payload: Bytes, reth: bool, telemetry_hops: u8) -> Bytes {
    let length = ROCE_HEADERS
        + payload.0.next_multiple_of(4)
        + if reth { RETH } else { 0 }
        + telemetry::surplus_length(telemetry_hops) as u64;
    Bytes(if length < MIN_FRAME { MIN_FRAME } else { length })
}

/// Accounted frame lengths, on wires and in buffers. `None` accounts the frame's own length, without FCS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameLengths {
    /// Headers of a packet with payload. A packet counts at least 60 B, the length for which switches have descriptors,
    /// unless `shortest` is less.
    pub data_headers: Option<u16>,
    /// A packet without payload.
    pub ack: Option<u16>,
    /// A frame between neighbours, be it hop control or link delay.
    pub hop_control: Option<u16>,
    /// Shortest packet with payload, if `data_headers` is set; 60 B if `None`.
    pub shortest: Option<u16>,
}

impl FrameLengths {
    /// Accounted length of a packet whose frame has `own` bytes.
    #[inline]
    pub fn packet(self, payload: u64, own: u64) -> u64 {
        let counted = if payload > 0 {
            self.data_headers.map(|headers| {
                let shortest = self.shortest.map_or(MIN_FRAME, u64::from);
                (payload + u64::from(headers)).max(shortest)
            })
        } else {
            self.ack.map(u64::from)
        };
        counted.unwrap_or(own)
    }

    /// Accounted length of a frame between neighbours that has `own` bytes.
    #[inline]
    pub fn hop_control(self, own: u32) -> u32 {
        self.hop_control.map_or(own, u32::from)
    }

    /// Min accounted length of a frame.
    pub fn shortest(self) -> u64 {
        let own = MIN_FRAME;
        let control = self.hop_control.map_or(own, u64::from);
        self.packet(1, own).min(self.packet(0, own)).min(control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_configured_length() {
        let own = FrameLengths::default();
        assert_eq!(
            (own.packet(1000, 1058), own.packet(0, 62), own.hop_control(60)),
            (1058, 62, 60)
        );
        assert_eq!(own.shortest(), 60);
        let lengths = FrameLengths {
            data_headers: Some(48),
            ack: Some(60),
            hop_control: Some(43),
            shortest: None,
        };
        assert_eq!(
            (lengths.packet(1000, 1074), lengths.packet(0, 62), lengths.hop_control(60)),
            (1048, 60, 43)
        );
        assert_eq!((lengths.packet(1, 62), lengths.shortest()), (60, 43));
    }

    #[test]
    fn frames_are_as_long_as_their_headers_say() {
        assert_eq!(data_frame(Bytes(1000), true, 0), Bytes(1074));
        assert_eq!(data_frame(Bytes(1000), false, 0), Bytes(1058));
        assert_eq!(data_frame(Bytes(1), false, 0), Bytes(62));
        assert_eq!(ack_frame(0), Bytes(62));
        assert_eq!(data_frame(Bytes(1000), true, 8), Bytes(1074 + 72));
        assert_eq!(ack_frame(1), Bytes(62 + 16));
    }
}
