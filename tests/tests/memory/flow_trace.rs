//! Traces of flows, in memory.

use tests::fabric::{flow_trace, in_memory, in_memory_on};

#[test]
fn a_trace_changes_nothing() {
    flow_trace::a_trace_changes_nothing(in_memory);
    flow_trace::a_trace_changes_nothing(in_memory_on::<2>);
}
