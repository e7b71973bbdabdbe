//! Parallel links, on the real kernel and as in memory. Needs root.

use tests::fabric::{multipath, on_both};

#[test]
fn parallel_links_share_the_traffic() {
    multipath::parallel_links(on_both);
}

#[test]
fn a_flow_alone_on_one_of_parallel_links() {
    multipath::parallel_links_are_exact(on_both);
}

#[test]
fn parallel_links_are_paused_each_for_itself() {
    multipath::parallel_links_pause(on_both);
}

#[test]
fn a_fault_on_one_of_parallel_links() {
    multipath::parallel_links_fail_apart(on_both);
}

#[test]
fn a_deadlock_over_parallel_links() {
    multipath::parallel_links_deadlock(on_both);
}
