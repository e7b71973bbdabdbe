//! OFC, on both datapaths.

use tests::fabric::{lost_resumes, ofc, on_both};

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

#[test]
fn a_lost_resume_is_named() {
    lost_resumes::a_lost_resume_is_named(on_both);
}

#[test]
fn a_link_that_goes_down_ends_pauses() {
    lost_resumes::a_link_that_goes_down_ends_pauses(on_both);
}

#[test]
fn pauses_of_flows_have_rows() {
    lost_resumes::pauses_of_flows_have_rows(on_both);
}
