//! Rings in which packets wait for each other, on both datapaths.

use tests::fabric::{on_both, rings};

#[test]
fn lost_frames_and_repeated_pauses() {
    rings::lost_frames_and_repeated_pauses(on_both, 2..3);
}
