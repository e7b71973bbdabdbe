//! Lossless headroom schemes: on generated fabrics, settings and traffic, in memory.
//!
//! `XOFF_CASES` replaces the number of cases. A failing case is shrunk and its seed kept in
//! `proptest-regressions/`, which later runs try first.

use std::cell::Cell;

use proptest::test_runner::TestCaseError;
use tests::fabric::burst::{Burst, bursts};
use tests::fabric::{Run, Runner, in_memory, spfc, summarised};
use tests::generated;

const CASES: u32 = 300;
const REGRESSIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/headroom_schemes.txt");

fn cases() -> u32 {
    generated::count(CASES)
}

/// Runs bursts and checks that none loses a packet. Hands each run to `look`.
#[track_caller]
fn assert_never_loses(runner: Runner, headroom: &str, more: &[&str], look: impl Fn(&Run)) {
    generated::check(REGRESSIONS, cases(), &bursts(), |burst: Burst| {
        let run = burst.run_with(runner, headroom, more);
        let summary = &run.summary;
        if !summary.books.is_empty() || !summary.lossless || summary.retransmitted_packets != 0 {
            let text = burst.text();
            return Err(TestCaseError::fail(format!("{headroom}: {summary:#?}\n{text}")));
        }
        look(&run);
        Ok(())
    });
}

/// Asserts that at least one of every four bursts has this property, so that losslessness is not an accident.
#[track_caller]
fn assert_often(what: &str, met: &Cell<u32>) {
    assert!(met.get() * 4 >= cases(), "{what}: only {} bursts", met.get());
}

fn count(met: &Cell<u32>, happened: bool) {
    met.set(met.get() + u32::from(happened));
}

fn uses_headroom(run: &Run) -> bool {
    run.summary.headroom_max_bytes.values().any(|bytes| *bytes != 0)
}

#[test]
fn sih_never_loses() {
    let headroom = Cell::new(0);
    assert_never_loses(summarised, "kind = \"sih\"", &[], |run| {
        count(&headroom, uses_headroom(run));
    });
    assert_often("headroom in use", &headroom);
}

#[test]
fn dsh_never_loses() {
    let (insurance, ports, queues) = (Cell::new(0), Cell::new(0), Cell::new(0));
    assert_never_loses(in_memory, "kind = \"dsh\"", &[], |run| {
        let pauses = run.pauses();
        count(&insurance, uses_headroom(run));
        count(&ports, pauses.with("level", "port").next().is_some());
        count(&queues, pauses.with("level", "queue").next().is_some());
    });
    assert_often("insurance headroom in use", &insurance);
    assert_often("port-level pauses", &ports);
    assert_often("queue-level pauses", &queues);
}

#[test]
fn dsh_never_loses_in_its_other_forms() {
    for form in ["estimation = \"conceptual\"", "shared_headroom = false"] {
        assert_never_loses(summarised, &format!("kind = \"dsh\", {form}"), &[], |_| ());
    }
}

/// Alone, with states of queues, and beside DSH; periods are short, so that ports often change.
#[test]
#[ignore = "long"]
fn spfc_never_loses() {
    let periodic = "switch.thresholds={ period = \"3us\" }";
    let exact = "switch.thresholds=\"per-packet\"";
    for (headroom, more, thresholds) in [
        ("kind = \"sih\"", "", exact),
        ("kind = \"sih\"", "", periodic),
        ("kind = \"sih\"", ", state_of = \"queue\"", exact),
        ("kind = \"adaptive\", period = \"20us\"", "", exact),
        ("kind = \"dsh\"", "", exact),
        ("kind = \"dsh\"", "", periodic),
        ("kind = \"dsh\", shared_headroom = false", "", exact),
    ] {
        let (victims, of_victims) = (Cell::new(0), Cell::new(0));
        let spfc = format!(
            "switch.threshold={{ kind = \"spfc\", alpha = \"1/2\", period = \"4us\"{more} }}"
        );
        assert_never_loses(summarised, headroom, &[&spfc, thresholds], |run| {
            let states = run.summary.port_states.expect("ports have states");
            count(&victims, states.victims > 0);
            count(&of_victims, states.pauses_of_victims > 0);
        });
        println!("{headroom}{more}, {thresholds}: {} and {}", victims.get(), of_victims.get());
        assert_often("ports that are victims", &victims);
        assert!(
            of_victims.get() * 20 >= cases(),
            "{headroom}{more}, {thresholds}: victims that pause"
        );
    }
}

