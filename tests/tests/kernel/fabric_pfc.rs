//! PFC tests as for switches, on the real kernel and as in memory. Needs root.

use tests::fabric::worst_case::{Trigger, WorstCase, assert_sufficient_and_necessary};
use tests::fabric::{
    congestion, on_both, pause, port_rates, priorities, private_fill, refusal, switch_buffers,
};

#[test]
fn pause_is_refreshed_while_congestion_lasts() {
    pause::refreshed_while_congested(on_both);
}

#[test]
fn a_nic_obeys_within_its_response_time() {
    pause::response_time(on_both);
}

#[test]
fn quanta_expire() {
    pause::quanta_expire(on_both);
}

#[test]
fn quanta_expire_without_headroom() {
    pause::quanta_expire_without_headroom(on_both);
}

#[test]
fn a_lost_pause_is_refreshed_in_time_or_not() {
    pause::lost_pause(on_both);
}

#[test]
fn a_lost_resume_costs_time_only() {
    pause::lost_resume(on_both);
}

#[test]
fn pause_travels_through_a_fabric() {
    pause::through_a_fabric(on_both);
}

#[test]
fn pause_stops_only_its_class() {
    priorities::pause_stops_only_its_class(on_both);
}

#[test]
fn pause_stops_only_acks_of_its_class() {
    priorities::pause_stops_only_acks_of_its_class(on_both);
}

#[test]
fn a_lossy_priority_never_pauses() {
    priorities::lossy_never_pauses(on_both);
}

#[test]
fn no_lossless_class_is_no_pfc() {
    priorities::no_lossless_class(on_both);
}

#[test]
fn several_lossless_classes() {
    priorities::several_lossless(on_both);
}

#[test]
fn all_eight_classes_lossless() {
    priorities::all_eight_lossless(on_both);
}

#[test]
fn the_strict_scheduler() {
    priorities::strict_scheduler(on_both);
}

#[test]
fn the_dwrr_scheduler() {
    priorities::dwrr_scheduler(on_both);
}

#[test]
fn the_control_priority() {
    priorities::control_priority(on_both);
}

#[test]
fn periodic_thresholds() {
    congestion::periodic_thresholds(on_both);
}

#[test]
fn marked_packets_count_once() {
    congestion::marked_packets_count_once(on_both);
}

#[test]
fn packets_are_split_or_lie_in_one_pool() {
    private_fill::walked(on_both);
}

#[test]
fn a_leaf_with_less_buffer_pauses_earlier() {
    switch_buffers::a_leaf_with_less_buffer(on_both);
}

#[test]
fn ports_pause_by_the_alpha_of_their_rate() {
    port_rates::alpha(on_both);
}

#[test]
fn ports_mark_by_the_thresholds_of_their_rate() {
    port_rates::marking(on_both);
}

#[test]
fn eq_1_is_sufficient_and_necessary() {
    let trigger = Trigger::InShared;
    let case = WorstCase { gigabits: 100, delay_ns: 1000, payload: 1000, trigger };
    assert_sufficient_and_necessary(on_both, case, 4);
}

#[test]
fn switches_that_obey_at_once_break_no_pause() {
    pause::obeyed_at_once(on_both);
}

#[test]
fn a_queue_without_headroom_pauses() {
    refusal::a_queue_without_headroom_pauses(on_both);
}

#[test]
fn a_pause_is_renewed_in_time() {
    refusal::a_pause_is_renewed_in_time(on_both);
}
