//! OFC, in memory.

use tests::fabric::{in_memory, lost_resumes, ofc};

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

#[test]
fn a_lost_resume_is_named() {
    lost_resumes::a_lost_resume_is_named(in_memory);
}

#[test]
fn a_link_that_goes_down_ends_pauses() {
    lost_resumes::a_link_that_goes_down_ends_pauses(in_memory);
}

#[test]
fn pauses_of_flows_have_rows() {
    lost_resumes::pauses_of_flows_have_rows(in_memory);
}
