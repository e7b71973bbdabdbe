//! The congestion point of DCQCN: which packets are marked.

use crate::map_abi::{SwitchConfig, SwitchState};

/// Whether to mark a packet whose egress queue holds `queue_bytes` besides it: never up to K_min, always
/// above K_max, with a probability that rises to p_max between them (DCQCN, Section 3.1).
#[inline(always)]
pub fn congested(config: &SwitchConfig, switch: &SwitchState, queue_bytes: u64) -> bool {
    if queue_bytes <= config.ecn_kmin_bytes {
        return false;
    }
    if queue_bytes > config.ecn_kmax_bytes {
        return true;
    }
    let threshold = (queue_bytes - config.ecn_kmin_bytes) * config.ecn_slope_q48;
    random_q48(switch) < threshold
}

/// The slope for [`SwitchConfig::ecn_slope_q48`]; `pmax` in millionths.
pub const fn slope_q48(kmin: u64, kmax: u64, pmax_millionths: u32) -> u64 {
    if kmax <= kmin {
        return 0;
    }
    (((pmax_millionths as u128) << 48) / (1_000_000 * (kmax - kmin) as u128)) as u64
}

/// The next 48 random bits of this switch (xorshift64*, Vigna 2016).
#[inline(always)]
fn random_q48(switch: &SwitchState) -> u64 {
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

    #[test]
    fn probability_rises_linearly_from_kmin_to_pmax() {
        let (kmin, kmax) = (100_000, 400_000);
        let config = SwitchConfig {
            ecn_kmin_bytes: kmin,
            ecn_kmax_bytes: kmax,
            ecn_slope_q48: slope_q48(kmin, kmax, 200_000),
            ..SwitchConfig::default()
        };
        let switch = SwitchState::default();
        switch.random.store(1);
        for (queue, expected_permille) in
            [(100_000, 0), (175_000, 50), (250_000, 100), (400_000, 200), (400_001, 1000)]
        {
            let marked = (0..20_000).filter(|_| congested(&config, &switch, queue)).count();
            // Four standard deviations of 20,000 trials at 0.2 are 226.
            assert!(marked.abs_diff(expected_permille * 20) < 230, "{queue}: {marked}");
        }
    }
}
