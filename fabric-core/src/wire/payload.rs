//! Payload of packets: a pattern by which a receiver verifies that it received the right bytes.
//!
//! ```text
//!  0  w               8   little endian: ff, and seven bytes that mix the flow and the place in it
//!  8  w + STEP        8
//! 16  w + 2 STEP      8   and so on; the last word is cut where the payload ends
//! ```
//!
//! The flow is a queue pair or a TCP connection (24 bits), the place a PSN (24 bits) or a sequence number (32 bits). If
//! two packets of a transport differ in either, their first eight bytes differ.
//!
//! The first byte is for Wireshark, which takes the payload of a RoCE packet for an Ethernet frame's if its third and
//! fourth byte are zero, like padding, and its first two are an EtherType. No EtherType begins with ff.

use super::psn::Psn;

/// 2^64 divided by the golden ratio, made odd: every byte of a word differs from that byte of the next word.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Pattern of one packet's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    first_word: u64,
}

impl Pattern {
    /// Returns the pattern of a RoCEv2 packet.
    pub const fn for_packet(qp: u32, psn: Psn) -> Self {
        Self::mix((qp as u64) << 24 | psn.value() as u64)
    }

    /// Returns the pattern of a TCP segment.
    pub const fn for_segment(connection: u32, sequence: u32) -> Self {
        Self::mix((connection as u64) << 32 | sequence as u64)
    }

    /// A bijective mix of 56 bits (shifts and odd factors as in the finaliser of `SplitMix64`), so
    /// that different packets begin with different bytes.
    const fn mix(place: u64) -> Self {
        const BITS: u64 = u64::MAX >> 8;
        let mut mix = place.wrapping_add(STEP) & BITS;
        mix = (mix ^ mix >> 28).wrapping_mul(0xbf58_476d_1ce4_e5b9) & BITS;
        mix = (mix ^ mix >> 28).wrapping_mul(0x94d0_49bb_1331_11eb) & BITS;
        Self { first_word: (mix ^ mix >> 28) << 8 | 0xff }
    }

    /// Fills `payload` with the pattern.
    pub fn fill(self, payload: &mut [u8]) {
        let mut word = self.first_word;
        let (words, tail) = payload.as_chunks_mut::<8>();
        for place in words {
            *place = word.to_le_bytes();
            word = word.wrapping_add(STEP);
        }
        for (place, byte) in tail.iter_mut().zip(word.to_le_bytes()) {
            *place = byte;
        }
    }

    /// True if `payload` matches the pattern.
    pub fn verify(self, payload: &[u8]) -> bool {
        let mut word = self.first_word;
        let (words, tail) = payload.as_chunks::<8>();
        // Collects differences instead of returning at the first, so that the loop is vectorised.
        let mut difference = 0;
        for found in words {
            difference |= u64::from_le_bytes(*found) ^ word;
            word = word.wrapping_add(STEP);
        }
        difference == 0 && tail.iter().zip(word.to_le_bytes()).all(|(found, byte)| *found == byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_pattern_stays_what_it_was() {
        let mut payload = [0; 20];
        Pattern::for_packet(7, Psn::new(9)).fill(&mut payload);
        let bytes = "ff df 79 7b 5d 3d df e6 14 5c c4 fa 16 b7 16 85 29 d8 0e 7a";
        assert_eq!(payload[..], super::super::hex(bytes));
    }

    proptest! {
        #[test]
        fn verify_accepts_what_fill_wrote_and_no_flipped_bit(
            qp in 0..1u32 << 24, psn: u32, length in 0..300usize, bit: proptest::sample::Index,
        ) {
            let psn = Psn::new(psn);
            let mut payload = vec![0; length];
            Pattern::for_packet(qp, psn).fill(&mut payload);
            prop_assert!(Pattern::for_packet(qp, psn).verify(&payload));
            if length > 0 {
                let bit = bit.index(length * 8);
                payload[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(!Pattern::for_packet(qp, psn).verify(&payload));
            }
        }

        #[test]
        fn another_packet_has_another_payload(
            (qp, other_qp) in (0..1u32 << 24, 0..1u32 << 24), psn: u32, other_psn: u32,
        ) {
            let (psn, other_psn) = (Psn::new(psn), Psn::new(other_psn));
            let mut payload = [0; 8];
            Pattern::for_packet(qp, psn).fill(&mut payload);
            prop_assert_eq!(
                Pattern::for_packet(other_qp, other_psn).verify(&payload), (qp, psn) == (other_qp, other_psn));
            prop_assert!(!Pattern::for_packet(qp, psn.next()).verify(&payload));
            let sequence = psn.value() << 8;
            let first = |connection, sequence| Pattern::for_segment(connection, sequence).first_word;
            prop_assert_ne!(first(qp, sequence), first(qp, sequence + 1));
            prop_assert_eq!(first(qp, sequence) == first(other_qp, sequence), qp == other_qp);
        }
    }
}
