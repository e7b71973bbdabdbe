//! Selective repeat under losses, on the real kernel and as in memory. Needs root.

use tests::fabric::{on_both, selective_repeat};

#[test]
fn nothing_is_lost() {
    selective_repeat::without_loss(on_both);
}

#[test]
fn a_data_packet_is_lost() {
    selective_repeat::each_data_packet_loss(on_both);
}

#[test]
fn an_ack_is_lost() {
    selective_repeat::each_ack_loss(on_both);
}

#[test]
fn a_nak_is_lost() {
    selective_repeat::each_nak_loss(on_both);
}

#[test]
fn every_nak_is_lost() {
    selective_repeat::all_naks_lost(on_both);
}

#[test]
fn the_last_packets_are_lost() {
    selective_repeat::tail_loss(on_both);
}

#[test]
fn a_data_packet_in_a_thousand_is_lost() {
    selective_repeat::random_data_loss(on_both, "0.001");
}

#[test]
fn a_data_packet_in_a_hundred_is_lost() {
    selective_repeat::random_data_loss(on_both, "0.01");
}

#[test]
fn a_data_packet_in_twenty_is_lost() {
    selective_repeat::random_data_loss(on_both, "0.05");
}

#[test]
fn a_frame_in_a_thousand_is_lost() {
    selective_repeat::random_loss(on_both, "0.001");
}

#[test]
fn a_frame_in_a_hundred_is_lost() {
    selective_repeat::random_loss(on_both, "0.01");
}

#[test]
fn a_frame_in_twenty_is_lost() {
    selective_repeat::random_loss(on_both, "0.05");
}
