//! What can be wrong with bytes from a wire, and with a packet that is to become bytes.

use core::error::Error;
use core::fmt;

use super::bth::Opcode;

/// A header or trailer, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Ethernet header, or a frame below the minimum of 60 bytes.
    Ethernet,
    /// MAC control header with its opcode.
    MacControl,
    /// What xoff's own protocols have in common.
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

/// Why bytes are not the packet they were taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end before the layer does.
    Truncated {
        /// The layer that is cut.
        layer: Layer,
        /// Its length in bytes.
        needed: usize,
        /// The bytes that are left for it.
        available: usize,
    },
    /// The frame is not as long as its IP packet, padded to the Ethernet minimum, makes it.
    FrameLength {
        /// From the IP total length.
        expected: usize,
        /// The frame's own.
        actual: usize,
    },
    /// Another EtherType than the one parsed for.
    EtherType(u16),
    /// A MAC control frame to another address than 01:80:c2:00:00:01.
    MacControlDestination([u8; 6]),
    /// Another MAC control opcode than the one parsed for.
    MacControlOpcode(u16),
    /// A link delay frame that is neither request nor response.
    LinkDelayKind(u16),
    /// A hop control frame of this kind whose body says nothing, or of a kind that does not exist.
    HopControlBody(u16),
    /// A frame of the experimental EtherType to another address than 01:80:c2:00:00:0e.
    ExperimentalDestination([u8; 6]),
    /// Another protocol under the experimental EtherType than the one parsed for.
    ExperimentalProtocol(u16),
    /// IP version other than 4.
    IpVersion(u8),
    /// IPv4 header length in words other than 5: options, or nonsense.
    IpHeaderLength(u8),
    /// The IPv4 total length is below the header's or beyond the bytes there are.
    IpTotalLength {
        /// As the header says.
        total: usize,
        /// The bytes from the IP header on.
        available: usize,
    },
    /// The IPv4 header's checksum does not verify.
    IpChecksum {
        /// What it should be.
        expected: u16,
        /// As the header says.
        found: u16,
    },
    /// A fragment of an IPv4 packet.
    Fragment,
    /// Another IP protocol than the one parsed for.
    Protocol(u8),
    /// Another UDP destination port than `RoCEv2`'s 4791.
    UdpPort(u16),
    /// The UDP length disagrees with the IP total length, and what it leaves is too short for telemetry.
    UdpLength {
        /// From the IP total length.
        expected: usize,
        /// As the header says.
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
        /// What it should be.
        expected: u32,
        /// As the packet says.
        found: u32,
    },
    /// BTH header version other than 0.
    BthVersion(u8),
    /// A BTH opcode that xoff does not speak.
    UnknownOpcode(u8),
    /// Another partition than the default, 0xffff.
    PartitionKey(u16),
    /// FECN, BECN or reserved bits set other than the BECN of a CNP or ACK, or a CNP without it.
    CongestionBits(u8),
    /// An AETH syndrome that xoff does not speak.
    UnknownSyndrome(u8),
    /// The 16 bytes of a CNP are not zero.
    CnpReserved,
    /// More padding announced than bytes are there.
    PadCount {
        /// As the BTH says.
        pad: u8,
        /// Payload and padding together.
        available: usize,
    },
    /// A payload behind an opcode that has none.
    UnexpectedPayload {
        /// The opcode.
        opcode: Opcode,
        /// Payload and padding together.
        length: usize,
    },
    /// The payload is not the pattern of its packet.
    PayloadPattern,
    /// TCP ports that no xoff connection uses.
    TcpPorts {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
    },
    /// TCP flags or reserved bits that xoff does not set, or not in this combination.
    TcpFlags(u8),
    /// TCP options other than the ones that go with the flags.
    TcpOptions,
    /// TCP's checksum does not verify.
    TcpChecksum {
        /// What it should be.
        expected: u16,
        /// As the header says.
        found: u16,
    },
    /// A payload in a segment that opens a connection.
    TcpPayload {
        /// In bytes.
        length: usize,
    },
    /// A checksum of UDP options other than the zero that goes with no UDP checksum.
    OptionChecksum(u16),
    /// An experimental option other than telemetry.
    UnknownOption {
        /// Its kind.
        kind: u8,
        /// What an experimental option says that it is.
        identifier: u16,
    },
    /// Telemetry that is not as long as it says, or has room for no stamp or for more than its transport has.
    TelemetryLength {
        /// As it says, in bytes.
        length: u8,
        /// The bytes behind its header.
        stamps: usize,
    },
    /// Flags of telemetry that do not exist.
    TelemetryFlags(u8),
    /// Telemetry with more stamps than it has room for.
    TelemetryHops {
        /// Stamps, as it says.
        hops: u8,
        /// Stamps for which there is room.
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

/// Why a packet cannot become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// The buffer ends before the bytes do.
    BufferTooSmall {
        /// The bytes to be written.
        needed: usize,
        /// The buffer's length.
        available: usize,
    },
    /// RETH, AETH or payload is missing where the opcode has it, or there where it has none; or a
    /// congestion echo where there is no AETH.
    HeadersOfOpcode(Opcode),
    /// A value needs more bits than its field has.
    FieldTooWide {
        /// The field's name in the packet.
        field: &'static str,
        /// The value.
        value: u32,
    },
    /// Flags, options and payload do not fit each other in a TCP segment, or its ports are of no connection.
    TcpSegment,
    /// The IPv4 total length would not fit its 16 bits.
    TooLong {
        /// The length in bytes.
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
