//! A packet of any transport of the hosts.

use core::fmt;

use super::{RocePacket, TcpSegment, TelemetryFields};
#[cfg(feature = "icrc")]
use super::{
    error::{EmitError, ParseError},
    ethernet::{self, LinkAddresses},
    ipv4,
    telemetry::Stamp,
};

/// A packet between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A RoCEv2 packet.
    Roce(RocePacket),
    /// A TCP segment.
    Tcp(TcpSegment),
}

impl Packet {
    /// The frame's length in bytes without FCS.
    #[inline]
    pub fn frame_length(&self) -> usize {
        match self {
            Self::Roce(packet) => packet.frame_length(),
            Self::Tcp(segment) => segment.frame_length(),
        }
    }

    /// Differentiated services code point, 0 to 63; by convention 8 per priority.
    #[inline]
    pub const fn dscp(&self) -> u8 {
        match self {
            Self::Roce(packet) => packet.dscp,
            Self::Tcp(segment) => segment.dscp,
        }
    }

    /// Payload bytes, without padding.
    #[inline]
    pub const fn payload_length(&self) -> u16 {
        match self {
            Self::Roce(packet) => packet.payload_length,
            Self::Tcp(segment) => segment.payload_length,
        }
    }

    /// Returns the fields of the packet's telemetry. `None` without room for stamps.
    #[inline]
    pub const fn telemetry(&self) -> Option<TelemetryFields> {
        match self {
            Self::Roce(packet) => packet.telemetry,
            Self::Tcp(segment) => segment.telemetry,
        }
    }

    /// The RoCEv2 packet, if it is one.
    #[inline]
    pub const fn roce(self) -> Option<RocePacket> {
        match self {
            Self::Roce(packet) => Some(packet),
            Self::Tcp(_) => None,
        }
    }

    /// The TCP segment, if it is one.
    #[inline]
    pub const fn tcp(self) -> Option<TcpSegment> {
        match self {
            Self::Roce(_) => None,
            Self::Tcp(segment) => Some(segment),
        }
    }

    /// Parses a frame, by its IP protocol.
    #[cfg(feature = "icrc")]
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        match frame.get(ethernet::LEN + ipv4::PROTOCOL_AT) {
            Some(&ipv4::PROTOCOL_TCP) => TcpSegment::parse(frame).map(Self::Tcp),
            _ => RocePacket::parse(frame).map(Self::Roce),
        }
    }

    /// Writes the whole frame, with the stamps of any telemetry, and returns its length.
    #[cfg(feature = "icrc")]
    pub fn emit_stamped(
        &self,
        addresses: &LinkAddresses,
        stamps: &[Stamp],
        buffer: &mut [u8],
    ) -> Result<usize, EmitError> {
        match self {
            Self::Roce(packet) => packet.emit_stamped(addresses, stamps, buffer),
            Self::Tcp(segment) => segment.emit_stamped(addresses, stamps, buffer),
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Roce(packet) => packet.fmt(f),
            Self::Tcp(segment) => segment.fmt(f),
        }
    }
}

impl From<RocePacket> for Packet {
    fn from(packet: RocePacket) -> Self {
        Self::Roce(packet)
    }
}

impl From<TcpSegment> for Packet {
    fn from(segment: TcpSegment) -> Self {
        Self::Tcp(segment)
    }
}
