//! The PFC family, in memory.

use tests::fabric::{in_memory, pfc_family};

#[test]
fn an_ack_keeps_the_gap_of_its_priority() {
    pfc_family::acks_keep_the_gaps_of_their_priority(in_memory);
}
