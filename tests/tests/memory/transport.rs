//! Go-back-N under losses and DCQCN at a bottleneck, in memory.

use tests::fabric::{congestion, in_memory};

#[test]
fn hpcc_is_fair_where_windows_are_less_than_a_packet() {
    congestion::windows_below_a_packet_are_fair(in_memory);
}
