//! Rings in which packets wait for each other, on both datapaths.

use tests::fabric::{on_both, rings};

#[test]
fn flows_of_two_links() {
    rings::flows_of_two_links(on_both);
}

#[test]
fn flows_of_three_links() {
    rings::flows_of_three_links(on_both);
}

#[test]
fn a_lost_resume_is_no_deadlock() {
    rings::a_lost_resume(on_both);
}

#[test]
fn lost_frames_and_repeated_pauses() {
    rings::lost_frames_and_repeated_pauses(on_both, 2..3);
}

#[test]
fn rates_in_a_ring() {
    rings::rates(on_both);
}
