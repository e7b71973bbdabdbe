//! Scenarios drawn at random, in memory: properties of every run, and of pairs of runs of the same scenario.
//!
//! `XOFF_CASES` replaces the number of cases. A failing case is shrunk and its seed kept in
//! `proptest-regressions/`, which later runs try first.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::sample::select;
use results::{RunEnd, Summary};
use tests::fabric::agreement::assert_agreement;
use tests::fabric::drawn::{
    Drawn, Headroom, PLAIN, Rendering, Shape, scenarios, whole_nanoseconds,
};
use tests::fabric::pause_obedience::assert_obeyed;
use tests::fabric::{CAPTURE_ALL, Run, Runner, explain, in_memory, in_memory_on, link_priorities};
use tests::generated;

const CASES: u32 = 60;
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/drawn.txt");

/// Settings that observe a run, and must not change it.
const OBSERVED: [&str; 8] = [
    CAPTURE_ALL,
    "results.explain=true",
    "results.occupancy=true",
    "results.link_bytes=true",
    "results.link_priorities=true",
    "results.distributions=true",
    "results.throughput={ interval = \"7us\" }",
    "results.flow_trace={ labels = [\"*\"], rows = 1000000 }",
];

fn check<T: Debug>(cases: &impl Strategy<Value = T>, test: impl Fn(&T)) {
    generated::check(REGRESSIONS, generated::count(CASES), cases, |case| {
        test(&case);
        Ok(())
    });
}

/// Reasons of drops of lossy packets.
const LOSSY: [&str; 5] =
    ["lossy-threshold", "lossy-buffer-full", "sojourn-time", "fair-drop", "codel"];

/// Asserts that nothing is lost if the scheme promises it.
fn assert_promises(drawn: &Drawn, run: &Run) {
    if drawn.is_lossless() {
        assert!(run.summary.lossless, "{:?}", run.summary.drops);
        assert_eq!(run.summary.retransmitted_packets, 0);
        return;
    }
    let expected = |reason: &str| match reason {
        "headroom-pool-exhausted" => drawn.headroom == Headroom::Oversubscribed,
        _ => drawn.loses && LOSSY.contains(&reason),
    };
    for reason in run.summary.drops.by_reason.keys() {
        assert!(expected(reason), "{reason}");
    }
}

#[test]
#[ignore = "long"]
fn tables_agree_with_each_other_and_with_the_wires() {
    let (paused, marked, deadlocked) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let queues_paused = Cell::new(0);
    let count = |met: &Cell<u32>, happened| met.set(met.get() + u32::from(happened));
    check(&scenarios(), |drawn| {
        let run = drawn.run(in_memory, PLAIN, &OBSERVED);
        assert_promises(drawn, &run);
        assert_agreement(&run);
        count(&paused, run.summary.pause_frames != 0);
        count(&marked, run.summary.ecn_marked != 0);
        count(&deadlocked, run.summary.ended == RunEnd::Deadlock);
        count(&queues_paused, run.summary.queue_pauses.is_some_and(|totals| totals.pauses != 0));
    });
    let met = [paused.get(), marked.get(), deadlocked.get(), queues_paused.get()];
    // Otherwise the draw shows nothing.
    assert!(met[0] * 3 >= generated::count(CASES), "{met:?}");
    assert!(met[1] * 6 >= generated::count(CASES), "{met:?}");
    assert!(met[2..].iter().all(|&met| met >= 1) || generated::count(CASES) < CASES, "{met:?}");
}

/// Lengths and times that frames may count, from far below their own to far above.
const FRAMES: [[&str; 4]; 4] = [
    ["data_headers=\"1B\"", "ack=\"60B\"", "hop_control=\"1B\"", "time=\"whole-nanoseconds\""],
    ["data_headers=\"48B\"", "ack=\"60B\"", "hop_control=\"43B\"", "time=\"whole-nanoseconds\""],
    ["data_headers=\"1000B\"", "ack=\"60B\"", "hop_control=\"1000B\"", "time=\"exact\""],
    ["data_headers=\"1B\"", "ack=\"1000B\"", "hop_control=\"1000B\"", "time=\"whole-nanoseconds\""],
];

#[test]
fn headroom_holds_what_frames_count() {
    let paused = Cell::new(0);
    check(&(scenarios(), select(FRAMES.to_vec()), any::<bool>()), |(drawn, frames, preamble)| {
        let mut sets = frames.map(|key| format!("frames.{key}")).to_vec();
        if !preamble {
            sets.push("switch.wire_overhead=0B".to_owned());
        }
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let run = drawn.run(in_memory, PLAIN, &sets);
        // ACKs that count more than data may come after TCP's timeout.
        assert!(run.summary.lossless || !drawn.is_lossless(), "{:?}", run.summary.drops);
        paused.set(paused.get() + u32::from(run.summary.pause_frames != 0));
    });
    assert!(paused.get() * 3 >= generated::count(CASES), "{paused:?}");
}

