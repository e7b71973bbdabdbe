//! The congestion point of DCQCN: selects the packets to mark.

use crate::map_abi::{Port, SwitchState};

/// True if a packet must be marked that leaves by `port` and finds `queue_bytes` in its egress
/// queue: never up to K_min, always above K_max, with a probability that rises to p_max in between
/// (DCQCN, Section 3.1).
#[inline(always)]
pub fn congested(port: &Port, switch: &SwitchState, queue_bytes: u64) -> bool {
    let kmin = u64::from(port.ecn_kmin_bytes.load());
    if queue_bytes <= kmin {
        return false;
    }
    if queue_bytes > u64::from(port.ecn_kmax_bytes.load()) {
        return true;
    }
    let threshold = (queue_bytes - kmin) * port.ecn_slope_q48.load();
    random_q48(switch) < threshold
}

/// Returns the slope for [`Port::ecn_slope_q48`]. `pmax` is in millionths.
pub const fn slope_q48(kmin: u64, kmax: u64, pmax_millionths: u32) -> u64 {
    if kmax <= kmin {
        return 0;
    }
    (((pmax_millionths as u128) << 48) / (1_000_000 * (kmax - kmin) as u128)) as u64
}

/// Returns the switch's next 48 random bits (xorshift64*, Vigna 2016).
#[inline(always)]
pub(crate) fn random_q48(switch: &SwitchState) -> u64 {
    let mut state = switch.random.load();
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    switch.random.store(state);
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Cell32, Cell64};

    /// A port that marks between `kmin` and `kmax` with a probability of up to 0.2.
    fn port(kmin: u32, kmax: u32) -> Port {
        Port {
            ecn_kmin_bytes: Cell32::new(kmin),
            ecn_kmax_bytes: Cell32::new(kmax),
            ecn_slope_q48: Cell64::new(slope_q48(kmin.into(), kmax.into(), 200_000)),
            ..Port::default()
        }
    }

    #[test]
    fn probability_rises_linearly_from_a_ports_kmin_to_its_pmax() {
        let (slow, fast) = (port(100_000, 400_000), port(400_000, 1_600_000));
        let switch = SwitchState::default();
        switch.random.store(1);
        for (queue, of_slow, of_fast) in [
            (100_000, 0, 0),
            (175_000, 50, 0),
            (250_000, 100, 0),
            (400_000, 200, 0),
            (400_001, 1000, 0),
            (1_000_000, 1000, 100),
            (1_600_000, 1000, 200),
            (1_600_001, 1000, 1000),
        ] {
            for (port, expected_permille) in [(&slow, of_slow), (&fast, of_fast)] {
                let marked = (0..20_000).filter(|_| congested(port, &switch, queue)).count();
                // Four standard deviations of 20,000 trials at 0.2 are 226.
                assert!(marked.abs_diff(expected_permille * 20) < 230, "{queue}: {marked}");
            }
        }
    }

    /// One byte above K_min, so that the slope equals the threshold.
    #[test]
    fn a_packet_is_marked_if_its_number_is_below_the_threshold() {
        for (above, expected) in [(0, false), (1, true)] {
            let (switch, same) = (SwitchState::default(), SwitchState::default());
            switch.random.store(1);
            same.random.store(1);
            let port = port(1000, 2000);
            port.ecn_slope_q48.store(random_q48(&same) + above);
            assert_eq!(congested(&port, &switch, 1001), expected, "{above} above its number");
            assert_eq!(switch.random.load(), same.random.load(), "one number is drawn");
        }
    }

    #[test]
    fn a_slope_reaches_p_max_at_k_max_and_a_step_has_none() {
        assert_eq!(slope_q48(0, 1, 1_000_000), 1 << 48);
        assert_eq!(slope_q48(1000, 1256, 1_000_000), 1 << 40);
        assert_eq!(slope_q48(1000, 1256, 500_000), 1 << 39);
        assert_eq!([slope_q48(1000, 1000, 500_000), slope_q48(1000, 999, 500_000)], [0, 0]);
    }

    /// Numbers of xorshift64* from state 1, computed by an independent Python program.
    #[test]
    fn which_packets_are_marked_follows_from_the_seed() {
        let port = port(100_000, 400_000);
        assert_eq!(port.ecn_slope_q48.load(), 187_649_984, "2^48 / 5 / 300,000");
        for (queue, first, count) in [
            (250_000, [4, 17, 23, 35, 36, 55, 60, 72], 1910),
            (400_000, [4, 11, 12, 16, 17, 23, 35, 36], 3944),
        ] {
            let switch = SwitchState::default();
            switch.random.store(1);
            let draws = 0..20_000;
            let marked: Vec<_> = draws.filter(|_| congested(&port, &switch, queue)).collect();
            assert_eq!((&marked[..8], marked.len()), (&first[..], count), "{queue}");
        }
    }
}
