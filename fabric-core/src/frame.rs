//! The parts of a frame that the pipeline reads and writes.

use zerocopy::transmute;

use crate::drop_reason::DropReason;
use crate::hop_control::HopControl;
use crate::map_abi::{address_from_u64, address_to_u64};
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::wire::ethernet::{
    self, ETHER_TYPE_EXPERIMENTAL, ETHER_TYPE_IPV4, ETHER_TYPE_MAC_CONTROL, LinkAddresses,
};
use crate::wire::ipv4::{Ecn, forwarded_checksum, remarked_checksum};
use crate::wire::mac_control::{self, OPCODE_PAUSE, OPCODE_PFC};
use crate::wire::{ParseError, RemainingSize, experimental, hop_control, ipv4, link_delay, pfc};

/// Fields of an IPv4 packet that the pipeline uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv4Fields {
    /// Destination MAC address, in the form of [`crate::map_abi::Port::address`].
    pub mac: u64,
    /// The queue of the neighbour's port that the packet left, if its source MAC address names one.
    pub upstream: QueueId,
    /// Source address, host order.
    pub source: u32,
    /// Destination address, host order.
    pub destination: u32,
    /// Source and destination port as one word; 0 if the protocol has no ports.
    pub ports: u32,
    /// Protocol.
    pub protocol: u8,
    /// DSCP and ECN.
    pub type_of_service: u8,
    /// Bytes that its flow has left to send, from the identification field.
    pub remaining: RemainingSize,
    /// Time to live.
    pub ttl: u8,
    /// Header checksum, as a number.
    pub checksum: u16,
}

impl Ipv4Fields {
    /// Priority: the class selector bits of the DSCP.
    #[inline(always)]
    pub const fn priority(&self) -> Priority {
        Priority::from_bits((self.type_of_service >> 5) as u32)
    }

    /// True if the sender labels the packet as part of an incast.
    #[inline(always)]
    pub const fn is_of_incast(&self) -> bool {
        self.type_of_service >> 2 & ipv4::INCAST_LABEL != 0
    }

    /// True if the sender marks the packet as part of its flow's first round trip.
    #[inline(always)]
    pub const fn is_first_rtt(&self) -> bool {
        self.type_of_service >> 2 & ipv4::FIRST_RTT != 0
    }

    /// True for ECT(0), ECT(1) and CE.
    #[inline(always)]
    pub const fn ecn_capable(&self) -> bool {
        !matches!(Ecn::from_wire(self.type_of_service), Ecn::NotCapable)
    }

    /// True for CE.
    #[inline(always)]
    pub const fn congestion_experienced(&self) -> bool {
        matches!(Ecn::from_wire(self.type_of_service), Ecn::CongestionExperienced)
    }
}

/// Content of a PFC frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PfcFields {
    /// Source MAC address; 0 if the sender did not fill it in.
    pub source: u64,
    /// Class-enable vector.
    pub class_enable: u8,
    /// Quanta per class.
    pub quanta: [u16; 8],
}

/// A parsed frame, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A packet to be routed.
    Ipv4(Ipv4Fields),
    /// A PFC frame, which pauses or resumes priorities of this port.
    Pfc(PfcFields),
    /// Another hop control frame, which limits what this port may send.
    HopControl(HopControl),
    /// A link delay request or answer, for the control plane.
    LinkDelay,
}

/// A frame in the pipeline.
pub trait Frame {
    /// Accounted frame length in buffers, bytes: the length without FCS, unless the frame is [`Counted`].
    fn length(&self) -> u32;
    /// Reads the headers.
    fn parse(&self) -> Result<Parsed, DropReason>;
    /// Rewrites the addresses (see [`crate::map_abi::Port::address`]), time to live (less 1) and checksum.
    fn forward(
        &mut self,
        source: u64,
        destination: u64,
        fields: &Ipv4Fields,
    ) -> Result<(), DropReason>;
    /// Sets congestion experienced. Call `forward` first.
    fn mark_congestion(&mut self, fields: &Ipv4Fields) -> Result<(), DropReason>;
}

