//! Captures of drops.

use tests::fabric::{captured_drops, in_memory, in_memory_on};

#[test]
fn all_are_captured_with_their_reason() {
    captured_drops::all_are_captured_with_their_reason(in_memory);
    captured_drops::all_are_captured_with_their_reason(in_memory_on::<3>);
}
