//! Why a flow was slow, in memory.

use tests::fabric::{explain, in_memory};

#[test]
fn incast() {
    explain::incast(in_memory);
}

#[test]
fn victim() {
    explain::victim(in_memory);
}

#[test]
fn storm() {
    explain::storm(in_memory);
}

#[test]
fn collision() {
    explain::collision(in_memory);
}

#[test]
fn slow_sender() {
    explain::slow_sender(in_memory);
}

#[test]
fn loss() {
    explain::loss(in_memory);
}

#[test]
fn short_headroom() {
    explain::short_headroom(in_memory);
}

#[test]
fn deadlock() {
    explain::deadlock(in_memory);
}

#[test]
fn dropped_by_a_watchdog() {
    explain::dropped_by_a_watchdog(in_memory);
}

#[test]
fn slow_wire() {
    explain::slow_wire(in_memory);
}

#[test]
fn one_queue() {
    explain::one_queue(in_memory);
}

#[test]
fn nothing_sent() {
    explain::nothing_sent(in_memory);
}
