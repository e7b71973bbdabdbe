//! PFC storms and the watchdog, on the real kernel and as in memory. Needs root.

use tests::fabric::{in_kernel_on, in_memory, storm};

#[test]
fn storms_are_the_same_on_two_threads() {
    let one = in_memory(&storm::scenario(), &[]);
    in_kernel_on::<2>(&storm::scenario(), &[]).assert_same_as(&one);
}
