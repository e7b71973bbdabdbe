//! A whole RoCEv2 packet as one plain value: what hosts exchange, whichever datapath carries it.

use super::psn::Psn;

/// UDP destination port of RoCEv2 (IANA).
pub const UDP_PORT: u16 = 4791;

/// ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0), what RoCE senders set.
    Capable0 = 2,
    /// Congestion experienced.
    CongestionExperienced = 3,
}

/// The BTH opcodes of a reliable connection that xoff speaks, and the CNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// RDMA WRITE First, with RETH.
    WriteFirst = 0x06,
    /// RDMA WRITE Middle.
    WriteMiddle = 0x07,
    /// RDMA WRITE Last.
    WriteLast = 0x08,
    /// RDMA WRITE Only, with RETH.
    WriteOnly = 0x0a,
    /// Acknowledge, with AETH: ACK and NAK.
    Acknowledge = 0x11,
    /// Congestion notification packet (RoCEv2 annex, A17.9.3).
    Cnp = 0x81,
}

/// RDMA extended transport header: where a WRITE goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RethFields {
    /// Remote virtual address.
    pub virtual_address: u64,
    /// Remote key.
    pub remote_key: u32,
    /// The message's length in bytes.
    pub dma_length: u32,
}

/// What an AETH says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything up to the PSN has arrived; unlimited credit (0x1f).
    Ack,
    /// A PSN was skipped: the PSN given is the one expected (0x60).
    NakSequenceError,
}

/// ACK extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AethFields {
    /// ACK or NAK.
    pub syndrome: Syndrome,
    /// Message sequence number, 24 bits: messages completed at the responder.
    pub message_sequence_number: u32,
}

/// A RoCEv2 packet: every field that its bytes carry, but for the payload itself, which is a function of
/// the queue pair and PSN (see `payload`), and the ICRC, which is a function of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RocePacket {
    /// Source IPv4 address, host order.
    pub source: u32,
    /// Destination IPv4 address, host order.
    pub destination: u32,
    /// UDP source port: the entropy that ECMP hashes.
    pub source_port: u16,
    /// Differentiated services code point, 0 to 63; by custom 8 per priority.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// IPv4 time to live.
    pub ttl: u8,
    /// BTH opcode.
    pub opcode: Opcode,
    /// BTH acknowledge request.
    pub ack_request: bool,
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
}
