//! Errors of parsing received bytes, and of emitting packets.

use core::error::Error;
use core::fmt;

use super::bth::Opcode;

/// A header or trailer, as named in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Ethernet header, or a frame below the minimum of 60 bytes.
    Ethernet,
    /// MAC control header with its opcode.
    MacControl,
    /// Common header of xoff's own protocols.
    Experimental,
    /// Link delay frame.
    LinkDelay,
    /// Hop control frame.
    HopControl,
    /// IPv4 header.
    Ipv4,
    /// UDP header.
    Udp,
    /// TCP header, options included.
    Tcp,
    /// Base transport header.
    Bth,
    /// RDMA extended transport header.
    Reth,
    /// ACK extended transport header.
    Aeth,
    /// The 16 reserved bytes of a CNP.
    Cnp,
    /// Invariant CRC.
    Icrc,
    /// Telemetry without its stamps.
    Telemetry,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::MacControl => "MAC control",
            Self::Experimental => "experimental header",
            Self::LinkDelay => "link delay",
            Self::HopControl => "hop control",
            Self::Ipv4 => "IPv4",
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
            Self::Bth => "BTH",
            Self::Reth => "RETH",
            Self::Aeth => "AETH",
            Self::Cnp => "CNP",
            Self::Icrc => "ICRC",
            Self::Telemetry => "telemetry",
        })
    }
}

