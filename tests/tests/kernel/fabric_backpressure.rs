//! BFC, on the real kernel and as in memory. Needs root.

use tests::fabric::{backpressure, backpressure_variants, on_both, pause_threshold};

#[test]
fn a_flow_does_not_wait_for_paused_ones() {
    backpressure::no_head_of_line_blocking(on_both);
}

#[test]
fn pauses_tell_what_they_hold() {
    backpressure::pauses_tell_what_they_hold(on_both);
}

#[test]
fn pauses_hold_nothing_that_is_sent() {
    backpressure::pauses_hold_nothing_that_is_sent(on_both);
}

#[test]
fn bfc_over_pfc_and_over_a_small_buffer() {
    backpressure::over_pfc_and_over_a_small_buffer(on_both);
}

#[test]
fn two_priorities_with_fewer_queues_than_flows() {
    backpressure::two_priorities_and_collisions(on_both);
}

#[test]
fn nics_that_obey_no_pauses_of_queues() {
    backpressure::nics_that_obey_nothing(on_both);
}

#[test]
fn shortest_remaining_flow_first() {
    backpressure_variants::shortest_remaining_first(on_both);
}

#[test]
fn strict_classes_with_queues_of_their_own() {
    backpressure_variants::strict_classes(on_both);
}

#[test]
fn labelled_incasts_have_one_queue() {
    backpressure_variants::labelled_incasts(on_both);
}

#[test]
fn half_of_the_departures_are_counted() {
    backpressure_variants::sampled_departures(on_both);
}

#[test]
fn end_to_end_control_beside_bfc() {
    backpressure_variants::end_to_end_control(on_both);
}

#[test]
fn a_ring_deadlocks_unless_it_is_prevented() {
    backpressure::a_ring_deadlocks_unless_it_is_prevented(on_both);
}

#[test]
fn prevention_changes_nothing_in_a_whole_clos() {
    backpressure::prevention_changes_nothing_in_a_whole_clos(on_both);
}

#[test]
fn pauses_leave_a_bottleneck_idle_as_long_as_their_threshold_says() {
    pause_threshold::idle_time(on_both);
}
