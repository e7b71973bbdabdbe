//! When to pause and to resume a neighbour.

use crate::dsh::TwoLevel;
use crate::map_abi::{IngressQueue, Pool, Port, SwitchConfig, SwitchState};
use crate::policy::{HeadroomScheme, Policy};
use crate::tables::{Tables, ingress_index};
use crate::threshold::{self, shared_free};
use crate::units::Nanos;

/// Who is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// One class, because of its ingress queue.
    #[default]
    Queue,
    /// All lossless classes, because of the port (DSH, Section IV-E).
    Port,
}

/// A PAUSE or RESUME to be sent out of an ingress port, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Whose occupancy it was.
    pub level: Level,
    /// Classes that it speaks of. A port's RESUME leaves out those whose queues are OFF: their pauses
    /// are to be renewed.
    pub class_enable: u8,
    /// Quanta for each of them; 0 resumes.
    pub quanta: u16,
    /// What the ingress queue, or the port, held in the shared pool and in headroom at the decision.
    pub occupancy_bytes: u64,
    /// X_off or X_on at the decision. Of a PAUSE that came because the shared pool is full: what the
    /// queue or port could have held, where that is less than X_off.
    pub threshold_bytes: u64,
    /// Free bytes of the shared pool at the decision.
    pub shared_free_bytes: u64,
}

/// An ingress queue after its packet was charged or released, and what it belongs to.
#[derive(Debug)]
pub struct Ingress<'a, T> {
    /// The switch's tables.
    pub tables: &'a T,
    /// The schemes.
    pub policy: Policy,
    /// The configuration.
    pub config: &'a SwitchConfig,
    /// The switch's totals.
    pub switch: &'a SwitchState,
    /// Number of the port.
    pub port_number: u32,
    /// The port.
    pub port: &'a Port,
    /// The queue.
    pub queue: &'a IngressQueue,
    /// Its priority.
    pub priority: u32,
}

impl<'a, T: Tables> Ingress<'a, T> {
    /// The ingress queue of (`port`, `priority`), if there is one.
    pub fn of(tables: &'a T, policy: Policy, port: u32, priority: u32) -> Option<Self> {
        Some(Self {
            tables,
            policy,
            config: tables.config()?,
            switch: tables.switch()?,
            port_number: port,
            port: tables.port(port)?,
            queue: tables.ingress_queue(ingress_index(port, priority))?,
            priority,
        })
    }

    /// T(t) now.
    #[inline(always)]
    pub fn threshold(&self) -> u64 {
        threshold::evaluate(self.policy, self.config, self.switch, self.port, self.queue)
    }

    /// X_off of the queue: T(t), under DSH less tau (Eq. 10), which is 0 elsewhere.
    #[inline(always)]
    pub fn queue_xoff(&self, threshold: u64) -> u64 {
        threshold.saturating_sub(u64::from(self.queue.tau_bytes.load()))
    }

    /// X_poff of the port (DSH, Eq. 11).
    #[inline(always)]
    pub fn port_xoff(&self, threshold: u64) -> u64 {
        port_xoff(self.config, threshold)
    }

    /// Free bytes of the shared pool.
    #[inline(always)]
    pub fn shared_free(&self) -> u64 {
        shared_free(self.config, self.switch)
    }

    /// A PAUSE of the queue's class.
    #[inline(always)]
    pub fn pause_queue(&self, xoff: u64) -> Order {
        let class_enable = 1 << (self.priority & 7);
        self.order(Level::Queue, class_enable, self.config.pause_quanta, xoff)
    }

    /// A RESUME of it.
    #[inline(always)]
    pub fn resume_queue(&self, xon: u64) -> Order {
        let class_enable = 1 << (self.priority & 7);
        self.order(Level::Queue, class_enable, 0, xon)
    }

    /// A PAUSE of all lossless classes.
    #[inline(always)]
    pub fn pause_port(&self, xoff: u64) -> Order {
        self.order(Level::Port, self.config.lossless_classes, self.config.pause_quanta, xoff)
    }

    /// A RESUME of `classes`, the port being ON.
    pub fn resume_port(&self, classes: u8, xon: u64) -> Order {
        self.order(Level::Port, classes, 0, xon)
    }

    #[inline(always)]
    fn order(&self, level: Level, class_enable: u8, quanta: u16, threshold_bytes: u64) -> Order {
        let (shared, headroom) = match level {
            Level::Queue => (&self.queue.shared_bytes, &self.queue.headroom_bytes),
            Level::Port => (&self.port.shared_bytes, &self.port.insurance_bytes),
        };
        let occupancy_bytes = shared.load() + headroom.load();
        let shared_free_bytes = self.shared_free();
        Order { level, class_enable, quanta, occupancy_bytes, threshold_bytes, shared_free_bytes }
    }
}

