//! TCP options: time stamps and window scale (RFC 7323), SACK (RFC 2018), maximum segment size (RFC 9293, 3.7.1).
//!
//! ```text
//! with SYN     0  02 04     MSS 2
//!              4  04 02                              SACK permitted
//!              6  08 0a     value 4    echo 4        time stamps
//!             16  01                                 no operation
//!             17  03 03     0e                       window scale
//! without SYN  0  01 01
//!              2  08 0a     value 4    echo 4        time stamps
//!             12  01 01
//!             14  05 n      start 4    end 4 ..      SACK, up to three blocks; n = 2 + 8 blocks
//! telemetry    0  08 0a     value 4    echo 4        time stamps
//!             10  fd n      58 4f      ..            up to three stamps (`telemetry`); n = 6 + 8 room
//! ```

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::super::error::{EmitError, Layer, ParseError};
use super::super::telemetry::{self, Carrier, Fields as TelemetryFields, Stamp};
use super::WINDOW_SCALE;

const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: [u8; 2] = [2, 4];
const SCALE: [u8; 2] = [3, 3];
const SACK_PERMITTED: [u8; 2] = [4, 2];
const SACK: u8 = 5;
const TIMESTAMPS: [u8; 2] = [8, 10];

/// Max number of SACK blocks besides time stamps (RFC 2018, 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// Values of the two ends' clocks (RFC 7323, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// Value of the sender's clock.
    pub value: u32,
    /// Last valid value from the other end; 0 without ACK.
    pub echo: u32,
}

/// Options of a segment with SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Max payload of a segment that this end accepts.
    pub maximum_segment_size: u16,
}

/// Bytes that have arrived behind a gap: sequence numbers from `start`, inclusive, to `end`, exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number.
    pub start: u32,
    /// Last sequence number plus 1.
    pub end: u32,
}

/// Up to three blocks, most recently changed first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; MAX_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// No block.
    pub const NONE: Self =
        Self { blocks: [SackBlock { start: 0, end: 0 }; MAX_SACK_BLOCKS], count: 0 };

    /// The blocks.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        self.blocks.get(..self.count.into()).unwrap_or(&self.blocks)
    }
}

impl FromIterator<SackBlock> for SackBlocks {
    /// Takes the first three blocks.
    fn from_iter<I: IntoIterator<Item = SackBlock>>(blocks: I) -> Self {
        let mut taken = Self::NONE;
        for (place, block) in taken.blocks.iter_mut().zip(blocks) {
            *place = block;
            taken.count += 1;
        }
        taken
    }
}

/// All options of a segment with SYN.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, PartialEq, Eq)]
#[repr(C)]
struct SynBytes {
    maximum_segment_size_kind: [u8; 2],
    maximum_segment_size: [u8; 2],
    sack_permitted: [u8; 2],
    timestamps_kind: [u8; 2],
    value: [u8; 4],
    echo: [u8; 4],
    padding: u8,
    scale_kind: [u8; 2],
    scale: u8,
}
const _: () = assert!(size_of::<SynBytes>() == 20);

/// The time stamps of a segment without SYN.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, PartialEq, Eq)]
#[repr(C)]
struct TimestampBytes {
    kind: [u8; 2],
    value: [u8; 4],
    echo: [u8; 4],
}
const _: () = assert!(size_of::<TimestampBytes>() == 10);

/// Padding before the time stamps of a segment without telemetry.
const PADDING: [u8; 2] = [NO_OPERATION; 2];

/// Offset of telemetry in the options, after the time stamps.
pub const TELEMETRY_AT: usize = size_of::<TimestampBytes>();

