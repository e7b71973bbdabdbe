//! Where an arriving packet's bytes go, or that it is dropped.

use crate::cell::Cell64;
use crate::drop_reason::DropReason;
use crate::dsh::TwoLevelPools;
use crate::map_abi::{EgressQueue, IngressQueue, Pool, Port, SwitchConfig, SwitchState};
use crate::policy::{HeadroomScheme, Policy};
use crate::threshold::{scaled, shared_free};

/// What an admission decision may look at.
#[derive(Debug)]
pub struct Arriving<'a> {
    /// The schemes.
    pub policy: Policy,
    /// The configuration.
    pub config: &'a SwitchConfig,
    /// The switch's totals.
    pub switch: &'a SwitchState,
    /// The port where the packet came in.
    pub port: &'a Port,
    /// Its ingress queue.
    pub ingress: &'a IngressQueue,
    /// The egress queue that it is bound for.
    pub egress: &'a EgressQueue,
    /// T(t) of the ingress queue.
    pub threshold: u64,
    /// Its length.
    pub length: u64,
}

/// Where does this packet go? Decides only; [`charge`] and [`release`] keep the books.
pub trait Admission {
    /// The pool that takes the packet, or why none does.
    fn admit(arriving: &Arriving<'_>) -> Result<Pool, DropReason>;

    /// Counts an admitted packet in the books of its port, if the scheme keeps any.
    #[inline(always)]
    fn charge_port(_port: &Port, _pool: Pool, _length: u64) {}

    /// Takes what a departing packet gives back out of the books of its port.
    #[inline(always)]
    fn release_port(_port: &Port, _from_headroom: u64, _from_shared: u64) {}
}

/// Lossless packets: private, shared, headroom of the queue's own (DSH, Algorithm 1).
#[derive(Debug)]
pub struct LosslessPools;

impl Admission for LosslessPools {
    #[inline(always)]
    fn admit(arriving: &Arriving<'_>) -> Result<Pool, DropReason> {
        let Arriving { config, switch, port, ingress, threshold, length, .. } = *arriving;
        if fits_private(arriving) {
            return Ok(Pool::Private);
        }
        // Static thresholds and alpha > 1 promise more than there is; the pool's size is the last word.
        if ingress.shared_bytes.load() + length < threshold && length <= shared_free(config, switch)
        {
            return Ok(Pool::Shared);
        }
        if ingress.headroom_bytes.load() + length < port.headroom_bytes.load() {
            return Ok(Pool::Headroom);
        }
        Err(DropReason::HeadroomExhausted)
    }
}

/// The same with oversubscribed headroom: the queues draw on one pool, which is smaller than what they
/// may hold together (DSH, Section III-C).
#[derive(Debug)]
pub struct PooledHeadroom;

impl Admission for PooledHeadroom {
    #[inline(always)]
    fn admit(arriving: &Arriving<'_>) -> Result<Pool, DropReason> {
        let pool = LosslessPools::admit(arriving)?;
        let in_use = arriving.switch.headroom_bytes.load();
        if matches!(pool, Pool::Headroom)
            && in_use + arriving.length > arriving.config.headroom_pool_bytes
        {
            return Err(DropReason::HeadroomPoolExhausted);
        }
        Ok(pool)
    }
}

/// Lossy packets: the shared pool, under DT on the egress queue (DSH, Section II-B: lossy buffer is
/// managed from the egress perspective).
#[derive(Debug)]
pub struct LossyPool;

impl Admission for LossyPool {
    #[inline(always)]
    fn admit(arriving: &Arriving<'_>) -> Result<Pool, DropReason> {
        let Arriving { config, switch, egress, length, .. } = *arriving;
        let free = shared_free(config, switch);
        let threshold = scaled(free, config.lossy_alpha_numerator, config.lossy_alpha_denominator);
        if egress.bytes.load() + length <= threshold && length <= free {
            Ok(Pool::Shared)
        } else {
            Err(DropReason::LossyThreshold)
        }
    }
}

/// Whether the queue's private buffer takes the packet (DSH, Algorithm 1, line 1).
#[inline(always)]
pub fn fits_private(arriving: &Arriving<'_>) -> bool {
    arriving.ingress.private_bytes.load() + arriving.length < arriving.config.private_bytes
}

/// The pool that takes the packet under the policy's scheme.
#[inline(always)]
pub fn admit(lossless: bool, arriving: &Arriving<'_>) -> Result<Pool, DropReason> {
    if !lossless {
        return LossyPool::admit(arriving);
    }
    match arriving.policy.headroom() {
        HeadroomScheme::Independent => LosslessPools::admit(arriving),
        HeadroomScheme::Pooled => PooledHeadroom::admit(arriving),
        HeadroomScheme::Dsh => TwoLevelPools::admit(arriving),
    }
}

/// Counts an admitted packet in its pool.
#[inline(always)]
pub fn charge(lossless: bool, arriving: &Arriving<'_>, pool: Pool) {
    let Arriving { policy, switch, port, ingress, length, .. } = *arriving;
    let (of_queue, of_switch) = cells(pool, switch, ingress);
    of_queue.add(length);
    of_switch.add(length);
    if lossless {
        match policy.headroom() {
            HeadroomScheme::Independent => LosslessPools::charge_port(port, pool, length),
            HeadroomScheme::Pooled => PooledHeadroom::charge_port(port, pool, length),
            HeadroomScheme::Dsh => TwoLevelPools::charge_port(port, pool, length),
        }
    }
    let headroom = switch.headroom_bytes.load();
    if matches!(pool, Pool::Headroom) {
        switch.headroom_max_bytes.raise_to(headroom);
    }
    switch
        .buffer_max_bytes
        .raise_to(switch.private_bytes.load() + switch.shared_bytes.load() + headroom);
}

/// Gives a departing packet's bytes back: to headroom first, then to the shared pool, then to the private
/// one, as switching chips and the HPCC simulator do. The pools of a queue are counters, not places: if a
/// packet gave back what it was charged, headroom would stay taken until the packets at the queue's end
/// had left, and with it the PAUSE (DSH, Fig. 3: OFF ends only when headroom is empty), however low the
/// queue had fallen below `X_on`.
#[inline(always)]
pub fn release(
    policy: Policy,
    lossless: bool,
    switch: &SwitchState,
    port: &Port,
    ingress: &IngressQueue,
    length: u64,
) {
    let from_headroom = ingress.headroom_bytes.load().min(length);
    let rest = length - from_headroom;
    let from_shared = ingress.shared_bytes.load().min(rest);
    for (bytes, pool) in [
        (from_headroom, Pool::Headroom),
        (from_shared, Pool::Shared),
        (rest - from_shared, Pool::Private),
    ] {
        // Most often two of the three are zero, and no predictor knows which.
        let (of_queue, of_switch) = cells(pool, switch, ingress);
        of_queue.sub(bytes);
        of_switch.sub(bytes);
    }
    if lossless {
        match policy.headroom() {
            HeadroomScheme::Independent => {
                LosslessPools::release_port(port, from_headroom, from_shared);
            }
            HeadroomScheme::Pooled => {
                PooledHeadroom::release_port(port, from_headroom, from_shared);
            }
            HeadroomScheme::Dsh => TwoLevelPools::release_port(port, from_headroom, from_shared),
        }
    }
}

#[inline(always)]
fn cells<'a>(
    pool: Pool,
    switch: &'a SwitchState,
    ingress: &'a IngressQueue,
) -> (&'a Cell64, &'a Cell64) {
    match pool {
        Pool::Private => (&ingress.private_bytes, &switch.private_bytes),
        Pool::Shared => (&ingress.shared_bytes, &switch.shared_bytes),
        Pool::Headroom => (&ingress.headroom_bytes, &switch.headroom_bytes),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::policy::{MarkingScheme, ThresholdScheme};

    /// What an admission decision looks at, of a switch that holds nothing.
    pub(crate) struct Idle {
        pub(crate) policy: Policy,
        pub(crate) config: SwitchConfig,
        pub(crate) switch: SwitchState,
        pub(crate) port: Port,
        pub(crate) ingress: IngressQueue,
        egress: EgressQueue,
    }

    impl Idle {
        pub(crate) fn with(config: SwitchConfig) -> Self {
            Self {
                policy: Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off),
                config,
                switch: SwitchState::default(),
                port: Port::default(),
                ingress: IngressQueue::default(),
                egress: EgressQueue::default(),
            }
        }

        pub(crate) fn arriving(&self, threshold: u64, length: u64) -> Arriving<'_> {
            let Self { policy, config, switch, port, ingress, egress } = self;
            let policy = *policy;
            Arriving { policy, config, switch, port, ingress, egress, threshold, length }
        }
    }

    struct Row {
        private: u64,
        shared: u64,
        headroom: u64,
        expected: Result<Pool, DropReason>,
    }

    /// Algorithm 1 with rho = 3000, T = 10,000, Phi = 5000 and a packet of 1000 bytes; every comparison
    /// is strict, as in the paper.
    #[test]
    fn algorithm_1_line_by_line() {
        let row = |private, shared, headroom, expected| Row { private, shared, headroom, expected };
        let rows = [
            row(0, 0, 0, Ok(Pool::Private)),
            row(1999, 0, 0, Ok(Pool::Private)),
            row(2000, 0, 0, Ok(Pool::Shared)),
            row(2000, 8999, 0, Ok(Pool::Shared)),
            row(2000, 9000, 0, Ok(Pool::Headroom)),
            row(2000, 9000, 3999, Ok(Pool::Headroom)),
            row(2000, 9000, 4000, Err(DropReason::HeadroomExhausted)),
            row(1000, 9000, 4000, Ok(Pool::Private)),
        ];
        let config = SwitchConfig {
            shared_pool_bytes: 1_000_000,
            private_bytes: 3000,
            ..SwitchConfig::default()
        };
        for (index, row) in rows.iter().enumerate() {
            let at = Idle::with(config);
            at.port.headroom_bytes.store(5000);
            at.ingress.private_bytes.store(row.private);
            at.ingress.shared_bytes.store(row.shared);
            at.ingress.headroom_bytes.store(row.headroom);
            let got = LosslessPools::admit(&at.arriving(10_000, 1000));
            assert_eq!(got, row.expected, "row {index}");
        }
    }

    #[test]
    fn a_full_pool_overrules_a_static_threshold() {
        let at = Idle::with(SwitchConfig { shared_pool_bytes: 1500, ..SwitchConfig::default() });
        at.switch.shared_bytes.store(600);
        at.port.headroom_bytes.store(5000);
        assert_eq!(LosslessPools::admit(&at.arriving(10_000, 1000)), Ok(Pool::Headroom));
    }

    #[test]
    fn oversubscribed_headroom_ends_with_its_pool() {
        let at = Idle::with(SwitchConfig { headroom_pool_bytes: 7000, ..SwitchConfig::default() });
        at.port.headroom_bytes.store(5000);
        // (headroom of the queue, headroom of all, outcome) for 1000 bytes.
        let rows = [
            (3999, 3999, Ok(Pool::Headroom)),
            (0, 6000, Ok(Pool::Headroom)),
            (0, 6001, Err(DropReason::HeadroomPoolExhausted)),
            (4000, 4000, Err(DropReason::HeadroomExhausted)),
        ];
        for (of_queue, of_all, expected) in rows {
            at.ingress.headroom_bytes.store(of_queue);
            at.switch.headroom_bytes.store(of_all);
            let got = PooledHeadroom::admit(&at.arriving(0, 1000));
            assert_eq!(got, expected, "{of_queue} of {of_all}");
        }
    }

    #[test]
    fn headroom_is_given_back_first_and_private_last() {
        let at = Idle::with(SwitchConfig::default());
        for pool in [Pool::Private, Pool::Shared, Pool::Headroom] {
            charge(true, &at.arriving(0, 700), pool);
        }
        let Idle { policy, switch, port, ingress, .. } = &at;
        assert_eq!(switch.buffer_max_bytes.load(), 2100);
        assert_eq!(switch.headroom_max_bytes.load(), 700);
        let held = || {
            let of_queue = [&ingress.headroom_bytes, &ingress.shared_bytes, &ingress.private_bytes];
            let of_switch = [&switch.headroom_bytes, &switch.shared_bytes, &switch.private_bytes];
            let held = of_queue.map(Cell64::load);
            assert_eq!(held, of_switch.map(Cell64::load));
            held
        };
        let steps =
            [(600, [100, 700, 700]), (600, [0, 200, 700]), (600, [0, 0, 300]), (300, [0, 0, 0])];
        for (length, expected) in steps {
            release(*policy, true, switch, port, ingress, length);
            assert_eq!(held(), expected);
        }
    }

    /// A packet of 1000 bytes, a pool of 10,000 and alpha 1/2 or 4: T is alpha times what is free, and what
    /// the egress queue holds counts, whatever the ingress queue does.
    #[test]
    fn a_lossy_packet_is_admitted_by_its_egress_queue() {
        // (alpha, bytes of all, egress queue, ingress queue, admitted)
        let rows = [
            ((1, 2), 4000, 2000, 0, true),
            ((1, 2), 4000, 2001, 0, false),
            ((1, 2), 4000, 4000, 0, false),
            ((1, 2), 4000, 0, 4000, true),
            ((1, 2), 8000, 0, 8000, true),
            ((1, 2), 8001, 0, 8001, false),
            ((4, 1), 9000, 3000, 9000, true),
            ((4, 1), 9001, 0, 9001, false),
        ];
        for ((numerator, denominator), of_all, egress, ingress, admitted) in rows {
            let at = Idle::with(SwitchConfig {
                shared_pool_bytes: 10_000,
                lossy_alpha_numerator: numerator,
                lossy_alpha_denominator: denominator,
                ..SwitchConfig::default()
            });
            at.switch.shared_bytes.store(of_all);
            at.egress.bytes.store(egress);
            at.ingress.shared_bytes.store(ingress);
            let expected =
                if admitted { Ok(Pool::Shared) } else { Err(DropReason::LossyThreshold) };
            let row = format!("{of_all}, {egress}, {ingress} at {numerator}/{denominator}");
            assert_eq!(LossyPool::admit(&at.arriving(10_000, 1000)), expected, "{row}");
            assert_eq!(admit(false, &at.arriving(10_000, 1000)), expected, "{row}, by its class");
        }
    }

    /// Each scheme has a limit of its own, and only DSH counts what a port holds.
    #[test]
    fn the_policy_says_which_pools_there_are() {
        for (headroom, outcome, books) in [
            (HeadroomScheme::Independent, Ok(Pool::Headroom), [0, 0]),
            (HeadroomScheme::Pooled, Err(DropReason::HeadroomPoolExhausted), [0, 0]),
            (HeadroomScheme::Dsh, Err(DropReason::InsuranceExhausted), [300, 50]),
        ] {
            let mut at = Idle::with(SwitchConfig::default());
            at.policy = at.policy.with_headroom(headroom);
            at.port.headroom_bytes.store(2000);
            at.port.insurance_bytes.store(1500);
            assert_eq!(admit(true, &at.arriving(0, 1000)), outcome, "{headroom:?}");

            at.port.insurance_bytes.store(0);
            charge(true, &at.arriving(0, 700), Pool::Headroom);
            charge(true, &at.arriving(0, 150), Pool::Shared);
            let Idle { policy, switch, port, ingress, .. } = &at;
            release(*policy, true, switch, port, ingress, 400);
            let insured = port.insurance_bytes.load();
            release(*policy, true, switch, port, ingress, 400);
            assert_eq!([insured, port.shared_bytes.load()], books, "{headroom:?}");
        }
    }
}
