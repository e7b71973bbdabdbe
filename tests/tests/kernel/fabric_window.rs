//! A separately reported part of a run, on the real kernel and as in memory. Needs root.

use tests::fabric::{on_both, window};

#[test]
fn a_run_ends_with_the_flows_of_its_window() {
    window::a_run_ends_with_the_flows_of_its_window(on_both);
}

#[test]
fn pauses() {
    window::pauses_count_while_they_last_in_the_window(on_both);
}

#[test]
fn a_window_does_not_depend_on_what_comes_after() {
    window::a_window_does_not_depend_on_what_comes_after(on_both);
}

#[test]
fn a_window_without_flows() {
    window::a_window_without_flows_is_not_what_was_asked_for(on_both);
}