/// A host pauses its switch for longer than the watchdog waits: only the watchdog drops packets, and states follow the
/// pauses that its drops end. (A watchdog that forwards is left out: its packets may overflow the next switch.)
#[test]
#[ignore = "long"]
fn spfc_loses_only_what_a_watchdog_drops() {
    const STORM: &str = "storms=[{ host = \"h0\", at = \"2us\", for = \"60us\" }]";
    const SPFC: &str = "kind = \"spfc\", alpha = \"1/2\", period = \"4us\"";
    for (headroom, more, action) in [
        ("kind = \"sih\"", "", "drop"),
        ("kind = \"sih\"", ", state_of = \"queue\"", "drop"),
        ("kind = \"dsh\"", "", "drop"),
        ("kind = \"sih\"", "", "alert"),
        ("kind = \"dsh\"", "", "alert"),
    ] {
        let spfc = format!("switch.threshold={{ {SPFC}{more} }}");
        let watchdog = format!(
            "switch.watchdog={{ action = \"{action}\", detection_time = \"10us\", \
             restoration_time = \"10us\", poll_interval = \"2us\" }}"
        );
        let (storms, drops, resumes) = (Cell::new(0), Cell::new(0), Cell::new(0));
        generated::check(REGRESSIONS, cases() / 3, &bursts(), |burst: Burst| {
            let run = burst.run_with(in_memory, headroom, &[&spfc, &watchdog, STORM]);
            let summary = &run.summary;
            let by_reason = &summary.drops.by_reason;
            let others = by_reason.keys().filter(|reason| !reason.starts_with("watchdog")).count();
            if !summary.books.is_empty() || others != 0 || (action != "drop" && !summary.lossless) {
                let text = burst.text();
                return Err(TestCaseError::fail(format!(
                    "{headroom}, {action}: {summary:#?}\n{text}"
                )));
            }
            // In a storm a queue may pause, resume and pause again at one instant, which `assert_states` does not follow.
            spfc::assert_totals(&run);
            let storms_seen = run.table("watchdog.csv");
            count(&storms, !storms_seen.rows().is_empty());
            count(&drops, !by_reason.is_empty());
            let detected: Vec<u64> =
                storms_seen.rows().iter().map(|row| row.number("detected_ns")).collect();
            let pauses = run.pauses();
            let mut ended = pauses.with("event", "xon");
            count(&resumes, ended.any(|row| detected.contains(&row.number("time_ns"))));
            Ok(())
        });
        let of = format!("{headroom}{more}, {action}");
        println!("{of}: {} {} {}", storms.get(), drops.get(), resumes.get());
        assert!(storms.get() * 12 >= cases(), "{of}: {} storms", storms.get());
        assert_eq!(drops.get() > 0, action == "drop", "{of}");
        if action == "drop" {
            assert!(resumes.get() > 0, "{of}: drops that end a PAUSE");
        }
    }
}

/// With neighbours that take their time, so that as much is measured as Eq. 1 counts; with neighbours that
/// obey at once; and where more was configured than any of these links takes.
#[test]
fn adaptive_never_loses() {
    let prompt = ["host.pause_response=1ns", "switch.pause_response=1ns"];
    for (configured, more) in [("", &[][..]), ("", &prompt), (", bytes = \"700kB\"", &prompt)] {
        let (headroom, measured) = (Cell::new(0), Cell::new(0));
        let kind = format!("kind = \"adaptive\", period = \"20us\"{configured}");
        assert_never_loses(summarised, &kind, more, |run| {
            count(&headroom, uses_headroom(run));
            count(&measured, run.link_delays.is_some_and(|range| range.exchanges > 12));
        });
        assert_often("links measured", &measured);
        if more.is_empty() {
            assert_often("headroom in use", &headroom);
        }
        // What is freed is shared, and less of the rest is needed.
        assert!(headroom.get() * 20 >= cases(), "{kind}: only {} bursts", headroom.get());
    }
}
