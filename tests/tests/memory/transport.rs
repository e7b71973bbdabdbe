//! Go-back-N under losses and DCQCN at a bottleneck, in memory.

use tests::fabric::{congestion, go_back_n, in_memory};

#[test]
fn a_data_packet_is_lost() {
    go_back_n::single_data_loss(in_memory);
}

#[test]
fn the_last_packet_is_lost() {
    go_back_n::last_packet_loss(in_memory);
}

#[test]
fn an_ack_is_lost() {
    go_back_n::single_ack_loss(in_memory);
}

#[test]
fn a_nak_is_lost() {
    go_back_n::nak_loss(in_memory);
}

#[test]
fn a_cnp_is_lost() {
    go_back_n::cnp_loss(in_memory);
}

#[test]
fn a_frame_in_a_thousand_is_lost() {
    go_back_n::random_loss(in_memory, "0.001");
}

#[test]
fn a_frame_in_a_hundred_is_lost() {
    go_back_n::random_loss(in_memory, "0.01");
}

#[test]
fn every_packet_is_lost() {
    go_back_n::total_loss(in_memory);
}

#[test]
fn dcqcn_is_fair_with_the_hpcc_profile() {
    congestion::hpcc_profile_is_fair(in_memory);
}

#[test]
fn dcqcn_is_fair_with_the_papers_profile() {
    congestion::paper_profile_is_fair(in_memory);
}

#[test]
fn hpcc_is_fair_where_windows_are_less_than_a_packet() {
    congestion::windows_below_a_packet_are_fair(in_memory);
}
