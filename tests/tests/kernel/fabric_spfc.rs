//! SPFC, on the real kernel and as in memory. Needs root.

use tests::fabric::{on_both, spfc};

#[test]
fn a_burst_does_not_pause_the_victims_of_it() {
    spfc::victims_are_spared(on_both);
}

#[test]
fn without_spfc_no_port_has_a_state() {
    spfc::others_have_no_states(on_both);
}

#[test]
fn a_victim_that_pauses_is_normal_until_it_resumes() {
    spfc::victims_that_pause(on_both);
}

#[test]
fn states_of_ports_under_dsh() {
    spfc::beside_dsh(on_both);
}

#[test]
fn a_watchdogs_drops_make_a_victim_again() {
    spfc::a_storm_at_a_victims_receiver(on_both);
}

#[test]
fn equal_shares_are_those_of_each_switch() {
    spfc::equal_shares(on_both);
}

#[test]
fn ports_of_unequal_rate_have_each_their_counting_number() {
    spfc::ports_of_unequal_rate(on_both);
}

#[test]
fn thresholds_are_sampled_where_it_is_asked_for() {
    spfc::thresholds_are_sampled(on_both);
}

#[test]
fn an_end_of_a_period_in_silence_is_sampled_at_its_instant() {
    spfc::an_end_of_a_period_in_silence_is_sampled(on_both);
}