/// X_poff: the port's queues may hold together what each of them may hold (DSH, Eq. 11).
#[inline(always)]
pub fn port_xoff(config: &SwitchConfig, threshold: u64) -> u64 {
    // A static threshold may be any number; eight times this one is one, too.
    const LARGEST: u64 = u64::MAX >> 4;
    threshold.min(LARGEST) * u64::from(config.lossless_queues)
}

/// Shall we pause? Shall we resume?
pub trait FlowControl {
    /// A packet was admitted to `pool` of the queue.
    fn after_arrival<T: Tables>(at: &Ingress<'_, T>, pool: Pool, now: Nanos) -> Option<Order>;
    /// A packet left the queue.
    fn after_departure<T: Tables>(at: &Ingress<'_, T>) -> Option<Order>;
}

/// PFC per ingress queue: the two states of DSH, Fig. 3, X_off = T(t), X_on = X_off - delta.
#[derive(Debug)]
pub struct QueueLevel;

impl FlowControl for QueueLevel {
    #[inline(always)]
    fn after_arrival<T: Tables>(at: &Ingress<'_, T>, pool: Pool, _now: Nanos) -> Option<Order> {
        if at.queue.off.load() != 0 {
            return None;
        }
        let xoff = at.threshold();
        let shared = at.queue.shared_bytes.load();
        // Algorithm 1 keeps omega_s below T(t), so a queue whose next packet no longer fits shows it by
        // reaching into headroom; omega_s exceeds X_off where T(t) has fallen.
        if shared <= xoff && !matches!(pool, Pool::Headroom) {
            return None;
        }
        at.queue.off.store(1);
        at.queue.pauses.add(1);
        Some(at.pause_queue(xoff.min(shared + at.shared_free())))
    }

    #[inline(always)]
    fn after_departure<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        if at.queue.off.load() == 0 || at.queue.headroom_bytes.load() != 0 {
            return None;
        }
        let xon = at.threshold().saturating_sub(at.config.xon_offset_bytes);
        if at.queue.shared_bytes.load() > xon {
            return None;
        }
        at.queue.off.store(0);
        Some(at.resume_queue(xon))
    }
}

/// Lossy priorities are never paused.
#[derive(Debug)]
pub struct Never;

impl FlowControl for Never {
    #[inline(always)]
    fn after_arrival<T: Tables>(_at: &Ingress<'_, T>, _pool: Pool, _now: Nanos) -> Option<Order> {
        None
    }

