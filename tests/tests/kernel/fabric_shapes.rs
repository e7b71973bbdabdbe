//! Fabrics and settings out of the ordinary, on the real kernel and as in memory. Needs root.

use tests::fabric::{on_both, shapes};

#[test]
fn a_custom_topology_and_a_flow_list() {
    shapes::custom_topology_and_flow_list(on_both);
}

#[test]
fn a_star_of_256_ports() {
    shapes::star_of_256_ports(on_both);
}

#[test]
fn an_incast_of_16() {
    shapes::incast_of_16(on_both);
}

#[test]
fn a_run_ends_with_its_duration() {
    shapes::ended_by_its_duration(on_both);
}

#[test]
fn an_unfinished_run_is_not_sound() {
    shapes::unfinished(on_both);
}

#[test]
fn extreme_settings() {
    shapes::extreme_settings(on_both);
}