/// Reason why bytes are not a valid packet of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end before the layer does.
    Truncated {
        /// The truncated layer.
        layer: Layer,
        /// Its length in bytes.
        needed: usize,
        /// Bytes available for the layer.
        available: usize,
    },
    /// The frame's length does not match its IP packet, padded to the Ethernet minimum.
    FrameLength {
        /// Length from the IP total length.
        expected: usize,
        /// Length of the frame.
        actual: usize,
    },
    /// Unexpected EtherType.
    EtherType(u16),
    /// A MAC control frame to an address other than 01:80:c2:00:00:01.
    MacControlDestination([u8; 6]),
    /// Unexpected MAC control opcode.
    MacControlOpcode(u16),
    /// A link delay frame that is neither request nor response.
    LinkDelayKind(u16),
    /// A hop control frame of this kind with an invalid body, or of an unknown kind.
    HopControlBody(u16),
    /// A frame of the experimental EtherType to an address other than 01:80:c2:00:00:0e.
    ExperimentalDestination([u8; 6]),
    /// Unexpected protocol under the experimental EtherType.
    ExperimentalProtocol(u16),
    /// IP version other than 4.
    IpVersion(u8),
    /// IPv4 header length in words other than 5: options, or an invalid length.
    IpHeaderLength(u8),
    /// The IPv4 total length is below the header's length or above the available bytes.
    IpTotalLength {
        /// Total length in the header.
        total: usize,
        /// Bytes from the IP header on.
        available: usize,
    },
    /// The IPv4 header's checksum does not verify.
    IpChecksum {
        /// Correct checksum.
        expected: u16,
        /// Checksum in the header.
        found: u16,
    },
    /// A fragment of an IPv4 packet.
    Fragment,
    /// Unexpected IP protocol.
    Protocol(u8),
    /// UDP destination port other than `RoCEv2`'s 4791.
    UdpPort(u16),
    /// The UDP length disagrees with the IP total length, and the difference is too short for telemetry.
    UdpLength {
        /// UDP length from the IP total length.
        expected: usize,
        /// UDP length in the header.
        found: usize,
    },
    /// A UDP checksum other than the zero that `RoCEv2` sends.
    UdpChecksum(u16),
    /// The `RoCEv2` packet's length is not a multiple of four.
    Unaligned {
        /// The IP total length.
        total: usize,
    },
    /// The invariant CRC does not verify.
    Icrc {
        /// Correct CRC.
        expected: u32,
        /// CRC in the packet.
        found: u32,
    },
    /// BTH header version other than 0.
    BthVersion(u8),
    /// A BTH opcode that xoff does not support.
    UnknownOpcode(u8),
    /// A partition key other than the default, 0xffff.
    PartitionKey(u16),
    /// FECN, BECN or reserved bits set other than the BECN of a CNP or ACK, or a CNP without it.
    CongestionBits(u8),
    /// An AETH syndrome that xoff does not support.
    UnknownSyndrome(u8),
    /// The 16 bytes of a CNP are not zero.
    CnpReserved,
    /// More padding than available bytes.
    PadCount {
        /// Padding in the BTH.
        pad: u8,
        /// Payload and padding together.
        available: usize,
    },
    /// A payload after an opcode without payload.
    UnexpectedPayload {
        /// The opcode.
        opcode: Opcode,
        /// Payload and padding together.
        length: usize,
    },
    /// The payload is not the pattern of its packet.
    PayloadPattern,
    /// TCP ports that belong to no xoff connection.
    TcpPorts {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
    },
    /// TCP flags or reserved bits that xoff never sets, or an invalid combination.
    TcpFlags(u8),
    /// TCP options other than those that belong to the flags.
    TcpOptions,
    /// TCP's checksum does not verify.
    TcpChecksum {
        /// Correct checksum.
        expected: u16,
        /// Checksum in the header.
        found: u16,
    },
    /// A payload in a segment that opens a connection.
    TcpPayload {
        /// Length of the payload, bytes.
        length: usize,
    },
    /// A checksum of UDP options other than the zero that goes with no UDP checksum.
    OptionChecksum(u16),
    /// An experimental option other than telemetry.
    UnknownOption {
        /// Kind of the option.
        kind: u8,
        /// Identifier of an experimental option.
        identifier: u16,
    },
    /// Telemetry with a wrong length, or with room for no stamp or for more stamps than its transport allows.
    TelemetryLength {
        /// Length in the option, bytes.
        length: u8,
        /// Bytes after the option's header.
        stamps: usize,
    },
    /// Undefined flags of telemetry.
    TelemetryFlags(u8),
    /// Telemetry with more stamps than it has room for.
    TelemetryHops {
        /// Number of stamps in the option.
        hops: u8,
        /// Number of stamps for which there is room.
        room: u8,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { layer, needed, available } => {
                write!(f, "{layer} needs {needed} bytes, {available} are left")
            }
            Self::FrameLength { expected, actual } => {
                write!(f, "the frame has {actual} bytes, its IP packet makes it {expected}")
            }
            Self::EtherType(found) => write!(f, "unexpected EtherType {found:#06x}"),
            Self::MacControlDestination(found) => {
                write!(f, "MAC control frame to {}", super::ethernet::Address(found))
            }
            Self::MacControlOpcode(found) => {
                write!(f, "unexpected MAC control opcode {found:#06x}")
            }
            Self::LinkDelayKind(found) => write!(f, "unknown kind {found} of link delay frame"),
            Self::HopControlBody(kind) => {
                write!(f, "hop control frame of kind {kind} says nothing")
            }
            Self::ExperimentalDestination(found) => {
                write!(f, "experimental frame to {}", super::ethernet::Address(found))
            }
            Self::ExperimentalProtocol(found) => {
                write!(f, "unexpected experimental protocol {found}")
            }
            Self::IpVersion(found) => write!(f, "IP version {found}, not 4"),
            Self::IpHeaderLength(found) => write!(f, "IPv4 header of {found} words, not 5"),
            Self::IpTotalLength { total, available } => {
                write!(f, "IPv4 total length {total} where {available} bytes are there")
            }
            Self::IpChecksum { expected, found } => {
                write!(f, "IPv4 header checksum {found:#06x}, should be {expected:#06x}")
            }
            Self::Fragment => f.write_str("IPv4 fragment"),
            Self::Protocol(found) => write!(f, "unexpected IP protocol {found}"),
            Self::UdpPort(found) => write!(f, "UDP destination port {found}, not 4791"),
            Self::UdpLength { expected, found } => {
                write!(f, "UDP length {found}, should be {expected}")
            }
            Self::UdpChecksum(found) => write!(f, "UDP checksum {found:#06x}, not 0"),
            Self::Unaligned { total } => {
                write!(f, "IPv4 total length {total} is not a multiple of 4")
            }
            Self::Icrc { expected, found } => {
                write!(f, "ICRC {found:#010x}, should be {expected:#010x}")
            }
            Self::BthVersion(found) => write!(f, "BTH version {found}, not 0"),
            Self::UnknownOpcode(found) => write!(f, "unknown BTH opcode {found:#04x}"),
            Self::PartitionKey(found) => write!(f, "partition key {found:#06x}, not 0xffff"),
            Self::CongestionBits(found) => write!(f, "unexpected BTH congestion bits {found:#04x}"),
            Self::UnknownSyndrome(found) => write!(f, "unknown AETH syndrome {found:#04x}"),
            Self::CnpReserved => f.write_str("the reserved bytes of a CNP are not zero"),
            Self::PadCount { pad, available } => {
                write!(f, "pad count {pad} where {available} bytes are there")
            }
            Self::UnexpectedPayload { opcode, length } => {
                write!(f, "{length} bytes of payload behind {opcode}")
            }
            Self::PayloadPattern => f.write_str("the payload is not the pattern of its packet"),
            Self::TcpPorts { source, destination } => {
                write!(f, "TCP ports {source} and {destination} are of no connection")
            }
            Self::TcpFlags(found) => write!(f, "unexpected TCP flags {found:#04x}"),
            Self::TcpOptions => f.write_str("the TCP options do not fit the flags"),
            Self::TcpChecksum { expected, found } => {
                write!(f, "TCP checksum {found:#06x}, should be {expected:#06x}")
            }
            Self::TcpPayload { length } => {
                write!(f, "{length} bytes of payload in a segment that opens a connection")
            }
            Self::OptionChecksum(found) => {
                write!(f, "checksum {found:#06x} of UDP options, not 0")
            }
            Self::UnknownOption { kind, identifier } => {
                write!(f, "option of kind {kind}, {identifier:#06x}, is not telemetry")
            }
            Self::TelemetryLength { length, stamps } => {
                write!(f, "telemetry of length {length} before {stamps} bytes of stamps")
            }
            Self::TelemetryFlags(found) => write!(f, "unknown flags {found:#04x} of telemetry"),
            Self::TelemetryHops { hops, room } => {
                write!(f, "telemetry with {hops} stamps and room for {room}")
            }
        }
    }
}

