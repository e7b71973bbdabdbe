//! TCP over fabrics, in memory.

use tests::fabric::{in_memory, tcp};

#[test]
fn nothing_is_lost() {
    tcp::without_loss(in_memory);
}

#[test]
fn the_first_round_trip_is_marked() {
    tcp::first_round_trip(in_memory);
}

#[test]
fn a_segment_is_lost() {
    tcp::each_segment_loss(in_memory);
}

#[test]
fn an_ack_is_lost() {
    tcp::each_ack_loss(in_memory);
}

#[test]
fn a_tail_is_lost() {
    tcp::tail_loss(in_memory);
}

#[test]
fn frames_are_lost_at_random() {
    for rate in ["0.001", "0.01", "0.05"] {
        tcp::random_loss(in_memory, rate);
    }
}

#[test]
fn a_lossy_class_beside_a_lossless_one() {
    tcp::beside_roce(in_memory);
}

#[test]
fn marks_slow_a_sender_down() {
    tcp::marks(in_memory);
}

#[test]
fn segments_bring_stamps_and_acks_return_them() {
    tcp::telemetry(in_memory);
}
