//! Measures of headroom and paused queues, on the real kernel and as in memory. Needs root.

use tests::fabric::{distributions, on_both};

#[test]
fn one_pause() {
    distributions::one_pause(on_both);
}

#[test]
fn a_queue_that_drains() {
    distributions::a_queue_that_drains(on_both);
}

#[test]
fn queues_of_a_port() {
    distributions::queues_of_a_port(on_both);
}

#[test]
fn a_port() {
    distributions::a_port(on_both);
}

#[test]
fn queues_and_those_who_do_not_ask() {
    distributions::queues_and_those_who_do_not_ask(on_both);
}
