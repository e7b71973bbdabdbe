//! FIFOs below egress queues, in memory.

use tests::fabric::{device_queue, in_memory};

#[test]
fn frames_keep_their_order_and_times() {
    device_queue::order(in_memory);
}

#[test]
fn marks_and_drops_see_the_queue_above() {
    device_queue::what_sees_queues(in_memory);
}
