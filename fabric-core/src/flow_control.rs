//! When to pause and to resume a neighbour.

use crate::map_abi::{IngressQueue, Pool, SwitchConfig, SwitchState};
use crate::threshold::shared_free;

/// A PAUSE or RESUME to be sent out of an ingress port, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Classes that it speaks of.
    pub class_enable: u8,
    /// Quanta for each of them; 0 resumes.
    pub quanta: u16,
    /// omega_s of the ingress queue at the decision.
    pub occupancy_bytes: u64,
    /// The threshold that it was compared with.
    pub threshold_bytes: u64,
    /// Free bytes of the shared pool at the decision.
    pub shared_free_bytes: u64,
}

/// Shall we pause? Shall we resume? `xoff` is T(t) at that moment.
pub trait FlowControl {
    /// A packet of `priority` was admitted to `pool` of `queue`.
    fn after_arrival(
        config: &SwitchConfig,
        switch: &SwitchState,
        queue: &IngressQueue,
        xoff: u64,
        priority: u32,
        pool: Pool,
    ) -> Option<Order>;
    /// A packet of `priority` left `queue`.
    fn after_departure(
        config: &SwitchConfig,
        switch: &SwitchState,
        queue: &IngressQueue,
        xoff: u64,
        priority: u32,
    ) -> Option<Order>;
}

/// PFC per ingress queue: the two states of DSH, Fig. 3, X_off = T(t), X_on = X_off - delta.
#[derive(Debug)]
pub struct QueueLevel;

impl FlowControl for QueueLevel {
    #[inline(always)]
    fn after_arrival(
        config: &SwitchConfig,
        switch: &SwitchState,
        queue: &IngressQueue,
        xoff: u64,
        priority: u32,
        pool: Pool,
    ) -> Option<Order> {
        if queue.off.load() != 0 {
            return None;
        }
        let occupancy = queue.shared_bytes.load();
        // Algorithm 1 keeps omega_s below T(t), so a queue whose next packet no longer fits shows it by
        // reaching into headroom; omega_s exceeds X_off where T(t) has fallen.
        if occupancy <= xoff && !matches!(pool, Pool::Headroom) {
            return None;
        }
        queue.off.store(1);
        queue.pauses.add(1);
        Some(Order {
            class_enable: 1 << (priority & 7),
            quanta: config.pause_quanta,
            occupancy_bytes: occupancy,
            threshold_bytes: xoff,
            shared_free_bytes: shared_free(config, switch),
        })
    }

    #[inline(always)]
    fn after_departure(
        config: &SwitchConfig,
        switch: &SwitchState,
        queue: &IngressQueue,
        xoff: u64,
        priority: u32,
    ) -> Option<Order> {
        if queue.off.load() == 0 || queue.headroom_bytes.load() != 0 {
            return None;
        }
        let xon = xoff.saturating_sub(config.xon_offset_bytes);
        let occupancy = queue.shared_bytes.load();
        if occupancy > xon {
            return None;
        }
        queue.off.store(0);
        Some(Order {
            class_enable: 1 << (priority & 7),
            quanta: 0,
            occupancy_bytes: occupancy,
            threshold_bytes: xon,
            shared_free_bytes: shared_free(config, switch),
        })
    }
}

/// Lossy priorities are never paused.
#[derive(Debug)]
pub struct Never;

impl FlowControl for Never {
    #[inline(always)]
    fn after_arrival(
        _config: &SwitchConfig,
        _switch: &SwitchState,
        _queue: &IngressQueue,
        _xoff: u64,
        _priority: u32,
        _pool: Pool,
    ) -> Option<Order> {
        None
    }

    #[inline(always)]
    fn after_departure(
        _config: &SwitchConfig,
        _switch: &SwitchState,
        _queue: &IngressQueue,
        _xoff: u64,
        _priority: u32,
    ) -> Option<Order> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QueueLevel as Pfc;

    const XOFF: u64 = 10_000;

    fn config() -> SwitchConfig {
        SwitchConfig {
            shared_pool_bytes: 100_000,
            xon_offset_bytes: 2000,
            pause_quanta: 500,
            ..SwitchConfig::default()
        }
    }

    #[test]
    fn the_two_states_of_figure_3() {
        let (config, switch, queue) = (config(), SwitchState::default(), IngressQueue::default());
        queue.shared_bytes.store(10_000);
        assert_eq!(Pfc::after_arrival(&config, &switch, &queue, XOFF, 3, Pool::Shared), None);
        queue.shared_bytes.store(10_001);
        let pause = Pfc::after_arrival(&config, &switch, &queue, XOFF, 3, Pool::Shared);
        assert_eq!(pause.map(|order| (order.class_enable, order.quanta)), Some((8, 500)));
        assert_eq!(Pfc::after_arrival(&config, &switch, &queue, XOFF, 3, Pool::Headroom), None);

        queue.shared_bytes.store(8000);
        queue.headroom_bytes.store(1);
        assert_eq!(Pfc::after_departure(&config, &switch, &queue, XOFF, 3), None);
        queue.headroom_bytes.store(0);
        queue.shared_bytes.store(8001);
        assert_eq!(Pfc::after_departure(&config, &switch, &queue, XOFF, 3), None);
        queue.shared_bytes.store(8000);
        let resume = Pfc::after_departure(&config, &switch, &queue, XOFF, 3);
        assert_eq!(resume.map(|order| (order.class_enable, order.quanta)), Some((8, 0)));
        assert_eq!(Pfc::after_departure(&config, &switch, &queue, XOFF, 3), None);
    }

    #[test]
    fn the_first_packet_in_headroom_pauses() {
        let (config, switch, queue) = (config(), SwitchState::default(), IngressQueue::default());
        queue.shared_bytes.store(9500);
        assert!(Pfc::after_arrival(&config, &switch, &queue, XOFF, 0, Pool::Headroom).is_some());
    }

    #[test]
    fn an_empty_queue_resumes_even_where_x_on_is_zero() {
        let (config, switch, queue) = (config(), SwitchState::default(), IngressQueue::default());
        queue.off.store(1);
        assert!(Pfc::after_departure(&config, &switch, &queue, 1000, 0).is_some());
    }
}
