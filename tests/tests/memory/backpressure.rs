//! BFC, in memory.

use tests::fabric::{backpressure, backpressure_variants, in_memory, pause_threshold};

#[test]
fn a_flow_does_not_wait_for_paused_ones() {
    backpressure::no_head_of_line_blocking(in_memory);
}

#[test]
fn pauses_tell_what_they_hold() {
    backpressure::pauses_tell_what_they_hold(in_memory);
}

#[test]
fn pauses_hold_nothing_that_is_sent() {
    backpressure::pauses_hold_nothing_that_is_sent(in_memory);
}

#[test]
fn bfc_over_pfc_and_over_a_small_buffer() {
    backpressure::over_pfc_and_over_a_small_buffer(in_memory);
}

#[test]
fn two_priorities_with_fewer_queues_than_flows() {
    backpressure::two_priorities_and_collisions(in_memory);
}

#[test]
fn nics_that_obey_no_pauses_of_queues() {
    backpressure::nics_that_obey_nothing(in_memory);
}

#[test]
fn any_lost_pause_resume_or_bitmap_is_made_up_for() {
    backpressure::any_lost_frame_is_made_up_for(in_memory);
}

#[test]
fn random_losses_of_pauses_are_made_up_for() {
    backpressure::random_losses_are_made_up_for(in_memory);
}

#[test]
fn shortest_remaining_flow_first() {
    backpressure_variants::shortest_remaining_first(in_memory);
}

#[test]
fn strict_classes_with_queues_of_their_own() {
    backpressure_variants::strict_classes(in_memory);
}

#[test]
fn labelled_incasts_have_one_queue() {
    backpressure_variants::labelled_incasts(in_memory);
}

#[test]
fn half_of_the_departures_are_counted() {
    backpressure_variants::sampled_departures(in_memory);
}

#[test]
fn end_to_end_control_beside_bfc() {
    backpressure_variants::end_to_end_control(in_memory);
}

#[test]
fn a_ring_deadlocks_unless_it_is_prevented() {
    backpressure::a_ring_deadlocks_unless_it_is_prevented(in_memory);
}

#[test]
fn prevention_changes_nothing_in_a_whole_clos() {
    backpressure::prevention_changes_nothing_in_a_whole_clos(in_memory);
}

#[test]
fn pauses_leave_a_bottleneck_idle_as_long_as_their_threshold_says() {
    pause_threshold::idle_time(in_memory);
}
