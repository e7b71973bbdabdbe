//! Static routes, in memory.

use tests::fabric::{in_memory, static_routes};

#[test]
fn asymmetric_paths() {
    static_routes::asymmetric_paths(in_memory);
}

#[test]
fn asymmetric_paths_are_exact() {
    static_routes::asymmetric_paths_are_exact(in_memory);
}

#[test]
fn a_deadlock_of_a_ring() {
    static_routes::deadlock_ring(in_memory);
}

#[test]
fn listed_paths_and_ports() {
    static_routes::listed_paths_and_ports(in_memory);
}
