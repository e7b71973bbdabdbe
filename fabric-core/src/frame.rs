//! What the pipeline reads and writes of a frame.

use crate::drop_reason::DropReason;
use crate::map_abi::address_to_u64;
use crate::wire::ethernet::{ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_IPV4, ETHER_TYPE_MAC_CONTROL};
use crate::wire::ipv4::incremental_checksum;
use crate::wire::link_delay;
use crate::wire::mac_control::{OPCODE_PAUSE, OPCODE_PFC};

/// Protocols whose first four bytes are ports.
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Fragment offset and more-fragments bits: such a packet's ports are not to be trusted.
const FRAGMENT_BITS: u16 = 0x3fff;
const ETHERNET_LEN: usize = 14;
const IPV4_LEN: usize = 20;

/// What the pipeline knows of an IPv4 packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv4Fields {
    /// Where the frame was sent to, as [`crate::map_abi::Port::address`] holds it.
    pub station: u64,
    /// Source address, host order.
    pub source: u32,
    /// Destination address, host order.
    pub destination: u32,
    /// Source and destination port as one word; 0 where there are none.
    pub ports: u32,
    /// Protocol.
    pub protocol: u8,
    /// DSCP and ECN.
    pub type_of_service: u8,
    /// Time to live.
    pub ttl: u8,
    /// Header checksum, as a number.
    pub checksum: u16,
}

impl Ipv4Fields {
    /// Priority: the class selector bits of the DSCP.
    #[inline(always)]
    pub const fn priority(&self) -> u32 {
        (self.type_of_service >> 5) as u32
    }

    /// ECT(0), ECT(1) or CE.
    #[inline(always)]
    pub const fn ecn_capable(&self) -> bool {
        self.type_of_service & 3 != 0
    }

    /// CE.
    #[inline(always)]
    pub const fn congestion_experienced(&self) -> bool {
        self.type_of_service & 3 == 3
    }
}

/// What a PFC frame says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PfcFields {
    /// Source address, all zero if the sender did not fill it in.
    pub source: u64,
    /// Class-enable vector.
    pub class_enable: u8,
    /// Quanta per class.
    pub quanta: [u16; 8],
}

/// A frame as the pipeline sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// To be routed.
    Ipv4(Ipv4Fields),
    /// Pause state for this port.
    Pfc(PfcFields),
    /// For the control plane: the neighbour measures the link, or answers.
    LinkDelay,
}

/// A frame in the pipeline's hands.
pub trait Frame {
    /// Frame length without FCS.
    fn length(&self) -> u32;
    /// Reads the headers.
    fn parse(&self) -> Result<Parsed, DropReason>;
    /// Sends it on: new addresses (see [`crate::map_abi::Port::address`]), time to live less one, checksum.
    fn forward(
        &mut self,
        source: u64,
        destination: u64,
        fields: &Ipv4Fields,
    ) -> Result<(), DropReason>;
    /// Sets congestion experienced; `forward` has been called.
    fn mark_congestion(&mut self, fields: &Ipv4Fields) -> Result<(), DropReason>;
}

/// Bytes that may end early: packet pointers in eBPF, slices elsewhere.
pub trait FrameBytes {
    /// Frame length without FCS.
    fn length(&self) -> u32;
    /// `N` bytes from `offset`, or nothing if the frame is shorter.
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]>;
    /// Replaces `N` bytes from `offset`; false if the frame is shorter.
    fn write<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) -> bool;
}

/// Parses and rewrites frames that are bytes.
#[derive(Debug)]
pub struct ByteFrame<B>(pub B);

#[inline(always)]
const fn be16(high: u8, low: u8) -> u16 {
    u16::from_be_bytes([high, low])
}

#[inline(always)]
fn station(bytes: &[u8; ETHERNET_LEN], at: usize) -> u64 {
    u64::from_le_bytes([
        bytes[at],
        bytes[at + 1],
        bytes[at + 2],
        bytes[at + 3],
        bytes[at + 4],
        bytes[at + 5],
        0,
        0,
    ])
}

impl<B: FrameBytes> ByteFrame<B> {
    #[inline(always)]
    fn parse_ipv4(&self, ethernet: &[u8; ETHERNET_LEN]) -> Result<Parsed, DropReason> {
        let header: [u8; IPV4_LEN] = self.0.read(ETHERNET_LEN).ok_or(DropReason::Truncated)?;
        if header[0] >> 4 != 4 || header[0] & 15 < 5 {
            return Err(DropReason::BadIpv4Header);
        }
        if header[0] & 15 > 5 {
            return Err(DropReason::Ipv4Options);
        }
        let total_length = u32::from(be16(header[2], header[3]));
        if total_length < IPV4_LEN as u32 {
            return Err(DropReason::BadIpv4Header);
        }
        if total_length + ETHERNET_LEN as u32 > self.0.length() {
            return Err(DropReason::Truncated);
        }
        let mut sum = 0u32;
        let mut word = 0;
        while word < IPV4_LEN {
            sum += u32::from(be16(header[word], header[word + 1]));
            word += 2;
        }
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        if sum != 0xffff {
            return Err(DropReason::BadIpv4Checksum);
        }
        let has_ports = matches!(header[9], PROTOCOL_TCP | PROTOCOL_UDP)
            && be16(header[6], header[7]) & FRAGMENT_BITS == 0;
        let ports = if has_ports {
            if total_length < IPV4_LEN as u32 + 4 {
                return Err(DropReason::Truncated);
            }
            u32::from_be_bytes(self.0.read(ETHERNET_LEN + IPV4_LEN).ok_or(DropReason::Truncated)?)
        } else {
            0
        };
        Ok(Parsed::Ipv4(Ipv4Fields {
            station: station(ethernet, 0),
            source: u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
            destination: u32::from_be_bytes([header[16], header[17], header[18], header[19]]),
            ports,
            protocol: header[9],
            type_of_service: header[1],
            ttl: header[8],
            checksum: be16(header[10], header[11]),
        }))
    }

