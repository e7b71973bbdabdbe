//! Wire formats, one file each: byte layouts, checked parsing and emitting, without any decisions.
//!
//! The files share one order: source and byte diagram, `#[repr(C)]` struct of byte arrays, `LEN`,
//! accessors in host order, `parse` and `emit`, `Display`, vectors. Nothing here allocates, or
//! panics on what it reads.
#![expect(
    clippy::inline_always,
    reason = "a BPF call passes five registers and no slice; what eBPF parses must be inlined"
)]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub mod aeth;
pub mod bth;
pub mod cnp;
pub mod error;
pub mod ethernet;
pub mod experimental;
pub mod hop_control;
#[cfg(feature = "icrc")]
pub mod icrc;
mod ip_packet;
pub mod ipv4;
pub mod link_delay;
pub mod mac_control;
pub mod packet;
pub mod pause;
pub mod payload;
pub mod pfc;
pub mod psn;
pub mod remaining_size;
pub mod reth;
pub mod roce;
pub mod tcp;
pub mod telemetry;
pub mod udp;

pub use aeth::{Fields as AethFields, Header as AethHeader, Syndrome};
pub use bth::{Header as BthHeader, Opcode};
pub use cnp::Reserved as CnpReserved;
pub use error::{EmitError, Layer, ParseError};
pub use ethernet::{Address as EthernetAddress, Header as EthernetHeader, LinkAddresses};
pub use experimental::Header as ExperimentalHeader;
pub use hop_control::{Frame as HopControlFrame, Header as HopControlHeader};
#[cfg(feature = "icrc")]
pub use icrc::Trailer as IcrcTrailer;
pub use ipv4::{Ecn, Header as Ipv4Header};
pub use link_delay::{Frame as LinkDelayFrame, Header as LinkDelayHeader};
pub use mac_control::Header as MacControlHeader;
pub use packet::Packet;
pub use pause::{Frame as PauseFrame, Header as PauseHeader};
pub use pfc::{Frame as PfcFrame, Header as PfcHeader};
pub use psn::Psn;
pub use remaining_size::RemainingSize;
pub use reth::{Fields as RethFields, Header as RethHeader};
pub use roce::RocePacket;
pub use tcp::Segment as TcpSegment;
pub use telemetry::{Fields as TelemetryFields, Stamp as HopTelemetry};
pub use udp::Header as UdpHeader;

/// Returns the header at the start of `bytes` and the bytes after it.
#[inline(always)]
fn split<H>(bytes: &[u8], layer: Layer) -> Result<(&H, &[u8]), ParseError>
where
    H: FromBytes + KnownLayout + Immutable + Unaligned,
{
    H::ref_from_prefix(bytes).map_err(|_| ParseError::Truncated {
        layer,
        needed: size_of::<H>(),
        available: bytes.len(),
    })
}

/// Writes `header` at the start of `buffer` and returns the rest of `buffer`.
#[inline(always)]
fn put<'a, H>(header: H, buffer: &'a mut [u8]) -> Result<&'a mut [u8], EmitError>
where
    H: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned + 'a,
{
    let error = EmitError::BufferTooSmall { needed: size_of::<H>(), available: buffer.len() };
    let (place, rest) = H::mut_from_prefix(buffer).map_err(|_| error)?;
    *place = header;
    Ok(rest)
}

/// A 24-bit field in host order.
#[inline(always)]
const fn read_u24([high, middle, low]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, high, middle, low])
}

/// The low 24 bits of `value` in network order.
#[inline(always)]
const fn write_u24(value: u32) -> [u8; 3] {
    let [_, high, middle, low] = value.to_be_bytes();
    [high, middle, low]
}

/// Decodes hexadecimal pairs; white space between them is ignored.
#[cfg(test)]
fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace()
        .map(|pair| u8::from_str_radix(pair, 16).expect("a vector is hexadecimal pairs"))
        .collect()
}