    #[inline(always)]
    fn after_departure<T: Tables>(_at: &Ingress<'_, T>) -> Option<Order> {
        None
    }
}

/// The PAUSE that an arrival makes due under the policy's scheme.
#[inline(always)]
pub fn after_arrival<T: Tables>(
    at: &Ingress<'_, T>,
    lossless: bool,
    pool: Pool,
    now: Nanos,
) -> Option<Order> {
    if !lossless {
        return Never::after_arrival(at, pool, now);
    }
    match at.policy.headroom() {
        HeadroomScheme::Independent | HeadroomScheme::Pooled => {
            QueueLevel::after_arrival(at, pool, now)
        }
        HeadroomScheme::Dsh => TwoLevel::after_arrival(at, pool, now),
    }
}

/// The RESUME that a departure makes due under the policy's scheme.
#[inline(always)]
pub fn after_departure<T: Tables>(at: &Ingress<'_, T>, lossless: bool) -> Option<Order> {
    if !lossless {
        return Never::after_departure(at);
    }
    match at.policy.headroom() {
        HeadroomScheme::Independent | HeadroomScheme::Pooled => QueueLevel::after_departure(at),
        HeadroomScheme::Dsh => TwoLevel::after_departure(at),
    }
}

/// What becomes of a pause whose quanta are about to run out.
///
/// `class` names the paused queue, `None` the port, and `pause` which of its pauses it was. `None` if
/// that pause is over, or a pause of the whole port covers it. A port that may go ON by now gets its
/// RESUME here: if all its packets wait behind pauses of others, no departure asks for it.
pub fn renewal<T: Tables>(
    tables: &T,
    policy: Policy,
    port: u32,
    class: Option<u8>,
    pause: u32,
) -> Option<Order> {
    let classes = tables.config()?.lossless_classes;
    let of = |class: u8| Ingress::of(tables, policy, port, u32::from(class));
    if let Some(class) = class {
        let at = of(class)?;
        let over = at.queue.off.load() == 0 || at.queue.pauses.load() != pause;
        let covered = at.port.off.load() != 0;
        return (!over && !covered).then(|| at.pause_queue(at.queue_xoff(at.threshold())));
    }
    let at = of(classes.trailing_zeros() as u8)?;
    if at.port.off.load() == 0 || at.port.pauses.load() != pause {
        return None;
    }
    TwoLevel::resume_port(&at).or_else(|| Some(at.pause_port(at.port_xoff(at.threshold()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{MarkingScheme, ThresholdScheme};
    use crate::tables::owned::OwnedTables;

    const NOW: Nanos = Nanos(0);

    /// X_off is 10,000 bytes.
    fn tables() -> OwnedTables {
        let config = SwitchConfig {
            shared_pool_bytes: 100_000,
            static_xoff_bytes: 10_000,
            xon_offset_bytes: 2000,
            pause_quanta: 500,
            lossless_classes: 1 << 3,
            lossless_queues: 1,
            ..SwitchConfig::default()
        };
        OwnedTables::new(config, 5000)
    }

    fn at(tables: &OwnedTables) -> Ingress<'_, OwnedTables> {
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
        Ingress::of(tables, policy, 1, 3).unwrap()
    }

    fn spoken(order: Option<Order>) -> Option<(u8, u16)> {
        order.map(|order| (order.class_enable, order.quanta))
    }

    #[test]
    fn the_two_states_of_figure_3() {
        let tables = tables();
        let at = at(&tables);
        at.queue.shared_bytes.store(10_000);
        assert_eq!(QueueLevel::after_arrival(&at, Pool::Shared, NOW), None);
        at.queue.shared_bytes.store(10_001);
        assert_eq!(spoken(QueueLevel::after_arrival(&at, Pool::Shared, NOW)), Some((8, 500)));
        assert_eq!(QueueLevel::after_arrival(&at, Pool::Headroom, NOW), None);

        at.queue.shared_bytes.store(8000);
        at.queue.headroom_bytes.store(1);
        assert_eq!(QueueLevel::after_departure(&at), None);
        at.queue.headroom_bytes.store(0);
        at.queue.shared_bytes.store(8001);
        assert_eq!(QueueLevel::after_departure(&at), None);
        at.queue.shared_bytes.store(8000);
        assert_eq!(spoken(QueueLevel::after_departure(&at)), Some((8, 0)));
        assert_eq!(QueueLevel::after_departure(&at), None);
    }

    #[test]
    fn the_first_packet_in_headroom_pauses() {
        let tables = tables();
        let at = at(&tables);
        at.queue.shared_bytes.store(9500);
        assert!(QueueLevel::after_arrival(&at, Pool::Headroom, NOW).is_some());
    }

    /// What the queue held after the packet, and what it would have to stay within; X_off is 10,000 bytes, and
    /// the packet has 1000.
    #[test]
    fn a_pause_says_what_went_beyond_which_limit() {
        for (shared, headroom, of_others, expected) in [
            (10_001, 0, 0, [10_001, 10_000]),
            (9500, 1000, 0, [10_500, 10_000]),
            (9500, 1000, 90_000, [10_500, 10_000]),
            // 100 bytes are left of the shared pool.
            (9500, 1000, 90_400, [10_500, 9600]),
            (0, 1000, 99_900, [1000, 100]),
        ] {
            let tables = tables();
            let at = at(&tables);
            at.queue.shared_bytes.store(shared);
            at.queue.headroom_bytes.store(headroom);
            tables.switch.shared_bytes.store(shared + of_others);
            let pool = if headroom == 0 { Pool::Shared } else { Pool::Headroom };
            let order = QueueLevel::after_arrival(&at, pool, NOW).unwrap();
            assert_eq!([order.occupancy_bytes, order.threshold_bytes], expected);
        }
    }

    #[test]
    fn an_empty_queue_resumes_even_where_x_on_is_zero() {
        let mut tables = tables();
        tables.config.static_xoff_bytes = 1000;
        let at = at(&tables);
        at.queue.off.store(1);
        assert!(QueueLevel::after_departure(&at).is_some());
    }

    #[test]
    fn a_pause_is_renewed_until_it_is_over() {
        let tables = tables();
        let at = at(&tables);
        let renew = |pause| renewal(&tables, at.policy, 1, Some(3), pause);
        assert_eq!(renew(0), None, "a queue that is ON");
        at.queue.shared_bytes.store(10_001);
        QueueLevel::after_arrival(&at, Pool::Shared, NOW);
        assert_eq!(spoken(renew(1)), Some((8, 500)));
        assert_eq!(renew(0), None, "an earlier pause");
        at.port.off.store(1);
        assert_eq!(renew(1), None, "the port's pause covers it");
    }

    #[test]
    fn a_port_may_hold_what_its_queues_may_hold_together() {
        for queues in 1..=8 {
            let config = SwitchConfig { lossless_queues: queues, ..SwitchConfig::default() };
            assert_eq!(port_xoff(&config, 10_000), 10_000 * u64::from(queues));
            assert!(port_xoff(&config, u64::MAX) >= 1 << 59, "more than any buffer");
        }
    }
}
