//! Groups of equal-cost ports, in memory.

use tests::fabric::{in_memory, multipath};

#[test]
fn a_group_of_236_ports() {
    multipath::wide_group(in_memory);
}

#[test]
fn parallel_links_share_the_traffic() {
    multipath::parallel_links(in_memory);
}

#[test]
fn a_flow_alone_on_one_of_parallel_links() {
    multipath::parallel_links_are_exact(in_memory);
}

#[test]
fn parallel_links_are_paused_each_for_itself() {
    multipath::parallel_links_pause(in_memory);
}

#[test]
fn a_fault_on_one_of_parallel_links() {
    multipath::parallel_links_fail_apart(in_memory);
}

#[test]
fn a_deadlock_over_parallel_links() {
    multipath::parallel_links_deadlock(in_memory);
}