/// Bytes before SACK blocks.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, PartialEq, Eq)]
#[repr(C)]
struct SackHeader {
    padding: [u8; 2],
    kind: u8,
    length: u8,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct BlockBytes {
    start: [u8; 4],
    end: [u8; 4],
}

/// Length of the options, bytes.
pub const fn length(syn: bool, sack_blocks: usize, telemetry: Option<TelemetryFields>) -> usize {
    const ALONE: usize = PADDING.len() + size_of::<TimestampBytes>();
    match (syn, sack_blocks, telemetry) {
        (true, ..) => size_of::<SynBytes>(),
        (false, 0, None) => ALONE,
        (false, 0, Some(telemetry)) => TELEMETRY_AT + telemetry.option_length(),
        (false, blocks, _) => ALONE + size_of::<SackHeader>() + blocks * size_of::<BlockBytes>(),
    }
}

impl SynBytes {
    const fn new(options: SynOptions, Timestamps { value, echo }: Timestamps) -> Self {
        Self {
            maximum_segment_size_kind: MAXIMUM_SEGMENT_SIZE,
            maximum_segment_size: options.maximum_segment_size.to_be_bytes(),
            sack_permitted: SACK_PERMITTED,
            timestamps_kind: TIMESTAMPS,
            value: value.to_be_bytes(),
            echo: echo.to_be_bytes(),
            padding: NO_OPERATION,
            scale_kind: SCALE,
            scale: WINDOW_SCALE,
        }
    }
}

impl TimestampBytes {
    const fn new(Timestamps { value, echo }: Timestamps) -> Self {
        Self { kind: TIMESTAMPS, value: value.to_be_bytes(), echo: echo.to_be_bytes() }
    }
}

impl SackHeader {
    const fn new(blocks: usize) -> Self {
        Self { padding: [NO_OPERATION; 2], kind: SACK, length: 2 + 8 * blocks as u8 }
    }
}

/// Content of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub syn: Option<SynOptions>,
    pub timestamps: Timestamps,
    pub sack: SackBlocks,
    pub telemetry: Option<TelemetryFields>,
}

/// Writes the options, with the stamps of any telemetry, and returns the rest of `buffer`.
pub fn emit<'a>(
    options: &Options,
    stamps: &[Stamp],
    buffer: &'a mut [u8],
) -> Result<&'a mut [u8], EmitError> {
    use super::super::put;
    let Options { syn, timestamps, sack, telemetry } = options;
    if let Some(syn) = syn {
        return put(SynBytes::new(*syn, *timestamps), buffer);
    }
    if let Some(fields) = telemetry {
        let rest = put(TimestampBytes::new(*timestamps), buffer)?;
        return telemetry::emit_option(Carrier::Tcp, *fields, stamps, rest);
    }
    let rest = put(PADDING, buffer)?;
    let mut rest = put(TimestampBytes::new(*timestamps), rest)?;
    let blocks = sack.as_slice();
    if !blocks.is_empty() {
        rest = put(SackHeader::new(blocks.len()), rest)?;
    }
    for SackBlock { start, end } in blocks {
        rest = put(BlockBytes { start: start.to_be_bytes(), end: end.to_be_bytes() }, rest)?;
    }
    Ok(rest)
}

/// Parses the options of a segment with or without SYN, which must be as [`emit`] writes them. Stamps may have any
/// value.
pub fn parse(syn: bool, options: &[u8]) -> Result<Options, ParseError> {
    use super::super::split;
    let wrong = Err(ParseError::TcpOptions);
    let none = Options {
        syn: None,
        timestamps: Timestamps::default(),
        sack: SackBlocks::NONE,
        telemetry: None,
    };
    if syn {
        let (bytes, rest) = split::<SynBytes>(options, Layer::Tcp)?;
        let size = u16::from_be_bytes(bytes.maximum_segment_size);
        let syn = SynOptions { maximum_segment_size: size };
        let timestamps = timestamps_of(bytes.value, bytes.echo);
        if *bytes != SynBytes::new(syn, timestamps) || !rest.is_empty() {
            return wrong;
        }
        return Ok(Options { syn: Some(syn), timestamps, ..none });
    }
    let padded = options.strip_prefix(&PADDING);
    let (bytes, rest) = split::<TimestampBytes>(padded.unwrap_or(options), Layer::Tcp)?;
    let timestamps = timestamps_of(bytes.value, bytes.echo);
    if *bytes != TimestampBytes::new(timestamps) {
        return wrong;
    }
    let none = Options { timestamps, ..none };
    if padded.is_none() {
        let fields = telemetry::parse_option(Carrier::Tcp, rest)?;
        return Ok(Options { telemetry: Some(fields), ..none });
    }
    if rest.is_empty() {
        return Ok(none);
    }
    let (header, rest) = split::<SackHeader>(rest, Layer::Tcp)?;
    let (blocks, tail) = rest.as_chunks::<{ size_of::<BlockBytes>() }>();
    if !(1..=MAX_SACK_BLOCKS).contains(&blocks.len())
        || !tail.is_empty()
        || *header != SackHeader::new(blocks.len())
    {
        return wrong;
    }
    let block = |[a, b, c, d, e, f, g, h]: &[u8; 8]| SackBlock {
        start: u32::from_be_bytes([*a, *b, *c, *d]),
        end: u32::from_be_bytes([*e, *f, *g, *h]),
    };
    Ok(Options { sack: blocks.iter().map(block).collect(), ..none })
}

const fn timestamps_of(value: [u8; 4], echo: [u8; 4]) -> Timestamps {
    Timestamps { value: u32::from_be_bytes(value), echo: u32::from_be_bytes(echo) }
}
