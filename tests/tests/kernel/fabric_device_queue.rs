//! FIFOs below egress queues, on the real kernel and as in memory. Needs root.

use tests::fabric::{device_queue, on_both};

#[test]
fn frames_keep_their_order_and_times() {
    device_queue::order(on_both);
}

#[test]
fn marks_and_drops_see_the_queue_above() {
    device_queue::what_sees_queues(on_both);
}