impl Error for ParseError {}

/// Reason why a packet cannot be emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// The buffer ends before the bytes do.
    BufferTooSmall {
        /// Bytes of the packet.
        needed: usize,
        /// Length of the buffer.
        available: usize,
    },
    /// RETH, AETH or payload is missing although the opcode requires it, or present although the
    /// opcode forbids it; or congestion echo is set without an AETH.
    HeadersOfOpcode(Opcode),
    /// A value needs more bits than its field has.
    FieldTooWide {
        /// The field's name in the packet.
        field: &'static str,
        /// The value.
        value: u32,
    },
    /// Flags, options and payload of a TCP segment contradict each other, or its ports belong to no connection.
    TcpSegment,
    /// The IPv4 total length would not fit its 16 bits.
    TooLong {
        /// Total length, bytes.
        total: usize,
    },
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferTooSmall { needed, available } => {
                write!(f, "{needed} bytes do not fit a buffer of {available}")
            }
            Self::HeadersOfOpcode(opcode) => {
                write!(f, "RETH, AETH, congestion echo or payload do not fit {opcode}")
            }
            Self::FieldTooWide { field, value } => {
                write!(f, "{field} {value:#x} does not fit its field")
            }
            Self::TcpSegment => f.write_str(
                "ports, flags, options and payload of a TCP segment do not fit each other",
            ),
            Self::TooLong { total } => write!(f, "an IPv4 packet cannot have {total} bytes"),
        }
    }
}

impl Error for EmitError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_sentences() {
        let cut = ParseError::Truncated { layer: Layer::Reth, needed: 16, available: 3 };
        assert_eq!(cut.to_string(), "RETH needs 16 bytes, 3 are left");
        let payload = ParseError::UnexpectedPayload { opcode: Opcode::Cnp, length: 4 };
        assert_eq!(payload.to_string(), "4 bytes of payload behind CNP");
        let wide = EmitError::FieldTooWide { field: "dscp", value: 64 };
        assert_eq!(wide.to_string(), "dscp 0x40 does not fit its field");
    }
}
