//! Faults on wires, on the real kernel and as in memory. Needs root.

use tests::fabric::{CAPTURE_ALL, faults, in_kernel_on, in_memory};

#[test]
fn threads_do_not_matter() {
    let text = faults::everything();
    let memory = in_memory(&text, &[CAPTURE_ALL]);
    in_kernel_on::<3>(&text, &[CAPTURE_ALL]).assert_same_as(&memory);
}
