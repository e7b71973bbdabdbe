//! In-band telemetry, in memory.

use tests::fabric::dissection::{EVERY_KIND, assert_dissected_telemetry, assert_tshark_agrees};
use tests::fabric::{CAPTURE_ALL, exactness, in_memory, in_memory_on, telemetry};
use tests::fabric::{Run, shapes};

const ROOM: &str = "host.telemetry_hops=5";

/// Runs with room for five stamps, on some threads.
fn stamped<const THREADS: usize>(text: &str, overrides: &[&str]) -> Run {
    in_memory_on::<THREADS>(text, &[overrides, &[ROOM]].concat())
}

/// Stamps move with the frames that change from thread to thread.
#[test]
fn threads_change_nothing() {
    let alone = telemetry::losses_and_long_packets(in_memory);
    for run in [in_memory_on::<2>, in_memory_on::<3>, in_memory_on::<7>] {
        telemetry::losses_and_long_packets(run).assert_same_as(&alone);
    }
    let alone = shapes::turmoil(stamped::<1>, 3);
    for run in [stamped::<2>, stamped::<3>, stamped::<7>] {
        shapes::turmoil(run, 3).assert_same_as(&alone);
    }
}

/// The ideal time counts the bytes of telemetry, and headroom does.
#[test]
fn a_flow_alone_takes_its_ideal_time() {
    for text in [exactness::star("100Gbps", "1us", 256), exactness::chain(3072, true)] {
        let run = stamped::<1>(&text, &[]);
        run.assert_lossless();
        for row in run.flows().rows() {
            assert_eq!(row.text("slowdown"), "1.0000", "{row:?}");
        }
        let plain = in_memory(&text, &[]);
        assert!(run.flows().numbers("fct_ns")[0] > plain.flows().numbers("fct_ns")[0]);
    }
}

#[test]
fn tshark_takes_packets_with_telemetry_for_what_they_are() {
    for room in 1..=8 {
        let run = in_memory(EVERY_KIND, &[&format!("host.telemetry_hops={room}")]);
        run.assert_sound();
        assert_tshark_agrees(&run);
        assert!(assert_dissected_telemetry(&run) > 1000);
    }
    let run = telemetry::losses_and_long_packets(in_memory);
    assert_tshark_agrees(&run);
    assert_dissected_telemetry(&run);
    let plain = in_memory(EVERY_KIND, &[CAPTURE_ALL]);
    assert_eq!(assert_dissected_telemetry(&plain), 0);
}
