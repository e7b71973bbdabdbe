//! Throughput, pause time, occupancy and completion times by size, in memory.

use tests::fabric::{in_memory, measures};

#[test]
fn throughput() {
    measures::throughput_is_what_arrived(in_memory);
}

#[test]
fn pause_time() {
    measures::pause_time_is_what_senders_received(in_memory);
}

#[test]
fn pauses_that_are_lost_stop_nobody() {
    measures::pauses_that_are_lost_stop_nobody(in_memory);
}

#[test]
fn occupancy() {
    measures::occupancy_is_how_long_packets_stayed(in_memory);
}

#[test]
fn link_bytes_are_what_switches_sent() {
    measures::link_bytes_are_what_switches_sent(in_memory);
}

#[test]
fn links_carry_what_arrived() {
    measures::links_carry_what_arrived(in_memory);
}

#[test]
fn completion_times_by_size() {
    measures::sizes_group_the_flows(in_memory);
}

#[test]
fn samples() {
    measures::samples_are_changes(in_memory);
}
