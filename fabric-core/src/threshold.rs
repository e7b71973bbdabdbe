//! How much of the shared pool one ingress queue may hold: T(t), on which every X_off is built.

use crate::map_abi::{IngressQueue, SwitchConfig, SwitchState};
use crate::policy::{Policy, ThresholdScheme};

/// The threshold of shared occupancy for one ingress queue.
pub trait Threshold {
    /// T(t) in bytes.
    fn bytes(config: &SwitchConfig, switch: &SwitchState, queue: &IngressQueue) -> u64;
}

/// DT (DSH, Eq. 2): T(t) = alpha * (B_s - sum of omega_s).
#[derive(Debug)]
pub struct DynamicThreshold;

impl Threshold for DynamicThreshold {
    #[inline(always)]
    fn bytes(config: &SwitchConfig, switch: &SwitchState, _queue: &IngressQueue) -> u64 {
        scaled(shared_free(config, switch), config.alpha_numerator, config.alpha_denominator)
    }
}

/// A constant X_off.
#[derive(Debug)]
pub struct StaticThreshold;

impl Threshold for StaticThreshold {
    #[inline(always)]
    fn bytes(config: &SwitchConfig, _switch: &SwitchState, _queue: &IngressQueue) -> u64 {
        config.static_xoff_bytes
    }
}

/// What the control plane last computed for this queue.
#[derive(Debug)]
pub struct StoredThreshold;

impl Threshold for StoredThreshold {
    #[inline(always)]
    fn bytes(_config: &SwitchConfig, _switch: &SwitchState, queue: &IngressQueue) -> u64 {
        queue.stored_threshold_bytes.load()
    }
}

/// T(t) under the policy's scheme.
#[inline(always)]
pub fn evaluate(
    policy: Policy,
    config: &SwitchConfig,
    switch: &SwitchState,
    queue: &IngressQueue,
) -> u64 {
    match policy.threshold() {
        ThresholdScheme::Dynamic => DynamicThreshold::bytes(config, switch, queue),
        ThresholdScheme::Static => StaticThreshold::bytes(config, switch, queue),
        ThresholdScheme::Stored => StoredThreshold::bytes(config, switch, queue),
    }
}

/// Bytes of the shared pool that nobody holds.
#[inline(always)]
pub fn shared_free(config: &SwitchConfig, switch: &SwitchState) -> u64 {
    config.shared_pool_bytes.saturating_sub(switch.shared_bytes.load())
}

/// `alpha` times `bytes`, rounded down. Parsing keeps the denominator above 0.
#[inline(always)]
pub const fn scaled(bytes: u64, numerator: u32, denominator: u32) -> u64 {
    let product = bytes * numerator as u64;
    // A division is most of the work of a threshold, and most alphas need none.
    if denominator.is_power_of_two() {
        product >> denominator.trailing_zeros()
    } else if denominator == 0 {
        0
    } else {
        product / denominator as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dt_is_alpha_times_the_free_shared_pool() {
        let config = SwitchConfig {
            shared_pool_bytes: 1_000_000,
            alpha_numerator: 1,
            alpha_denominator: 16,
            ..SwitchConfig::default()
        };
        let switch = SwitchState::default();
        let queue = IngressQueue::default();
        assert_eq!(DynamicThreshold::bytes(&config, &switch, &queue), 62_500);
        switch.shared_bytes.store(200_000);
        assert_eq!(DynamicThreshold::bytes(&config, &switch, &queue), 50_000);
        switch.shared_bytes.store(2_000_000);
        assert_eq!(DynamicThreshold::bytes(&config, &switch, &queue), 0);
    }

    #[test]
    fn alpha_may_be_any_fraction() {
        for (numerator, denominator, expected) in [
            (1, 1, 1001),
            (4, 1, 4004),
            (1, 8, 125),
            (3, 2, 1501),
            (1, 3, 333),
            (5, 7, 715),
            (1, 0, 0),
        ] {
            assert_eq!(scaled(1001, numerator, denominator), expected, "{numerator}/{denominator}");
        }
    }
}
