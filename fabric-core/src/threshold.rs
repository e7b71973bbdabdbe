//! T(t), the max bytes of the shared pool that one ingress queue may hold. Every X_off derives from T(t).

use crate::map_abi::{IngressQueue, Port, SwitchConfig, SwitchState};
use crate::policy::{Policy, ThresholdScheme};

/// Computes the threshold of shared occupancy of one ingress queue.
pub trait Threshold {
    /// Returns T(t) in bytes. `port` is the queue's ingress port.
    fn bytes(config: &SwitchConfig, switch: &SwitchState, port: &Port, queue: &IngressQueue)
    -> u64;
}

/// DT (DSH, Eq. 2): T(t) = alpha * (B_s - sum of omega_s), with the alpha of the ingress port.
#[derive(Debug)]
pub struct DynamicThreshold;

impl Threshold for DynamicThreshold {
    #[inline(always)]
    fn bytes(
        config: &SwitchConfig,
        switch: &SwitchState,
        port: &Port,
        _queue: &IngressQueue,
    ) -> u64 {
        let (numerator, denominator) = (&port.alpha_numerator, &port.alpha_denominator);
        scaled(shared_free(config, switch), numerator.load(), denominator.load())
    }
}

/// A constant X_off.
#[derive(Debug)]
pub struct StaticThreshold;

impl Threshold for StaticThreshold {
    #[inline(always)]
    fn bytes(
        config: &SwitchConfig,
        _switch: &SwitchState,
        _port: &Port,
        _queue: &IngressQueue,
    ) -> u64 {
        config.static_xoff_bytes
    }
}

/// The threshold that the control plane stored last for this queue.
#[derive(Debug)]
pub struct StoredThreshold;

impl Threshold for StoredThreshold {
    #[inline(always)]
    fn bytes(
        _config: &SwitchConfig,
        _switch: &SwitchState,
        _port: &Port,
        queue: &IngressQueue,
    ) -> u64 {
        queue.stored_threshold_bytes.load()
    }
}

/// Returns T(t) of `queue` at ingress port `port` under the policy's threshold scheme.
#[inline(always)]
pub fn evaluate(
    policy: Policy,
    config: &SwitchConfig,
    switch: &SwitchState,
    port: &Port,
    queue: &IngressQueue,
) -> u64 {
    match policy.threshold() {
        ThresholdScheme::Dynamic => DynamicThreshold::bytes(config, switch, port, queue),
        ThresholdScheme::Static => StaticThreshold::bytes(config, switch, port, queue),
        ThresholdScheme::Stored => StoredThreshold::bytes(config, switch, port, queue),
    }
}

/// Free bytes of the shared pool.
#[inline(always)]
pub fn shared_free(config: &SwitchConfig, switch: &SwitchState) -> u64 {
    config.shared_pool_bytes.saturating_sub(switch.shared_bytes.load())
}

/// Returns `alpha` times `bytes`, rounded down. Parsing ensures a denominator above 0 and buffers below 1 GiB.
#[inline(always)]
pub const fn scaled(bytes: u64, numerator: u32, denominator: u32) -> u64 {
    let product = bytes * numerator as u64;
    // A division would be most of the work of a threshold; for most alphas a shift is enough.
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
    use crate::cell::Cell32;
    use crate::policy::MarkingScheme;

    #[test]
    fn dt_is_alpha_of_the_port_times_the_free_shared_pool() {
        let config = SwitchConfig { shared_pool_bytes: 1_000_000, ..SwitchConfig::default() };
        let port = |numerator, denominator| Port {
            alpha_numerator: Cell32::new(numerator),
            alpha_denominator: Cell32::new(denominator),
            ..Port::default()
        };
        let (slow, fast) = (port(1, 16), port(3, 10));
        let switch = SwitchState::default();
        let queue = IngressQueue::default();
        let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
        for (held, of_slow, of_fast) in
            [(0, 62_500, 300_000), (200_000, 50_000, 240_000), (2_000_000, 0, 0)]
        {
            switch.shared_bytes.store(held);
            let both = [&slow, &fast].map(|port| evaluate(policy, &config, &switch, port, &queue));
            assert_eq!(both, [of_slow, of_fast], "{held} bytes are held");
        }
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

    #[test]
    fn each_scheme_has_a_threshold_of_its_own() {
        let config = SwitchConfig {
            shared_pool_bytes: 1000,
            static_xoff_bytes: 222,
            ..SwitchConfig::default()
        };
        let (port, queue) = (Port::default(), IngressQueue::default());
        port.alpha_numerator.store(1);
        port.alpha_denominator.store(1);
        queue.stored_threshold_bytes.store(33);
        for (scheme, expected) in [
            (ThresholdScheme::Dynamic, 1000),
            (ThresholdScheme::Static, 222),
            (ThresholdScheme::Stored, 33),
        ] {
            let policy = Policy::new(scheme, MarkingScheme::Off);
            let found = evaluate(policy, &config, &SwitchState::default(), &port, &queue);
            assert_eq!(found, expected, "{scheme:?}");
        }
    }
}