/// Bytes of a frame that may end early: packet pointers in eBPF, slices elsewhere.
pub trait FrameBytes {
    /// Frame length without FCS.
    fn length(&self) -> u32;
    /// Reads `N` bytes from `offset`. `None` if the frame is shorter.
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]>;
    /// Replaces `N` bytes from `offset`. False if the frame is shorter.
    fn write<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) -> bool;
}

/// A frame of bytes, with parser and rewriter.
#[derive(Debug)]
pub struct ByteFrame<B>(pub B);

impl<B: FrameBytes> ByteFrame<B> {
    #[inline(always)]
    fn read<const N: usize>(&self, offset: usize) -> Result<[u8; N], DropReason> {
        self.0.read(offset).ok_or(DropReason::Truncated)
    }

    #[inline(always)]
    fn write<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) -> Result<(), DropReason> {
        if self.0.write(offset, bytes) { Ok(()) } else { Err(DropReason::Truncated) }
    }

    #[inline(always)]
    fn parse_ipv4(&self, addresses: &LinkAddresses) -> Result<Parsed, DropReason> {
        let header: ipv4::Header = transmute!(self.read::<{ ipv4::LEN }>(ethernet::LEN)?);
        let available = self.0.length().wrapping_sub(ethernet::LEN as u32) as usize;
        header.check(available).map_err(ipv4_refusal)?;
        header.verify_checksum().map_err(|_| DropReason::BadIpv4Checksum)?;
        let ports = if header.has_ports() {
            if usize::from(header.total_length()) < ipv4::LEN + size_of::<u32>() {
                return Err(DropReason::Truncated);
            }
            u32::from_be_bytes(self.read(ethernet::LEN + ipv4::LEN)?)
        } else {
            0
        };
        Ok(Parsed::Ipv4(Ipv4Fields {
            mac: address_to_u64(addresses.destination),
            upstream: QueueId::from_address(address_to_u64(addresses.source)),
            source: header.source(),
            destination: header.destination(),
            ports,
            protocol: header.protocol(),
            type_of_service: header.type_of_service(),
            remaining: RemainingSize::from_wire(header.identification()),
            ttl: header.time_to_live(),
            checksum: header.checksum(),
        }))
    }

    #[inline(always)]
    fn parse_mac_control(&self, addresses: &LinkAddresses) -> Result<Parsed, DropReason> {
        match u16::from_be_bytes(self.read(ethernet::LEN)?) {
            OPCODE_PFC => {}
            OPCODE_PAUSE => return Err(DropReason::GlobalPause),
            _ => return Err(DropReason::UnknownMacControl),
        }
        let body: pfc::Body = transmute!(self.read::<{ pfc::BODY_LEN }>(mac_control::LEN)?);
        let class_enable = body.class_enable();
        if class_enable == 0 {
            return Err(DropReason::EmptyPfc);
        }
        let source = address_to_u64(addresses.source);
        Ok(Parsed::Pfc(PfcFields { source, class_enable, quanta: body.quanta() }))
    }

    /// Parses a frame of the experimental EtherType.
    #[inline(always)]
    fn parse_experimental(&self, addresses: &LinkAddresses) -> Result<Parsed, DropReason> {
        let bytes = self.read::<{ experimental::SELECTOR_LEN }>(ethernet::LEN)?;
        let selector: experimental::Selector = transmute!(bytes);
        if selector.protocol() == hop_control::PROTOCOL {
            return self.parse_hop_control(addresses, selector.kind());
        }
        if (self.0.length() as usize) < link_delay::LEN {
            return Err(DropReason::Truncated);
        }
        if address_to_u64(addresses.destination) != address_to_u64(experimental::DESTINATION)
            || selector.protocol() != link_delay::PROTOCOL
            || link_delay::Kind::from_number(selector.kind()).is_none()
        {
            return Err(DropReason::BadLinkDelay);
        }
        Ok(Parsed::LinkDelay)
    }

    #[inline(always)]
    fn parse_hop_control(
        &self,
        addresses: &LinkAddresses,
        kind: u16,
    ) -> Result<Parsed, DropReason> {
        let body = self.read(experimental::LEN)?;
        if (self.0.length() as usize) < hop_control::LEN {
            return Err(DropReason::Truncated);
        }
        if address_to_u64(addresses.destination) != address_to_u64(experimental::DESTINATION) {
            return Err(DropReason::BadHopControl);
        }
        let control = hop_control::read_body(kind, &body).ok_or(DropReason::BadHopControl)?;
        Ok(Parsed::HopControl(control))
    }
}

