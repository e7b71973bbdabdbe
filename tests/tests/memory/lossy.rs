//! Buffer management of lossy priorities, in memory.

use tests::fabric::{in_memory, in_memory_on, lossy, waiting};

#[test]
fn thresholds_over_time_are_what_formulas_say() {
    lossy::thresholds_are_what_formulas_say(in_memory);
}

#[test]
fn lossy_packets_may_have_a_pool_of_their_own() {
    lossy::a_pool_of_their_own(in_memory);
}

#[test]
fn first_round_trips_may_have_a_larger_alpha() {
    lossy::first_round_trips(in_memory);
}

#[test]
fn queues_are_paused_by_bfc_above_a_lossy_buffer() {
    lossy::beneath_bfc(in_memory);
}

#[test]
fn threads_change_nothing() {
    lossy::a_pool_of_their_own(in_memory_on::<3>);
}

#[test]
fn packets_in_the_queue_of_another_priority_are_told() {
    waiting::packets_in_the_queue_of_another_priority(in_memory);
}
