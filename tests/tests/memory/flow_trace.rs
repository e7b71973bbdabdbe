//! Traces of flows, in memory.

use tests::fabric::{flow_trace, in_memory, in_memory_on};

#[test]
fn dcqcn() {
    flow_trace::dcqcn_cuts_by_half_of_alpha(in_memory);
}

#[test]
fn dctcp() {
    flow_trace::dctcp_cuts_by_half_of_alpha(in_memory);
}

#[test]
fn a_trace_changes_nothing() {
    flow_trace::a_trace_changes_nothing(in_memory);
    flow_trace::a_trace_changes_nothing(in_memory_on::<2>);
}

#[test]
fn a_trace_has_a_bound() {
    flow_trace::a_trace_has_a_bound(in_memory);
}
