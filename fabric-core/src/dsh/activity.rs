//! Whether a port has a single active queue (Algorithm 4).

use crate::map_abi::{Port, SwitchConfig};
use crate::units::Nanos;

/// Notes a packet of `queue` and tells whether all packets of the window went to that queue.
///
/// The window begins when the queue changes; after [`SwitchConfig::single_queue_window_ns`] without
/// another change the queue is alone.
#[inline(always)]
pub fn observe(config: &SwitchConfig, port: &Port, queue: u32, now: Nanos) -> bool {
    if port.last_queue.load() != queue + 1 {
        port.single_queue_since_ns.store(now.0);
        port.last_queue.store(queue + 1);
        port.single_queue.store(0);
        return false;
    }
    let since = port.single_queue_since_ns.load();
    if now.0.saturating_sub(since) > config.single_queue_window_ns {
        port.single_queue.store(1);
    }
    port.single_queue.load() != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_alone_after_a_window_without_another() {
        let config = SwitchConfig { single_queue_window_ns: 10_000_000, ..SwitchConfig::default() };
        let port = Port::default();
        // (now, queue, alone): Algorithm 4 line by line.
        let rows = [
            (5, 0, false),
            (10_000_005, 0, false),
            (10_000_006, 0, true),
            (30_000_000, 0, true),
            (30_000_001, 3, false),
            (30_000_002, 0, false),
            (40_000_002, 0, false),
            (40_000_003, 0, true),
            (99_000_000, 3, false),
        ];
        for (now, queue, alone) in rows {
            assert_eq!(observe(&config, &port, queue, Nanos(now)), alone, "at {now} ns");
        }
    }
}