/// A frame whose accounted length differs from its real length.
#[derive(Debug)]
pub struct Counted<F> {
    /// The frame.
    pub frame: F,
    /// Accounted length, bytes.
    pub length: u32,
}

impl<F: Frame> Frame for Counted<F> {
    #[inline(always)]
    fn length(&self) -> u32 {
        self.length
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        self.frame.parse()
    }

    #[inline(always)]
    fn forward(
        &mut self,
        source: u64,
        destination: u64,
        fields: &Ipv4Fields,
    ) -> Result<(), DropReason> {
        self.frame.forward(source, destination, fields)
    }

    #[inline(always)]
    fn mark_congestion(&mut self, fields: &Ipv4Fields) -> Result<(), DropReason> {
        self.frame.mark_congestion(fields)
    }
}

/// Returns the drop reason of a packet with an invalid IPv4 header.
#[inline(always)]
fn ipv4_refusal(error: ParseError) -> DropReason {
    match error {
        ParseError::IpHeaderLength(words) if usize::from(words) * 4 > ipv4::LEN => {
            DropReason::Ipv4Options
        }
        ParseError::IpTotalLength { total, .. } if total >= ipv4::LEN => DropReason::Truncated,
        _ => DropReason::BadIpv4Header,
    }
}

impl<B: FrameBytes> Frame for ByteFrame<B> {
    #[inline(always)]
    fn length(&self) -> u32 {
        self.0.length()
    }

    #[inline(always)]
    fn parse(&self) -> Result<Parsed, DropReason> {
        let header: ethernet::Header = transmute!(self.read::<{ ethernet::LEN }>(0)?);
        let addresses = header.addresses();
        match header.ether_type() {
            ETHER_TYPE_IPV4 => self.parse_ipv4(&addresses),
            ETHER_TYPE_MAC_CONTROL => self.parse_mac_control(&addresses),
            ETHER_TYPE_EXPERIMENTAL => self.parse_experimental(&addresses),
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
        let source = address_from_u64(source);
        let addresses = LinkAddresses { source, destination: address_from_u64(destination) };
        let [high, low] = forwarded_checksum(fields.checksum, fields.ttl).to_be_bytes();
        let ttl_to_checksum = [fields.ttl - 1, fields.protocol, high, low];
        self.write(0, addresses.to_bytes())?;
        self.write(ethernet::LEN + ipv4::TIME_TO_LIVE_AT, ttl_to_checksum)
    }

    #[inline(always)]
    fn mark_congestion(&mut self, fields: &Ipv4Fields) -> Result<(), DropReason> {
        let marked = marked(fields.type_of_service);
        let forwarded = forwarded_checksum(fields.checksum, fields.ttl);
        let checksum = remarked_checksum(forwarded, fields.type_of_service, marked);
        self.write(ethernet::LEN + ipv4::TYPE_OF_SERVICE_AT, [marked])?;
        self.write(ethernet::LEN + ipv4::CHECKSUM_AT, checksum.to_be_bytes())
    }
}

/// Returns the type of service with its DSCP unchanged and congestion experienced set.
#[inline(always)]
const fn marked(type_of_service: u8) -> u8 {
    type_of_service | Ecn::CongestionExperienced as u8
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

/// Sets congestion experienced in a frame that was admitted earlier, for marking at dequeue.
pub fn mark_admitted(frame: &mut [u8]) {
    let mut frame = ByteFrame(frame);
    let Ok(bytes) = frame.read::<{ ipv4::LEN }>(ethernet::LEN) else {
        return;
    };
    let mut header: ipv4::Header = transmute!(bytes);
    header.set_ecn(Ecn::CongestionExperienced);
    let bytes: [u8; ipv4::LEN] = transmute!(header);
    frame.0.write(ethernet::LEN, bytes);
}

#[cfg(test)]
mod tests;
