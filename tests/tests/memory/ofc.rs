//! OFC, in memory.

use tests::fabric::{in_memory, ofc};

#[test]
fn a_flow_passes_paused_ones() {
    ofc::a_flow_passes_paused_ones(in_memory);
}

#[test]
fn more_flows_than_entries() {
    ofc::more_flows_than_entries(in_memory);
}

#[test]
fn ofc_beside_other_priorities() {
    ofc::beside_other_priorities(in_memory);
}

#[test]
fn measures_tell_congested_flows_apart() {
    ofc::measures_tell_congested_flows_apart(in_memory);
}
