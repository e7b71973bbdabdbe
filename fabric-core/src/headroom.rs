//! How much headroom a queue needs so that PAUSE comes in time.

use units::{BitsPerSecond, Bytes, Nanos, Picos};

/// The response time that IEEE 802.1Qbb allows, in byte times of the port.
pub const MAX_RESPONSE_BYTES: u64 = 3840;
/// A PAUSE frame on the wire: 60 bytes, preamble, FCS and inter-frame gap.
pub const PAUSE_WIRE_BYTES: u64 = 84;

/// Phi (DSH, Eq. 1): `2 (C D_prop + L_MTU) + 3840 B`, `max_frame` being `L_MTU`.
pub const fn required(rate: BitsPerSecond, delay: Picos, max_frame: Bytes) -> Bytes {
    Bytes(2 * (rate.bytes_in(delay).0 + max_frame.0) + MAX_RESPONSE_BYTES)
}

/// Two terms that Eq. 1 misses, because it treats traffic as a fluid. The packet that triggers the PAUSE may itself
/// find the shared pool full and go to headroom, and the PAUSE frame takes time on the wire. Control frames of other
/// classes that wait ahead of the PAUSE are not counted: `required` counts 24 bytes around each frame that the buffer
/// does not hold, and no burst of the tests has needed more.
pub const fn beyond_eq_1(max_frame: Bytes) -> Bytes {
    Bytes(max_frame.0 + PAUSE_WIRE_BYTES)
}

/// Headroom that loses no frame: Eq. 1 and the terms that it misses. `max_wire_length` is the longest frame
/// with its preamble, FCS and inter-frame gap.
pub const fn lossless(rate: BitsPerSecond, delay: Picos, max_wire_length: Bytes) -> Bytes {
    Bytes(required(rate, delay, max_wire_length).0 + beyond_eq_1(max_wire_length).0)
}

/// Headroom that loses no frame on a link that has been measured: what [`lossless`] counts, with the
/// propagation of both ways and the peer's response time as measured and declared, instead of
/// `2 C D_prop` and the most that a response may take.
pub const fn measured(
    rate: BitsPerSecond,
    round_trip: Nanos,
    response: Nanos,
    max_wire_length: Bytes,
) -> Bytes {
    let in_flight = rate.bytes_in(Picos::from_nanos(Nanos(round_trip.0 + response.0)));
    Bytes(in_flight.0 + 2 * max_wire_length.0 + beyond_eq_1(max_wire_length).0)
}

/// `B_h` (DSH, Eq. 3), summed over ports whose links may differ; saturates.
pub fn total(per_port: impl Iterator<Item = Bytes>, lossless_queues: u64) -> Bytes {
    let ports = per_port.fold(0u64, |sum, bytes| sum.saturating_add(bytes.0));
    Bytes(ports.saturating_mul(lossless_queues))
}

/// `B_i` (DSH, Eq. 9): once `Phi` for each port.
pub fn insurance(per_port: impl Iterator<Item = Bytes>) -> Bytes {
    total(per_port, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_link_needs_what_its_peer_takes() {
        let (rate, longest) = (BitsPerSecond(100_000_000_000), Bytes(1098));
        // 2 us and 307.2 ns at 12.5 bytes a nanosecond, three frames and the PAUSE.
        let standard = measured(rate, Nanos(2000), Nanos(308), longest);
        assert_eq!(standard, Bytes(25_000 + 3850 + 3 * 1098 + 84));
        let known = lossless(rate, Picos(1_000_000), longest);
        assert_eq!(known, Bytes(25_000 + 3840 + 3 * 1098 + 84));
        let prompt = measured(rate, Nanos(2000), Nanos(0), longest);
        assert_eq!(prompt, Bytes(25_000 + 3 * 1098 + 84));
    }

    #[test]
    fn trident2_reserves_5_33_mib() {
        // DSH, Section III-A: 32 ports of 40 Gbit/s, 8 queues, 1500 B, 1.5 us.
        let phi = required(BitsPerSecond(40_000_000_000), Picos(1_500_000), Bytes(1500));
        assert_eq!(phi, Bytes(21_840));
        assert_eq!(total(core::iter::repeat_n(phi, 32), 8), Bytes(5_591_040));
        assert_eq!(insurance(core::iter::repeat_n(phi, 32)), Bytes(698_880));
    }
}
