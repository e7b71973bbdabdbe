//! Explanations of slow flows, on the real kernel and as in memory. Needs root.

use tests::fabric::{explain, on_both};

#[test]
fn incast() {
    explain::incast(on_both);
}

#[test]
fn victim() {
    explain::victim(on_both);
}

#[test]
fn storm() {
    explain::storm(on_both);
}

#[test]
fn collision() {
    explain::collision(on_both);
}

#[test]
fn slow_sender() {
    explain::slow_sender(on_both);
}

#[test]
fn loss() {
    explain::loss(on_both);
}

#[test]
fn short_headroom() {
    explain::short_headroom(on_both);
}

#[test]
fn deadlock() {
    explain::deadlock(on_both);
}

#[test]
fn dropped_by_a_watchdog() {
    explain::dropped_by_a_watchdog(on_both);
}

#[test]
fn slow_wire() {
    explain::slow_wire(on_both);
}

#[test]
fn one_queue() {
    explain::one_queue(on_both);
}

#[test]
fn nothing_sent() {
    explain::nothing_sent(on_both);
}