    #[inline(always)]
    fn parse_mac_control(&self, ethernet: &[u8; ETHERNET_LEN]) -> Result<Parsed, DropReason> {
        let opcode: [u8; 2] = self.0.read(ETHERNET_LEN).ok_or(DropReason::Truncated)?;
        match u16::from_be_bytes(opcode) {
            OPCODE_PFC => {}
            OPCODE_PAUSE => return Err(DropReason::GlobalPause),
            _ => return Err(DropReason::UnknownMacControl),
        }
        let body: [u8; 18] = self.0.read(ETHERNET_LEN + 2).ok_or(DropReason::Truncated)?;
        let mut quanta = [0; 8];
        let mut class = 0;
        while class < 8 {
            quanta[class] = be16(body[2 + 2 * class], body[3 + 2 * class]);
            class += 1;
        }
        if body[1] == 0 {
            return Err(DropReason::EmptyPfc);
        }
        Ok(Parsed::Pfc(PfcFields { source: station(ethernet, 6), class_enable: body[1], quanta }))
    }

    #[inline(always)]
    fn parse_link_delay(&self, ethernet: &[u8; ETHERNET_LEN]) -> Result<Parsed, DropReason> {
        let start: [u8; 4] = self.0.read(ETHERNET_LEN).ok_or(DropReason::Truncated)?;
        if (self.0.length() as usize) < link_delay::LEN {
            return Err(DropReason::Truncated);
        }
        let kind = link_delay::Kind::from_number(be16(start[2], start[3]));
        if station(ethernet, 0) != address_to_u64(link_delay::DESTINATION)
            || be16(start[0], start[1]) != link_delay::PROTOCOL
            || kind.is_none()
        {
            return Err(DropReason::BadLinkDelay);
        }
        Ok(Parsed::LinkDelay)
    }
}

impl<B: FrameBytes> Frame for ByteFrame<B> {
    #[inline(always)]
    fn length(&self) -> u32 {
        self.0.length()
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        let ethernet: [u8; ETHERNET_LEN] = self.0.read(0).ok_or(DropReason::Truncated)?;
        match be16(ethernet[12], ethernet[13]) {
            ETHER_TYPE_IPV4 => self.parse_ipv4(&ethernet),
            ETHER_TYPE_MAC_CONTROL => self.parse_mac_control(&ethernet),
            ETHER_TYPE_EXPERIMENTAL => self.parse_link_delay(&ethernet),
            _ => Err(DropReason::UnknownEtherType),
        }
    }

    #[inline(always)]
    fn forward(
        &mut self,
        source: u64,
        destination: u64,
        fields: &Ipv4Fields,
    ) -> Result<(), DropReason> {
        let s = source.to_le_bytes();
        let d = destination.to_le_bytes();
        let addresses = [d[0], d[1], d[2], d[3], d[4], d[5], s[0], s[1], s[2], s[3], s[4], s[5]];
        let checksum = forwarded_checksum(fields).to_be_bytes();
        let ttl_to_checksum = [fields.ttl - 1, fields.protocol, checksum[0], checksum[1]];
        if self.0.write(0, addresses) && self.0.write(ETHERNET_LEN + 8, ttl_to_checksum) {
            Ok(())
        } else {
            Err(DropReason::Truncated)
        }
    }

    #[inline(always)]
    fn mark_congestion(&mut self, fields: &Ipv4Fields) -> Result<(), DropReason> {
        let marked = fields.type_of_service | 3;
        let checksum = incremental_checksum(
            forwarded_checksum(fields),
            be16(0x45, fields.type_of_service),
            be16(0x45, marked),
        );
        if self.0.write(ETHERNET_LEN + 1, [marked])
            && self.0.write(ETHERNET_LEN + 10, checksum.to_be_bytes())
        {
            Ok(())
        } else {
            Err(DropReason::Truncated)
        }
    }
}

/// The checksum after the time to live fell by one.
#[inline(always)]
fn forwarded_checksum(fields: &Ipv4Fields) -> u16 {
    incremental_checksum(
        fields.checksum,
        be16(fields.ttl, fields.protocol),
        be16(fields.ttl.wrapping_sub(1), fields.protocol),
    )
}

impl FrameBytes for &mut [u8] {
    #[inline]
    fn length(&self) -> u32 {
        self.len() as u32
    }

    #[inline]
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.get(offset..offset + N)?.try_into().ok()
    }

    #[inline]
    fn write<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) -> bool {
        match self.get_mut(offset..offset + N) {
            Some(target) => {
                target.copy_from_slice(&bytes);
                true
            }
            None => false,
        }
    }
}

/// Sets congestion experienced in a frame that was admitted earlier: marking at dequeue.
pub fn mark_admitted(frame: &mut [u8]) {
    let mut frame = ByteFrame(frame);
    let Some(header) = frame.0.read::<IPV4_LEN>(ETHERNET_LEN) else {
        return;
    };
    let marked = header[1] | 3;
    let checksum = incremental_checksum(
        be16(header[10], header[11]),
        be16(header[0], header[1]),
        be16(header[0], marked),
    );
    frame.0.write(ETHERNET_LEN + 1, [marked]);
    frame.0.write(ETHERNET_LEN + 10, checksum.to_be_bytes());
}

#[cfg(test)]
mod tests;
