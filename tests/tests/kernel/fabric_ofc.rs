//! OFC, on both datapaths.

use tests::fabric::{ofc, on_both};

#[test]
fn a_flow_passes_paused_ones() {
    ofc::a_flow_passes_paused_ones(on_both);
}

#[test]
fn more_flows_than_entries() {
    ofc::more_flows_than_entries(on_both);
}

#[test]
fn ofc_beside_other_priorities() {
    ofc::beside_other_priorities(on_both);
}

#[test]
fn measures_tell_congested_flows_apart() {
    ofc::measures_tell_congested_flows_apart(on_both);
}
