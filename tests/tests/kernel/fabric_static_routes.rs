//! Static routes, on the real kernel and as in memory. Needs root.

use tests::fabric::{on_both, static_routes};

#[test]
fn asymmetric_paths() {
    static_routes::asymmetric_paths(on_both);
}

#[test]
fn asymmetric_paths_are_exact() {
    static_routes::asymmetric_paths_are_exact(on_both);
}

#[test]
fn a_deadlock_of_a_ring() {
    static_routes::deadlock_ring(on_both);
}

#[test]
fn listed_paths_and_ports() {
    static_routes::listed_paths_and_ports(on_both);
}