#[test]
#[ignore = "long"]
fn observing_changes_nothing() {
    check(&scenarios(), |drawn| {
        let plain = drawn.run(in_memory, PLAIN, &[]);
        let period = "results.queue_period=3us";
        let observed = drawn.run(in_memory, PLAIN, &[&OBSERVED[..], &[period]].concat());
        link_priorities::assert_adds_up(&observed);
        observed.assert_same_but_for(
            &plain,
            &[
                "throughput.csv",
                "flow_trace.csv",
                "queues.csv",
                "egress_queues.csv",
                "flow_queues.csv",
                "occupancy.csv",
                "distributions.csv",
                "capture.pcapng",
                "link_priorities.csv",
                "wire_log.bin",
                "summary.json",
            ],
        );
        // Bytes in switches are reported only on request, and active flows come from samples.
        let summary = |run: &Run| {
            let machine = Summary::default();
            let Summary { threads, wall_seconds, cpu_seconds, .. } = machine;
            let summary = run.summary.clone();
            let (buffer_bytes, active_flows) = (None, None);
            let (switch_buffer_bytes, link_bytes) = (BTreeMap::new(), BTreeMap::new());
            let unlike =
                Summary { buffer_bytes, switch_buffer_bytes, link_bytes, active_flows, ..summary };
            Summary { threads, wall_seconds, cpu_seconds, ..unlike }.to_json()
        };
        assert_eq!(summary(&observed), summary(&plain));
    });
}

#[test]
fn explanations_add_up_to_the_picosecond() {
    let (held, paused) = (Cell::new(0), Cell::new(0));
    check(&scenarios(), |drawn| {
        let run = drawn.run(in_memory, PLAIN, &["results.explain=true"]);
        let explained = explain::assert_adds_up(&run);
        held.set(held.get() + u32::from(explained.held > 0));
        paused.set(paused.get() + u32::from(explained.paused > 0));
    });
    // Otherwise the draw shows nothing.
    assert!(held.get() * 2 >= generated::count(CASES), "{held:?}");
    assert!(paused.get() * 4 >= generated::count(CASES), "{paused:?}");
}

/// Asserts that runs on other numbers of threads are as on one.
fn assert_threads_change_nothing(others: &[Runner]) {
    check(&scenarios(), |drawn| {
        let alone = drawn.run(in_memory, PLAIN, &OBSERVED);
        for run in others {
            drawn.run(*run, PLAIN, &OBSERVED).assert_same_as(&alone);
        }
    });
}

#[test]
#[ignore = "long"]
fn two_or_three_threads_change_nothing() {
    assert_threads_change_nothing(&[in_memory_on::<2>, in_memory_on::<3>]);
}

#[test]
#[ignore = "long"]
fn seven_threads_change_nothing() {
    assert_threads_change_nothing(&[in_memory_on::<7>]);
}

/// If a byte takes 1 to 4 ns, every instant of a run is a whole number of nanoseconds, so that nothing is rounded: all
/// times, of rates as of delays, timers and starts, may be twice as long.
#[test]
fn twice_as_slow_takes_twice_as_long() {
    const SLOWER: Rendering = Rendering { slower: 2, ..PLAIN };
    check(&whole_nanoseconds(), |drawn| {
        let run = drawn.run(in_memory, PLAIN, &[CAPTURE_ALL]);
        assert_obeyed(&run);
        let slower = drawn.run(in_memory, SLOWER, &[]);
        // The engine rechecks a deadlock after its own fixed period, which decides the end of a run that stops there.
        if run.summary.ended == RunEnd::Deadlock {
            assert_eq!(slower.summary.ended, RunEnd::Deadlock);
            let onset = |run: &Run| run.summary.deadlock.first_onset_ns.expect("it has one");
            assert_eq!(onset(&run) * 2, onset(&slower));
            return;
        }
        let own = ["confirmed_ns", "end_ns"];
        for name in ["flows.csv", "pauses.csv", "pause_time.csv", "drops.csv", "deadlocks.csv"] {
            let (rows, twice) = (run.table(name), slower.table(name));
            assert_eq!(rows.rows().len(), twice.rows().len(), "{name}");
            for (row, twice) in rows.rows().iter().zip(twice.rows()) {
                for (column, text) in row.fields().filter(|(column, _)| !own.contains(column)) {
                    if column.ends_with("_ns") && !text.is_empty() {
                        assert_eq!(row.number(column) * 2, twice.number(column), "{row:?}");
                    } else {
                        assert_eq!(text, twice.text(column), "{name}: {column} of {row:?}");
                    }
                }
            }
        }
    });
}

/// Names decide the order of some tables, and nothing else.
#[test]
fn other_names_change_nothing_but_names() {
    const RENAMED: Rendering = Rendering { renamed: true, ..PLAIN };
    let rings = (scenarios(), 3..6u32).prop_map(|(drawn, switches)| Drawn {
        shape: Shape::Ring(switches),
        ofc: None,
        ..drawn
    });
    check(&rings, |drawn| {
        let (plain, renamed) =
            (drawn.run(in_memory, PLAIN, &[]), drawn.run(in_memory, RENAMED, &[]));
        let names: Vec<(String, String)> = [("h", 10), ("s", 5), ("label", 3)]
            .into_iter()
            .flat_map(|(kind, count)| (0..count).map(move |number| (kind, number)))
            .map(|(kind, number)| (RENAMED.name(kind, number), PLAIN.name(kind, number)))
            .collect();
        for name in ["flows.csv", "fct_by_size.csv", "pauses.csv", "pause_time.csv", "drops.csv"] {
            let as_before =
                names.iter().fold(renamed.text(name), |text, (new, old)| text.replace(new, old));
            assert_eq!(sorted(&as_before), sorted(&plain.text(name)), "{name}");
        }
        assert_eq!(renamed.summary.packet_hops, plain.summary.packet_hops);
        assert_eq!(renamed.summary.emulated_ns, plain.summary.emulated_ns);
        assert_eq!(renamed.summary.deadlock, plain.summary.deadlock);
    });
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
