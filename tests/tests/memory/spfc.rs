//! SPFC, in memory.

use tests::fabric::{in_memory, in_memory_on, spfc};

#[test]
fn states_are_the_same_on_three_threads() {
    let one = in_memory(&spfc::scenario(), &[]);
    in_memory_on::<3>(&spfc::scenario(), &[]).assert_same_as(&one);
}
