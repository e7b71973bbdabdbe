//! In-band telemetry on the real kernel, and as in memory. Needs root.

use tests::fabric::dissection::{EVERY_KIND, assert_tshark_agrees, opcodes, scapy_icrcs};
use tests::fabric::{Run, in_kernel, in_kernel_on, in_memory, on_both, shapes, telemetry};

const ROOM: &str = "host.telemetry_hops=5";

fn stamped_in_memory(text: &str, overrides: &[&str]) -> Run {
    in_memory(text, &[overrides, &[ROOM]].concat())
}

fn stamped<const THREADS: usize>(text: &str, overrides: &[&str]) -> Run {
    in_kernel_on::<THREADS>(text, &[overrides, &[ROOM]].concat())
}

#[test]
fn losses_and_long_packets_run_as_in_memory() {
    telemetry::losses_and_long_packets(on_both);
}

#[test]
fn threads_change_nothing() {
    let memory = shapes::turmoil(stamped_in_memory, 4);
    for run in [stamped::<1>, stamped::<2>, stamped::<3>, stamped::<7>] {
        shapes::turmoil(run, 4).assert_same_as(&memory);
    }
}

#[test]
fn icrcs_are_those_of_scapy_and_tshark_finds_no_fault() {
    let run = in_kernel(EVERY_KIND, &[ROOM]);
    run.assert_sound();
    assert_tshark_agrees(&run);
    assert_eq!(scapy_icrcs(&run.capture_path()), Ok(opcodes(&run)));
}
