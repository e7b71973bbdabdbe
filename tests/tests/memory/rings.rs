//! Rings in which packets wait for each other, in memory.

use tests::fabric::{in_memory, rings, summarised};

#[test]
fn lost_frames_and_repeated_pauses() {
    rings::lost_frames_and_repeated_pauses(in_memory, 1..6);
}

#[test]
fn rings_at_random() {
    rings::rings_at_random(summarised);
}
