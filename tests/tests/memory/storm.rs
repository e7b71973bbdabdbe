//! PFC storms and the watchdog, in memory.

use tests::fabric::{in_memory, in_memory_on, storm};

#[test]
fn storms_are_the_same_on_any_number_of_threads() {
    for action in ["drop", "forward"] {
        let action = format!("switch.watchdog.action={action}");
        let one = in_memory(&storm::scenario(), &[&action]);
        in_memory_on::<2>(&storm::scenario(), &[&action]).assert_same_as(&one);
        in_memory_on::<3>(&storm::scenario(), &[&action]).assert_same_as(&one);
    }
}
