//! Traces of flows, on the real kernel and as in memory. Needs root.

use tests::fabric::{flow_trace, on_both};

#[test]
fn dcqcn() {
    flow_trace::dcqcn_cuts_by_half_of_alpha(on_both);
}

#[test]
fn dctcp() {
    flow_trace::dctcp_cuts_by_half_of_alpha(on_both);
}

#[test]
fn a_trace_has_a_bound() {
    flow_trace::a_trace_has_a_bound(on_both);
}
