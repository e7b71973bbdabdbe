//! BFC, in memory.

use tests::fabric::{backpressure, in_memory};

#[test]
fn any_lost_pause_resume_or_bitmap_is_made_up_for() {
    backpressure::any_lost_frame_is_made_up_for(in_memory);
}

#[test]
fn random_losses_of_pauses_are_made_up_for() {
    backpressure::random_losses_are_made_up_for(in_memory);
}
