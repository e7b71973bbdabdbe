//! Throughput, pause time, occupancy and completion times by size, on the real kernel and as in
//! memory. Needs root.

use tests::fabric::{counters, link_priorities, measures, on_both, table_formats};

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

#[test]
fn counters_are_those_of_other_tables() {
    counters::counters_are_those_of_other_tables(on_both);
}

#[test]
fn watermarks_are_exact() {
    counters::watermarks_are_exact(on_both);
}

#[test]
fn marks_add_up() {
    counters::marks_add_up(on_both);
}

#[test]
fn priorities_add_up_to_their_links() {
    link_priorities::rows_add_up_to_the_links(on_both);
}

#[test]
fn storms_are_counted() {
    counters::storms_are_counted(on_both);
}

#[test]
fn tables_are_left_out() {
    counters::tables_are_left_out(on_both);
}

#[test]
fn formats_of_tables() {
    table_formats::formats_agree(on_both);
}
