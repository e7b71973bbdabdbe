//! Deadlocks of paused queues, on the real kernel and as in memory. Needs root.

use tests::fabric::{deadlock, joint_deadlock, on_both};

#[test]
fn the_deadlock_of_figure_16() {
    deadlock::figure_16(on_both);
}

#[test]
fn a_deadlock_under_dsh() {
    deadlock::under_dsh(on_both);
}

#[test]
fn a_deadlock_of_ports() {
    deadlock::of_ports(on_both);
}

#[test]
fn a_deadlock_of_insurance_that_stays() {
    deadlock::insurance_that_stays(on_both);
}

#[test]
fn pauses_without_a_circle_are_none() {
    deadlock::pauses_without_a_circle(on_both);
}

#[test]
fn a_circle_that_dissolves_is_none() {
    deadlock::a_passing_circle(on_both);
}

#[test]
fn a_deadlock_whose_pauses_run_out_dissolves() {
    deadlock::a_deadlock_without_refreshes(on_both);
}

#[test]
fn a_refresh_ends_a_pause_that_no_departure_does() {
    deadlock::a_queue_is_tested_when_its_pause_is_renewed(on_both);
}

#[test]
fn circles_of_short_pauses_are_found_once() {
    deadlock::circles_of_short_pauses(on_both);
}

#[test]
fn queues_and_classes() {
    joint_deadlock::queues_and_classes(on_both);
}

#[test]
fn a_ring_with_long_links() {
    joint_deadlock::a_ring_with_long_links(on_both);
}
