//! Throughput, pause time, occupancy and completion times by size, in memory.

use tests::fabric::{in_memory, measures};

#[test]
fn pauses_that_are_lost_stop_nobody() {
    measures::pauses_that_are_lost_stop_nobody(in_memory);
}
