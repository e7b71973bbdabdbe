//! Explanations of slow flows, in memory.

use tests::fabric::{Run, explain, in_memory, in_memory_on};

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

#[test]
fn drops_of_an_instant_are_in_one_order() {
    let alone = in_memory(explain::DROPS, &[]);
    assert!(alone.summary.drops.lost() > 1000, "{:?}", alone.summary.drops);
    for run in [in_memory_on::<2>, in_memory_on::<3>] {
        run(explain::DROPS, &[]).assert_same_as(&alone);
    }
    let often = in_memory(explain::DROPS, &["results.queue_period=1us"]);
    let log =
        |run: &Run| std::fs::read(run.folder().join("wire_log.bin")).expect("it is asked for");
    assert!(log(&often) == log(&alone), "samples change the log");
}
