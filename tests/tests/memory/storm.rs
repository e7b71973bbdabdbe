//! PFC storms and the watchdog, in memory.

use tests::fabric::{in_memory, in_memory_on, storm};

#[test]
fn a_storm_spreads_upstream_and_holds_up_victims() {
    storm::spreads_upstream(in_memory);
}

#[test]
fn a_watchdog_that_drops_frees_the_victims() {
    storm::drops(in_memory);
}

#[test]
fn a_watchdog_that_forwards_loses_nothing() {
    storm::forwards(in_memory);
}

#[test]
fn what_is_sent_after_the_last_pause_is_not_sent_in_spite_of_one() {
    storm::forwards_in_spite_of_pauses_alone(in_memory);
}

#[test]
fn a_storm_shorter_than_the_detection_time_is_a_pause() {
    storm::short_storms_are_pauses(in_memory);
}

#[test]
fn what_a_stormy_neighbour_sends_is_dropped() {
    storm::drops_what_comes_from_the_storm(in_memory);
}

#[test]
fn books_close_in_storms_under_every_scheme() {
    storm::books_close_under_every_scheme(in_memory);
}

#[test]
fn a_storm_without_end_lasts_until_the_run_ends() {
    storm::lasts_until_the_end(in_memory);
}

#[test]
fn a_watchdog_breaks_deadlocks() {
    storm::breaks_deadlocks(in_memory);
}

#[test]
fn storms_are_the_same_on_any_number_of_threads() {
    for action in ["drop", "forward"] {
        let action = format!("switch.watchdog.action={action}");
        let one = in_memory(&storm::scenario(), &[&action]);
        in_memory_on::<2>(&storm::scenario(), &[&action]).assert_same_as(&one);
        in_memory_on::<3>(&storm::scenario(), &[&action]).assert_same_as(&one);
    }
}
