//! Faults on wires, in memory.

use tests::fabric::{CAPTURE_ALL, faults, in_memory, in_memory_on};

#[test]
fn threads_do_not_matter() {
    let text = faults::everything();
    let one = in_memory(&text, &[CAPTURE_ALL]);
    in_memory_on::<2>(&text, &[CAPTURE_ALL]).assert_same_as(&one);
    in_memory_on::<3>(&text, &[CAPTURE_ALL]).assert_same_as(&one);
    in_memory_on::<7>(&text, &[CAPTURE_ALL]).assert_same_as(&one);
}
