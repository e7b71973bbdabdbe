//! Invariant CRC (InfiniBand Architecture 1.4, 7.8.1; RoCEv2 annex, A17.3.3).
//!
//! CRC-32 of IEEE 802.3 over eight bytes of ones in place of the LRH, then over the packet from its
//! IP header to the end of its padding. Fields that a router may change count as ones. The ICRC
//! ends the packet:
//!
//! ```text
//!  0  CRC, little endian  4
//! ```

use core::fmt;

use crc32fast::Hasher;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};
use super::{bth, ipv4, udp};

/// CRC of the eight bytes of ones, with which every packet's CRC begins.
const SEED: u32 = 0x2144_df1c;

const HEADERS: usize = ipv4::LEN + udp::LEN + bth::LEN;

/// The trailer's length in bytes.
pub const LEN: usize = 4;
const _: () = assert!(size_of::<Trailer>() == LEN);

/// The trailer on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Trailer {
    crc: [u8; LEN],
}

/// The ICRC of an IPv4 packet without options, given from its IP header to just before the ICRC.
///
/// Bytes that end before the BTH does are not a RoCEv2 packet; their CRC is computed without any mask.
pub fn compute(ip_packet: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(SEED);
    match ip_packet.split_first_chunk::<HEADERS>() {
        Some((headers, rest)) => {
            hasher.update(&masked(headers));
            hasher.update(rest);
        }
        None => hasher.update(ip_packet),
    }
    hasher.finalize()
}

/// Headers with the type of service, TTL, both checksums and the FECN/BECN byte set to ones.
fn masked(headers: &[u8; HEADERS]) -> [u8; HEADERS] {
    let mut masked = *headers;
    for at in [1, 8, 10, 11, ipv4::LEN + 6, ipv4::LEN + 7, ipv4::LEN + udp::LEN + 4] {
        masked[at] = 0xff;
    }
    masked
}

impl Trailer {
    /// Creates a trailer with this CRC.
    pub const fn new(crc: u32) -> Self {
        Self { crc: crc.to_le_bytes() }
    }

    /// Returns the CRC in the trailer.
    pub const fn crc(&self) -> u32 {
        u32::from_le_bytes(self.crc)
    }

    /// Returns the trailer at the start of `bytes` and the bytes after it.
    pub fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::split(bytes, Layer::Icrc)
    }

    /// Writes the trailer at the start of `buffer` and returns the rest of `buffer`.
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Trailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "icrc {:#010x}", self.crc())
    }
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;

    /// The IP packet of an ACK that scapy 2.8.0 (`scapy.contrib.roce`) built with its ICRC:
    /// `IP(src="10.0.1.2", dst="10.0.1.1", tos=192, ttl=64, id=0, flags="DF")`
    /// `/ UDP(sport=49152, dport=4791, chksum=0)`
    /// `/ BTH(opcode=0x11, migreq=1, dqpn=7, psn=9) / AETH(syndrome=0x1f, msn=5)`.
    const ACK: &str = "45 c0 00 30 00 00 40 00 40 11 23 fb 0a 00 01 02 0a 00 01 01 c0 00 12 b7 \
                       00 1c 00 00 11 40 ff ff 00 00 00 07 00 00 00 09 1f 00 00 05 d9 72 9a 64";

    #[test]
    fn the_icrc_that_scapy_computes() {
        let bytes = hex(ACK);
        let (covered, trailer) = bytes.split_at(bytes.len() - LEN);
        let (trailer, _) = Trailer::parse(trailer).unwrap();
        assert_eq!(compute(covered), trailer.crc());
        assert_eq!(trailer.to_string(), "icrc 0x649a72d9");
        let mut buffer = [0; LEN];
        Trailer::new(0x649a_72d9).emit(&mut buffer).unwrap();
        assert_eq!(buffer, [0xd9, 0x72, 0x9a, 0x64]);
    }

    #[test]
    fn the_seed_is_the_crc_of_eight_bytes_of_ones() {
        assert_eq!(crc32fast::hash(&[0xff; 8]), SEED);
    }

    #[test]
    fn what_a_router_may_change_is_not_covered_and_the_rest_is() {
        let bytes = hex(ACK);
        let covered = &bytes[..bytes.len() - LEN];
        for at in 0..covered.len() {
            let mut changed = covered.to_vec();
            changed[at] ^= 0x5a;
            let invariant = matches!(at, 1 | 8 | 10 | 11 | 26 | 27 | 32);
            assert_eq!(compute(&changed) == compute(covered), invariant, "byte {at}");
        }
    }

    #[test]
    fn too_short_for_a_packet_is_a_number_all_the_same() {
        let bytes = [0x5a; HEADERS];
        for length in 0..HEADERS {
            let with_seed = [&[0xff; 8], &bytes[..length]].concat();
            assert_eq!(compute(&bytes[..length]), crc32fast::hash(&with_seed), "{length} bytes");
        }
        let unmasked = crc32fast::hash(&[&[0xff; 8][..], &bytes].concat());
        assert_ne!(compute(&bytes), unmasked, "a whole packet's headers");
    }
}
