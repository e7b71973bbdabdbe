//! The PFC family, in memory.

use tests::fabric::{in_memory, pfc_family};

#[test]
fn a_rule_pauses_at_its_own_threshold() {
    pfc_family::rules_pause_at_their_own_threshold(in_memory);
}

#[test]
fn an_egress_queue_decides() {
    pfc_family::the_egress_queue_decides(in_memory);
}

#[test]
fn a_prediction_comes_early() {
    pfc_family::predictions_come_early(in_memory);
}

#[test]
fn a_low_priority_pauses_first() {
    pfc_family::low_priorities_pause_first(in_memory);
}

#[test]
fn gfc_slows_down_instead_of_pausing() {
    pfc_family::rates_instead_of_pauses(in_memory);
}

#[test]
fn a_switch_obeys_a_rate() {
    pfc_family::switches_obey_rates(in_memory);
}

#[test]
fn an_old_slope_holds_nobody_back() {
    pfc_family::old_slopes_hold_nobody_back(in_memory);
}

#[test]
fn a_link_that_is_faster_than_rates_is_not_slowed_for_good() {
    pfc_family::the_fastest_links_are_not_slowed_for_good(in_memory);
}

#[test]
fn an_ack_keeps_the_gap_of_its_priority() {
    pfc_family::acks_keep_the_gaps_of_their_priority(in_memory);
}
