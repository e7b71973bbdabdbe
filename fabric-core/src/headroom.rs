//! How much headroom a queue needs so that PAUSE comes in time.

use crate::units::{BitsPerSecond, Bytes, Picos};

/// The response time that IEEE 802.1Qbb allows, in byte times of the port.
pub const MAX_RESPONSE_BYTES: u64 = 3840;

/// Phi (DSH, Eq. 1): `2 (C D_prop + L_MTU) + 3840 B`, `max_frame` being `L_MTU`.
pub const fn required(rate: BitsPerSecond, delay: Picos, max_frame: Bytes) -> Bytes {
    Bytes(2 * (rate.bytes_in(delay).0 + max_frame.0) + MAX_RESPONSE_BYTES)
}

/// `B_h` (DSH, Eq. 3), summed over ports whose links may differ.
pub fn total(per_port: impl Iterator<Item = Bytes>, lossless_queues: u64) -> Bytes {
    Bytes(per_port.map(|bytes| bytes.0 * lossless_queues).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trident2_reserves_5_33_mib() {
        // DSH, Section III-A: 32 ports of 40 Gbit/s, 8 queues, 1500 B, 1.5 us.
        let phi = required(BitsPerSecond(40_000_000_000), Picos(1_500_000), Bytes(1500));
        assert_eq!(phi, Bytes(21_840));
        assert_eq!(total(core::iter::repeat_n(phi, 32), 8), Bytes(5_591_040));
    }
}
