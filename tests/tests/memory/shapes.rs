//! Fabrics and settings out of the ordinary, in memory.

use tests::fabric::{in_memory, shapes};

#[test]
fn a_custom_topology_and_a_flow_list() {
    shapes::custom_topology_and_flow_list(in_memory);
}

#[test]
fn a_star_of_256_ports() {
    shapes::star_of_256_ports(in_memory);
}

#[test]
fn an_incast_of_16() {
    shapes::incast_of_16(in_memory);
}

#[test]
fn a_run_ends_with_its_duration() {
    shapes::ended_by_its_duration(in_memory);
}

#[test]
fn an_unfinished_run_is_not_sound() {
    shapes::unfinished(in_memory);
}

#[test]
fn extreme_settings() {
    shapes::extreme_settings(in_memory);
}

#[test]
fn much_at_once() {
    for seed in 1..=20 {
        shapes::turmoil(in_memory, seed);
    }
}
