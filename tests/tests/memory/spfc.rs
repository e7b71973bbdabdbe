//! SPFC, in memory.

use tests::fabric::{in_memory, in_memory_on, spfc};

#[test]
fn a_burst_does_not_pause_the_victims_of_it() {
    spfc::victims_are_spared(in_memory);
}

#[test]
fn without_spfc_no_port_has_a_state() {
    spfc::others_have_no_states(in_memory);
}

#[test]
fn a_victim_that_pauses_is_normal_until_it_resumes() {
    spfc::victims_that_pause(in_memory);
}

#[test]
fn states_of_ports_under_dsh() {
    spfc::beside_dsh(in_memory);
}

#[test]
fn a_watchdogs_drops_make_a_victim_again() {
    spfc::a_storm_at_a_victims_receiver(in_memory);
}

#[test]
fn equal_shares_are_those_of_each_switch() {
    spfc::equal_shares(in_memory);
}

#[test]
fn ports_of_unequal_rate_have_each_their_counting_number() {
    spfc::ports_of_unequal_rate(in_memory);
}

#[test]
fn thresholds_are_sampled_where_it_is_asked_for() {
    spfc::thresholds_are_sampled(in_memory);
}

#[test]
fn an_end_of_a_period_in_silence_is_sampled_at_its_instant() {
    spfc::an_end_of_a_period_in_silence_is_sampled(in_memory);
}

#[test]
fn states_are_the_same_on_three_threads() {
    let one = in_memory(&spfc::scenario(), &[]);
    in_memory_on::<3>(&spfc::scenario(), &[]).assert_same_as(&one);
}
