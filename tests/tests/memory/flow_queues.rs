//! Flow queues, in memory.

use tests::fabric::{flow_queues, in_memory};

#[test]
fn a_short_flow_does_not_wait_for_long_ones() {
    flow_queues::short_flows_do_not_wait(in_memory);
}

#[test]
fn a_pause_stops_all_32_queues_of_a_priority() {
    flow_queues::paused_together_32(in_memory);
}

#[test]
fn a_pause_stops_all_128_queues_of_a_priority() {
    flow_queues::paused_together_128(in_memory);
}

#[test]
fn two_priorities_with_flow_queues() {
    flow_queues::two_priorities(in_memory);
}

#[test]
fn a_deadlock_of_flow_queues() {
    flow_queues::deadlock(in_memory);
}
