//! Throughput, pause time, occupancy and completion times by size, on the real kernel and as in
//! memory. Needs root.

use tests::fabric::{measures, on_both};

#[test]
fn throughput() {
    measures::throughput_is_what_arrived(on_both);
}

#[test]
fn pause_time() {
    measures::pause_time_is_what_senders_received(on_both);
}

#[test]
fn occupancy() {
    measures::occupancy_is_how_long_packets_stayed(on_both);
}

#[test]
fn link_bytes_are_what_switches_sent() {
    measures::link_bytes_are_what_switches_sent(on_both);
}

#[test]
fn links_carry_what_arrived() {
    measures::links_carry_what_arrived(on_both);
}

#[test]
fn completion_times_by_size() {
    measures::sizes_group_the_flows(on_both);
}

#[test]
fn samples() {
    measures::samples_are_changes(on_both);
}
