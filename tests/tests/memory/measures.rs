//! Throughput, pause time, occupancy and completion times by size, in memory.

use tests::fabric::{counters, in_memory, link_priorities, measures, table_formats};

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

#[test]
fn counters_are_those_of_other_tables() {
    counters::counters_are_those_of_other_tables(in_memory);
}

#[test]
fn watermarks_are_exact() {
    counters::watermarks_are_exact(in_memory);
}

#[test]
fn marks_add_up() {
    counters::marks_add_up(in_memory);
}

#[test]
fn priorities_add_up_to_their_links() {
    link_priorities::rows_add_up_to_the_links(in_memory);
}

#[test]
fn storms_are_counted() {
    counters::storms_are_counted(in_memory);
}

#[test]
fn tables_are_left_out() {
    counters::tables_are_left_out(in_memory);
}

#[test]
fn formats_of_tables() {
    table_formats::formats_agree(in_memory);
}
