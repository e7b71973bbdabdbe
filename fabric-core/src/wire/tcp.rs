//! A TCP segment (RFC 9293) over IPv4 as one plain value, independent of the datapath.
//!
//! ```text
//!  0  source port       2      12  words << 4     1   header and options, in words of 4 bytes
//!  2  destination port  2      13  flags          1   FIN 01, SYN 02, RST 04, PSH 08, ACK 10, URG 20, ECE 40, CWR 80
//!  4  sequence          4      14  window         2
//!  8  acknowledgement   4      16  checksum       2
//!                              18  urgent pointer 2   0
//! ```
//!
//! Options (`tcp/options.rs`) come in one order. A segment with SYN: maximum segment size, SACK permitted, time stamps,
//! window scale. Any other: time stamps, then telemetry or up to three SACK blocks.

use core::fmt;
use core::net::Ipv4Addr;

use super::telemetry::{self, Fields as TelemetryFields};
use super::{ethernet, ipv4};

mod frame;
mod header;
mod options;
mod ports;

pub use header::{Flags, Header, LEN, checksum};
pub use options::{MAX_SACK_BLOCKS, SackBlock, SackBlocks, SynOptions, Timestamps};
pub use ports::{Direction, Ports};

/// Scale of windows in segments without SYN: windows count in units of 2^14 bytes, the max scale
/// (RFC 7323, 2.3).
pub const WINDOW_SCALE: u8 = 14;

/// A TCP segment: every field that its bytes carry, except for the payload itself, which is a function of the
/// connection and the sequence number (see `payload`), and the checksums.
///
/// `S` represents the SACK blocks: the blocks themselves, or their number if they are stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<S = SackBlocks> {
    /// Source IPv4 address, host order.
    pub source: u32,
    /// Destination IPv4 address, host order.
    pub destination: u32,
    /// The ports, which name the connection.
    pub ports: Ports,
    /// Sequence number of the first byte, or of SYN.
    pub sequence: u32,
    /// Next sequence number expected from the other end; 0 without ACK.
    pub acknowledgement: u32,
    /// Receive window, in units of the scale in the segment with SYN.
    pub window: u16,
    /// Payload bytes.
    pub payload_length: u16,
    /// Time stamps of the sender and of the other end.
    pub timestamps: Timestamps,
    /// Differentiated services code point, 0 to 63; by convention 8 per priority.
    pub dscp: u8,
    /// ECN field.
    pub ecn: ipv4::Ecn,
    /// IPv4 time to live.
    pub ttl: u8,
    /// Flags of the segment.
    pub flags: Flags,
    /// Options of the end that opens or accepts a connection; present with SYN.
    pub syn: Option<SynOptions>,
    /// Blocks that arrived behind a gap; empty with SYN.
    pub sack: S,
    /// Fields of the segment's telemetry. `None` without room for stamps. Never with SYN or SACK blocks.
    pub telemetry: Option<TelemetryFields>,
}

/// SACK blocks of a segment, or their number.
pub trait Sack {
    /// Returns the number of blocks, 0 to 3.
    fn count(&self) -> usize;
}

impl Sack for SackBlocks {
    #[inline]
    fn count(&self) -> usize {
        self.as_slice().len()
    }
}

/// Number of blocks that are stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackCount(pub u8);

impl Sack for SackCount {
    #[inline]
    fn count(&self) -> usize {
        self.0.into()
    }
}

impl<S: Sack> Segment<S> {
    /// The frame's length in bytes without FCS. No segment is below the Ethernet minimum.
    #[inline]
    pub fn frame_length(&self) -> usize {
        ethernet::LEN + self.ip_total_length()
    }

    /// IP header to the last byte of payload.
    #[inline]
    pub fn ip_total_length(&self) -> usize {
        ipv4::LEN + self.header_length() + usize::from(self.payload_length)
    }

    /// TCP header and options.
    #[inline]
    fn header_length(&self) -> usize {
        LEN + options::length(self.syn.is_some(), self.sack.count(), self.telemetry)
    }

    /// Replaces the SACK blocks, for example by their number.
    #[inline]
    pub fn with_sack<Other>(&self, sack: Other) -> Segment<Other> {
        let Self { source, destination, ports, sequence, acknowledgement, window, .. } = *self;
        let Self { payload_length, timestamps, dscp, ecn, ttl, flags, syn, telemetry, .. } = *self;
        Segment {
            source,
            destination,
            ports,
            sequence,
            acknowledgement,
            window,
            payload_length,
            timestamps,
            dscp,
            ecn,
            ttl,
            flags,
            syn,
            sack,
            telemetry,
        }
    }
}

/// Returns the length, without FCS, of the frame of a data segment with `payload` bytes and room for `telemetry_hops`
/// stamps (0 to 3; 0 for no telemetry). With payload 0, this is the length of an ACK.
pub const fn frame_length(payload: u64, telemetry_hops: u8) -> u64 {
    let telemetry = TelemetryFields::with_room(telemetry_hops);
    (ethernet::LEN + ipv4::LEN + LEN + options::length(false, 0, telemetry)) as u64 + payload
}

/// Length of the frames that open a connection, without FCS.
pub const SYN_FRAME_LENGTH: u64 =
    (ethernet::LEN + ipv4::LEN + LEN + options::length(true, 0, None)) as u64;

/// Length of the frame of an ACK with the max number of SACK blocks or stamps, without FCS.
pub const MAX_ACK_LENGTH: u64 =
    (ethernet::LEN + ipv4::LEN + LEN + options::length(false, MAX_SACK_BLOCKS, None)) as u64;
const _: () = assert!(MAX_ACK_LENGTH >= SYN_FRAME_LENGTH);
const _: () = assert!(MAX_ACK_LENGTH >= frame_length(0, telemetry::Carrier::Tcp.most_hops()));

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (Ipv4Addr::from(self.source), Ipv4Addr::from(self.destination));
        let Self { ports, flags, sequence, acknowledgement, payload_length, .. } = self;
        write!(f, "{source}:{} > {destination}:{} {flags} ", ports.source, ports.destination)?;
        write!(f, "seq {sequence} ack {acknowledgement} {payload_length} bytes")?;
        for SackBlock { start, end } in self.sack.as_slice() {
            write!(f, " sack {start}-{end}")?;
        }
        if self.ecn == ipv4::Ecn::CongestionExperienced {
            f.write_str(" CE")?;
        }
        self.telemetry.map_or(Ok(()), |telemetry| write!(f, " {telemetry}"))
    }
}
