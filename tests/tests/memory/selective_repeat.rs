//! Selective repeat under losses, in memory.

use tests::fabric::{in_memory, selective_repeat};

#[test]
fn nothing_is_lost() {
    selective_repeat::without_loss(in_memory);
}

#[test]
fn a_data_packet_is_lost() {
    selective_repeat::each_data_packet_loss(in_memory);
}

#[test]
fn an_ack_is_lost() {
    selective_repeat::each_ack_loss(in_memory);
}

#[test]
fn a_nak_is_lost() {
    selective_repeat::each_nak_loss(in_memory);
}

#[test]
fn every_nak_is_lost() {
    selective_repeat::all_naks_lost(in_memory);
}

#[test]
fn the_last_packets_are_lost() {
    selective_repeat::tail_loss(in_memory);
}

#[test]
fn a_data_packet_in_a_thousand_is_lost() {
    selective_repeat::random_data_loss(in_memory, "0.001");
}

#[test]
fn a_data_packet_in_a_hundred_is_lost() {
    selective_repeat::random_data_loss(in_memory, "0.01");
}

#[test]
fn a_data_packet_in_twenty_is_lost() {
    selective_repeat::random_data_loss(in_memory, "0.05");
}

#[test]
fn a_frame_in_a_thousand_is_lost() {
    selective_repeat::random_loss(in_memory, "0.001");
}

#[test]
fn a_frame_in_a_hundred_is_lost() {
    selective_repeat::random_loss(in_memory, "0.01");
}

#[test]
fn a_frame_in_twenty_is_lost() {
    selective_repeat::random_loss(in_memory, "0.05");
}
