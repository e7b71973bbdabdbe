//! Groups of equal-cost ports, in memory.

use tests::fabric::{in_memory, multipath};

#[test]
fn a_group_of_236_ports() {
    multipath::wide_group(in_memory);
}
