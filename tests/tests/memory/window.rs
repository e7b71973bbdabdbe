//! A separately reported part of a run, in memory.

use tests::fabric::{in_memory, window};

#[test]
fn a_run_ends_with_the_flows_of_its_window() {
    window::a_run_ends_with_the_flows_of_its_window(in_memory);
}

#[test]
fn pauses() {
    window::pauses_count_while_they_last_in_the_window(in_memory);
}

#[test]
fn a_window_does_not_depend_on_what_comes_after() {
    window::a_window_does_not_depend_on_what_comes_after(in_memory);
}

#[test]
fn a_window_without_flows() {
    window::a_window_without_flows_is_not_what_was_asked_for(in_memory);
}
