//! Rings in which packets wait for each other, in memory.

use tests::fabric::{in_memory, rings, summarised};

#[test]
fn flows_of_two_links() {
    rings::flows_of_two_links(in_memory);
}

#[test]
fn flows_of_three_links() {
    rings::flows_of_three_links(in_memory);
}

#[test]
fn a_lost_resume_is_no_deadlock() {
    rings::a_lost_resume(in_memory);
}

#[test]
fn lost_frames_and_repeated_pauses() {
    rings::lost_frames_and_repeated_pauses(in_memory, 1..6);
}

#[test]
fn rates_in_a_ring() {
    rings::rates(in_memory);
}

#[test]
fn rings_at_random() {
    rings::rings_at_random(summarised);
}
