//! An IPv4 packet alone in its Ethernet frame.

use super::error::{Layer, ParseError};
use super::{ethernet, ipv4};

/// Returns the length of a frame that contains an IP packet.
pub(super) const fn frame_length(ip_total_length: usize) -> usize {
    let length = ethernet::LEN + ip_total_length;
    if length < ethernet::MINIMUM_FRAME_LENGTH { ethernet::MINIMUM_FRAME_LENGTH } else { length }
}

/// Returns the IPv4 header of an unfragmented packet of `protocol`, and the packet from its header on, without Ethernet
/// padding.
pub(super) fn open(frame: &[u8], protocol: u8) -> Result<(&ipv4::Header, &[u8]), ParseError> {
    let (needed, available) = (ethernet::MINIMUM_FRAME_LENGTH, frame.len());
    if available < needed {
        return Err(ParseError::Truncated { layer: Layer::Ethernet, needed, available });
    }
    let (ethernet, rest) = ethernet::Header::parse(frame)?;
    if ethernet.ether_type() != ethernet::ETHER_TYPE_IPV4 {
        return Err(ParseError::EtherType(ethernet.ether_type()));
    }
    let (ipv4, _) = ipv4::Header::parse(rest)?;
    ipv4.verify_checksum()?;
    if ipv4.is_fragment() {
        return Err(ParseError::Fragment);
    }
    if ipv4.protocol() != protocol {
        return Err(ParseError::Protocol(ipv4.protocol()));
    }
    let total = usize::from(ipv4.total_length());
    let (expected, actual) = (frame_length(total), frame.len());
    match rest.get(..total) {
        Some(ip_packet) if actual == expected => Ok((ipv4, ip_packet)),
        _ => Err(ParseError::FrameLength { expected, actual }),
    }
}
