//! PFC storms and the watchdog, on the real kernel and as in memory. Needs root.

use tests::fabric::{in_kernel_on, in_memory, on_both, storm};

#[test]
fn a_storm_spreads_upstream_and_holds_up_victims() {
    storm::spreads_upstream(on_both);
}

#[test]
fn a_watchdog_that_drops_frees_the_victims() {
    storm::drops(on_both);
}

#[test]
fn a_watchdog_that_forwards_loses_nothing() {
    storm::forwards(on_both);
}

#[test]
fn what_is_sent_after_the_last_pause_is_not_sent_in_spite_of_one() {
    storm::forwards_in_spite_of_pauses_alone(on_both);
}

#[test]
fn a_storm_shorter_than_the_detection_time_is_a_pause() {
    storm::short_storms_are_pauses(on_both);
}

#[test]
fn what_a_stormy_neighbour_sends_is_dropped() {
    storm::drops_what_comes_from_the_storm(on_both);
}

#[test]
fn books_close_in_storms_under_every_scheme() {
    storm::books_close_under_every_scheme(on_both);
}

#[test]
fn a_storm_without_end_lasts_until_the_run_ends() {
    storm::lasts_until_the_end(on_both);
}

#[test]
fn a_watchdog_breaks_deadlocks() {
    storm::breaks_deadlocks(on_both);
}

#[test]
fn storms_are_the_same_on_two_threads() {
    let one = in_memory(&storm::scenario(), &[]);
    in_kernel_on::<2>(&storm::scenario(), &[]).assert_same_as(&one);
}
