//! Deadlocks of paused queues, in memory.

use tests::fabric::{deadlock, in_memory, joint_deadlock};

#[test]
fn the_deadlock_of_figure_16() {
    deadlock::figure_16(in_memory);
}

#[test]
fn a_deadlock_under_dsh() {
    deadlock::under_dsh(in_memory);
}

#[test]
fn a_deadlock_of_ports() {
    deadlock::of_ports(in_memory);
}

#[test]
fn a_deadlock_of_insurance_that_stays() {
    deadlock::insurance_that_stays(in_memory);
}

#[test]
fn pauses_without_a_circle_are_none() {
    deadlock::pauses_without_a_circle(in_memory);
}

#[test]
fn a_circle_that_dissolves_is_none() {
    deadlock::a_passing_circle(in_memory);
}

#[test]
fn a_deadlock_whose_pauses_run_out_dissolves() {
    deadlock::a_deadlock_without_refreshes(in_memory);
}

#[test]
fn a_refresh_ends_a_pause_that_no_departure_does() {
    deadlock::a_queue_is_tested_when_its_pause_is_renewed(in_memory);
}

#[test]
fn circles_of_short_pauses_are_found_once() {
    deadlock::circles_of_short_pauses(in_memory);
}

#[test]
fn queues_and_classes() {
    joint_deadlock::queues_and_classes(in_memory);
}

#[test]
fn a_ring_with_long_links() {
    joint_deadlock::a_ring_with_long_links(in_memory);
}
