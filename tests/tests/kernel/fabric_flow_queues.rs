//! Flow queues, on the real kernel and as in memory. Needs root.

use tests::fabric::{flow_queues, on_both};

#[test]
fn a_short_flow_does_not_wait_for_long_ones() {
    flow_queues::short_flows_do_not_wait(on_both);
}

#[test]
fn a_pause_stops_all_32_queues_of_a_priority() {
    flow_queues::paused_together_32(on_both);
}

#[test]
fn a_pause_stops_all_128_queues_of_a_priority() {
    flow_queues::paused_together_128(on_both);
}

#[test]
fn two_priorities_with_flow_queues() {
    flow_queues::two_priorities(on_both);
}

#[test]
fn a_deadlock_of_flow_queues() {
    flow_queues::deadlock(on_both);
}
