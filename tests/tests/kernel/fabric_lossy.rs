//! Buffer management of lossy priorities, on the real kernel and as in memory. Needs root.

use tests::fabric::{lossy, on_both, waiting};

#[test]
fn thresholds_are_what_formulas_say() {
    lossy::thresholds_are_what_formulas_say(on_both);
}

#[test]
fn a_pool_of_their_own() {
    lossy::a_pool_of_their_own(on_both);
}

#[test]
fn first_round_trips() {
    lossy::first_round_trips(on_both);
}

#[test]
fn beneath_bfc() {
    lossy::beneath_bfc(on_both);
}

#[test]
fn packets_in_the_queue_of_another_priority() {
    waiting::packets_in_the_queue_of_another_priority(on_both);
}
