//! Detection of a port with a single active queue (Algorithm 4).

use units::Nanos;

use super::state::{PortLine, SettingsLine};
use crate::priority::Priority;

/// Records a packet of `queue`. True if all packets of the window went to that queue.
///
/// The window begins when the queue changes; after [`SettingsLine::single_queue_window_ns`] without
/// another change the queue is alone.
#[inline(always)]
pub fn observe(settings: &SettingsLine, port: &PortLine, queue: Priority, now: Nanos) -> bool {
    let number = u32::from(queue.number()) + 1;
    if port.last_queue.load() != number {
        port.single_queue_since_ns.store(now.0);
        port.last_queue.store(number);
        port.single_queue.store(0);
        return false;
    }
    let since = port.single_queue_since_ns.load();
    if now.0.saturating_sub(since) > settings.single_queue_window_ns.load() {
        port.single_queue.store(1);
    }
    port.single_queue.load() != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_alone_after_a_window_without_another() {
        let settings = SettingsLine::default();
        settings.single_queue_window_ns.store(10_000_000);
        let port = PortLine::default();
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
            let queue = Priority::new(queue);
            assert_eq!(observe(&settings, &port, queue, Nanos(now)), alone, "at {now} ns");
        }
    }
}
