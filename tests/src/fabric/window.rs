//! A separately reported part of a run: from the filled fabric until the traffic thins out.

use std::collections::BTreeMap;

use results::{PausedByLevel, RunEnd, Window, WindowSummary};
use units::Nanos;

use super::{Run, Runner};

/// Flows arrive all the time.
const TRAFFIC: &str = r#"
name = "window"
duration = "3ms"

[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "400Gbps", delay = "1us" }

[switch]
buffer = "600kB"

[host.transport]
kind = "roce-rc"
congestion_control = "none"

[[flows]]
kind = "poisson-incast"
label = "fan-in"
load = 0.5
degree = 3
bytes = "30kB"

[[flows]]
kind = "poisson-incast"
label = "background"
load = 0.2
degree = 1
bytes = "10kB"
"#;

const WINDOW: Window = Window { from: Nanos(200_000), to: Nanos(400_000) };
const SETTINGS: [&str; 3] = ["results.from=200us", "results.to=400us", "stop=window"];

fn summary(run: &Run) -> &WindowSummary {
    run.summary.window.as_ref().expect("the scenario asks for one")
}

/// The flows that start in the window, and only these, are done when the run stops: traffic goes on around the last.
pub fn a_run_ends_with_the_flows_of_its_window(run: Runner) {
    let run = run(TRAFFIC, &SETTINGS);
    run.assert_sound();
    assert_eq!((run.summary.ended, summary(&run).from_ns), (RunEnd::Window, WINDOW.from.0));
    assert!((WINDOW.to.0..1_000_000).contains(&run.summary.emulated_ns));
    assert!(run.summary.flows_completed < run.summary.flows_total, "others are under way");
    let flows = run.flows();
    let mut of_label: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut last = 0;
    for row in flows.rows() {
        let start = row.number("start_ns");
        if WINDOW.contains(Nanos(start)) {
            let fct = row.number("fct_ns");
            last = last.max(start + fct);
            of_label.entry(row.text("label")).or_default().push(fct);
        }
    }
    // Windows of the engine are as long as a hop takes.
    assert!((last.max(WINDOW.to.0)..last + 2000).contains(&run.summary.emulated_ns));
    let mean = |times: &[u64]| (times.iter().sum::<u64>() * 2 / times.len() as u64).div_ceil(2);
    let labels = &summary(&run).labels;
    assert_eq!((labels.len(), of_label.len()), (2, 2));
    for (label, times) in &of_label {
        let found = &labels[*label];
        let count = times.len() as u64;
        assert!(count > 20, "{label}");
        assert_eq!((found.flows, found.completed), (count, count), "{label}");
        assert_eq!(found.fct_ns.map(|fct| fct.mean), Some(mean(times)), "{label}");
    }
    let all: u64 = of_label.values().map(|times| times.len() as u64).sum();
    assert_eq!((summary(&run).flows.flows, summary(&run).flows.completed), (all, all));
}

/// Pauses count for their time in the window, by `pauses.csv`. Under DSH ports pause, too.
pub fn pauses_count_while_they_last_in_the_window(run: Runner) {
    for headroom in ["sih", "dsh"] {
        let headroom = format!("switch.headroom={{ kind = \"{headroom}\" }}");
        let settings = [&SETTINGS[..], &[&headroom, "switch.lossless=[3, 4]"]].concat();
        let run = run(TRAFFIC, &settings);
        let whole = Window { from: Nanos(0), to: Nanos(run.summary.emulated_ns) };
        for (window, found) in [
            (whole, run.summary.pause_ordered_by_level),
            (WINDOW, summary(&run).pause_ordered_by_level),
        ] {
            let expected = ordered(&run, window);
            assert_ne!(expected.queue_ns, 0, "{headroom}");
            assert_eq!(found, expected, "{headroom}");
        }
        let by_level = run.summary.pause_ordered_by_level;
        assert_eq!(by_level.sum_ns(), run.summary.pause_ordered_ns);
        let in_window = summary(&run);
        assert_eq!(in_window.pause_ordered_by_level.sum_ns(), in_window.pause_ordered_ns);
        assert!(in_window.paused_ns > 0 && in_window.paused_ns < run.summary.paused_ns);
        let of_ports = headroom.contains("dsh") && by_level.port_ns > 0;
        assert_eq!(of_ports, headroom.contains("dsh"), "{by_level:?}");
    }
}

/// Time between rows of `pauses.csv`, by the level of the first of them.
fn ordered(run: &Run, window: Window) -> PausedByLevel {
    let mut since: BTreeMap<(String, u64, u64), (u64, bool)> = BTreeMap::new();
    let mut sum = PausedByLevel::default();
    let mut add = |(start, by_port): (u64, bool), end: u64| {
        let Nanos(span) = window.overlap(Nanos(start), Nanos(end));
        *(if by_port { &mut sum.port_ns } else { &mut sum.queue_ns }) += span;
    };
    for row in run.pauses().rows() {
        let key = (row.text("node").to_owned(), row.number("port"), row.number("priority"));
        let now = row.number("time_ns");
        if let Some(before) = since.remove(&key) {
            add(before, now);
        }
        if row.text("event") != "xon" {
            since.insert(key, (now, row.text("level") == "port"));
        }
    }
    for before in since.into_values() {
        add(before, run.summary.emulated_ns);
    }
    sum
}

/// Without `stop` the run goes on, and its numbers for the window are the same.
pub fn a_window_does_not_depend_on_what_comes_after(run: Runner) {
    let stopped = run(TRAFFIC, &SETTINGS);
    let whole = run(TRAFFIC, &SETTINGS[..2]);
    assert!(whole.summary.emulated_ns > stopped.summary.emulated_ns);
    assert_eq!(summary(&whole), summary(&stopped));
    assert_eq!(run(TRAFFIC, &[]).summary.window, None);
}

/// A window without flows is a mistake where the run is to last for them.
pub fn a_window_without_flows_is_not_what_was_asked_for(run: Runner) {
    let early = ["results.from=0us", "results.to=1ns", "stop=window"];
    let run = run(TRAFFIC, &early);
    assert!(!run.is_sound());
    let why = "no flow started in the window from 0 to 1 ns, for which the run was to last";
    assert_eq!(run.summary.unfinished.as_deref(), Some(why));
}
