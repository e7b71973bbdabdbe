//! Measures of headroom and paused queues, in memory.

use tests::fabric::{distributions, in_memory};

#[test]
fn one_pause() {
    distributions::one_pause(in_memory);
}

#[test]
fn a_queue_that_drains() {
    distributions::a_queue_that_drains(in_memory);
}

#[test]
fn queues_of_a_port() {
    distributions::queues_of_a_port(in_memory);
}

#[test]
fn a_port() {
    distributions::a_port(in_memory);
}

#[test]
fn queues_and_those_who_do_not_ask() {
    distributions::queues_and_those_who_do_not_ask(in_memory);
}

#[test]
fn a_queue_that_others_resume_is_on() {
    distributions::a_queue_that_others_resume(in_memory);
}
