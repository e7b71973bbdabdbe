//! Headroom schemes on the real kernel, as in memory. Needs root.

use tests::fabric::burst::Burst;
use tests::fabric::{link_delay, on_both, schemes};

/// Bursts for which both datapaths must give equal results, under each scheme.
const BURSTS: usize = 6;

#[test]
fn a_queue_that_every_packet_pauses_and_resumes_loses_nothing() {
    schemes::flapping(on_both);
}

#[test]
fn a_port_is_paused_and_resumed_by_its_queues() {
    schemes::two_levels(on_both);
}

#[test]
fn port_level_pauses_are_refreshed() {
    schemes::refreshed(on_both);
}

#[test]
fn stale_thresholds_of_dsh() {
    schemes::stale(on_both);
}

#[test]
fn without_shared_headroom() {
    schemes::without_shared_headroom(on_both);
}

#[test]
fn dsh_without_insurance_loses() {
    schemes::without_insurance(on_both);
}

#[test]
fn oversubscribed_headroom_loses() {
    schemes::oversubscribed(on_both);
}

#[test]
fn headroom_divided_by_the_queues_of_a_port_may_be_enough() {
    schemes::oversubscribed_by_queues(on_both);
}

#[test]
fn an_exchange_is_as_computed_by_hand() {
    link_delay::by_hand(on_both);
}

#[test]
fn a_busy_port_is_not_a_longer_link() {
    link_delay::under_load(on_both);
}

#[test]
fn a_lost_frame_costs_a_measurement() {
    link_delay::lost_frames(on_both);
}

#[test]
fn a_link_that_does_not_answer_gets_what_was_configured() {
    link_delay::link_that_does_not_answer(on_both);
}

#[test]
fn bursts_run_as_in_memory() {
    let mut seeds = 0..;
    for headroom in [
        "kind = \"dsh\", estimation = \"practical\"",
        "kind = \"dsh\", estimation = \"conceptual\"",
        "kind = \"adaptive\", period = \"20us\"",
    ] {
        for seed in seeds.by_ref().take(BURSTS) {
            Burst::of_seed(seed).run(on_both, headroom).assert_lossless();
        }
    }
}
