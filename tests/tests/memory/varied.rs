//! Drawn scenarios with settings of every kind, in memory: their tables add up, and irrelevant changes have no effect.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;
use results::RunEnd;
use scenario::Scenario;
use tests::fabric::drawn::variation::{SETTINGS, Varied, varied};
use tests::fabric::drawn::{PLAIN, scenarios};
use tests::fabric::{
    CAPTURE_ALL, Run, distributions, expected, explain, in_memory, in_memory_on, link_priorities,
    waiting,
};
use tests::generated;

const CASES: u32 = 60;
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/varied.txt");

/// Second run of a scenario, for comparison.
const FOLLOWED: [&str; 5] = [
    CAPTURE_ALL,
    "results.explain=true",
    "results.link_priorities=true",
    "results.distributions=true",
    "results.queue_period=7us",
];

/// Another run of the same scenario.
#[derive(Clone, Copy, Debug)]
enum Second {
    /// On two threads, with equal results.
    TwoThreads,
    /// On seven.
    SevenThreads,
    /// Samples are seldom, and nothing else is followed.
    Unfollowed,
    /// From the scenario that the first run resolved.
    Resolved,
    /// With twice the duration.
    Longer,
    /// Until half of the first run's time.
    Shorter,
    /// With its flows from a list; both with one label.
    Listed,
}

const SECOND: [Second; 7] = [
    Second::TwoThreads,
    Second::SevenThreads,
    Second::Unfollowed,
    Second::Resolved,
    Second::Longer,
    Second::Shorter,
    Second::Listed,
];

/// Settings of a run that is followed. Pauses are not measured beside faults that make frames late.
fn followed(settings: &[&str]) -> Vec<&'static str> {
    let is_late = settings.iter().any(|it| it.contains("\"delay\"") || it.contains("\"rate\""));
    let all = FOLLOWED.iter().chain(&waiting::MEASURED);
    all.copied().filter(|it| !is_late || !it.contains("distributions")).collect()
}

#[test]
fn tables_add_up_whatever_is_set() {
    let (dropped, paused, drained) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |met: &Cell<u32>, happened| met.set(met.get() + u32::from(happened));
    check(&(varied(), select(&SECOND)), |(varied, second)| {
        let settings = varied.settings();
        let run = varied.run(in_memory, &settings, &followed(&settings));
        assert_ended(&run);
        assert_losses(&run, &settings);
        waiting::assert_adds_up(&run);
        link_priorities::assert_adds_up(&run);
        explain::assert_adds_up(&run);
        if run.has("distributions.csv") {
            distributions::assert_pause_durations(&run);
        }
        expected::assert_own_sums(&run);
        assert_second(varied, &settings, &run, *second);
        count(&dropped, !run.summary.lossless);
        count(&paused, run.summary.pause_frames > 0);
        count(&drained, run.summary.ended == RunEnd::Drained);
    });
    let met = [dropped.get(), paused.get(), drained.get()];
    // Otherwise the draw shows nothing.
    assert!(met.iter().all(|&met| met * 5 >= generated::count(CASES)), "{met:?}");
}

fn check<T: std::fmt::Debug>(cases: &impl Strategy<Value = T>, test: impl Fn(&T)) {
    generated::check(REGRESSIONS, generated::count(CASES), cases, |case| {
        test(&case);
        Ok(())
    });
}

/// The books balance, however the run ended.
fn assert_ended(run: &Run) {
    let summary = &run.summary;
    assert_eq!(summary.books, Vec::<String>::new());
    assert_eq!(summary.drops.substrate, 0);
    match summary.ended {
        RunEnd::Drained => assert_eq!(summary.flows_completed, summary.flows_total),
        RunEnd::Deadlock => assert!(summary.deadlock.at_end),
        RunEnd::Duration => {}
        ended => panic!("nothing asked for this end: {ended:?}"),
    }
}

/// A packet is lost only where something that is set may lose it.
fn assert_losses(run: &Run, settings: &[&str]) {
    let set = |part: &str| settings.iter().any(|setting| setting.contains(part));
    let lossless = run.scenario.switch.lossless;
    // Less headroom than queues may need, or PFC that does not arrive in time.
    let is_short = ["insurance_headroom = false", "bandwidth_delays"];
    let shares_headroom = run.scenario.switch.scheme.pools_headroom();
    let may_overflow = shares_headroom || is_short.into_iter().any(set) || set("faults");
    for row in run.drops().rows() {
        let priority = row.text("priority").parse::<u8>().ok();
        let is_lossless = priority.is_some_and(|priority| lossless.contains(priority));
        let may = match row.text("class") {
            "policy" => !is_lossless || may_overflow,
            "injected" => set("faults"),
            "watchdog" => set("action = \"drop\""),
            "ignored" => priority.is_none(),
            _ => false,
        };
        assert!(may, "{row:?}");
    }
}

fn assert_second(varied: &Varied, settings: &[&str], run: &Run, second: Second) {
    let followed = followed(settings);
    let with = |more: &[&str]| varied.run(in_memory, settings, more);
    let lasting = |duration: &str| with(&[&followed[..], &[duration]].concat());
    match second {
        Second::TwoThreads => {
            varied.run(in_memory_on::<2>, settings, &followed).assert_same_as(run);
        }
        Second::SevenThreads => {
            varied.run(in_memory_on::<7>, settings, &followed).assert_same_as(run);
        }
        Second::Unfollowed => {
            let plain = with(&[]);
            for name in ["flows.csv", "pauses.csv", "pause_time.csv", "drops.csv", "links.csv"] {
                assert_eq!(plain.text(name), run.text(name), "{name}");
            }
            for name in ["queue_pauses.csv", "rates.csv", "port_states.csv", "watchdog.csv"] {
                assert_eq!(plain.has(name), run.has(name), "{name}");
                assert!(!run.has(name) || plain.text(name) == run.text(name), "{name}");
            }
        }
        Second::Resolved => {
            let resolved = run.text("scenario.resolved.toml");
            in_memory(&resolved, &[]).assert_same_as(run);
        }
        Second::Longer if run.summary.ended == RunEnd::Duration => {
            assert_prefix(run, &lasting("duration=12ms"), run.summary.emulated_ns);
        }
        Second::Longer => {
            lasting("duration=12ms").assert_same_as(run);
        }
        Second::Listed => assert_listed(varied, settings),
        Second::Shorter => {
            let half = (run.summary.emulated_ns / 2).max(100_000);
            if half < run.summary.emulated_ns {
                assert_prefix(&lasting(&format!("duration={half}ns")), run, half);
            }
        }
    }
}

/// Flows in the order of their starts are the same flows, whether the file has an entry for each or names a list.
fn assert_listed(varied: &Varied, settings: &[&str]) {
    let (text, buffer) = varied.drawn.file(PLAIN, settings);
    let settings = [settings, &[&*buffer]].concat();
    let text = text.replace("\"label1\"", "\"label0\"").replace("\"label2\"", "\"label0\"");
    let mut parts = text.split("[[flows]]\n");
    let (head, mut entries): (&str, Vec<&str>) = (parts.next().unwrap_or(""), parts.collect());
    let Some(last) = entries.pop() else { return };
    let (last, routes) = last.split_at(last.find("[[").unwrap_or(last.len()));
    entries.push(last);
    let value = |entry: &str, key: &str| -> String {
        let line = entry.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        let line = line.unwrap_or_else(|| panic!("{key} in {entry}")).trim_matches('"');
        line.trim_end_matches("ns").trim_end_matches('B').to_owned()
    };
    entries.sort_by_key(|entry| value(entry, "start").parse::<u64>().expect("nanoseconds"));
    if entries.iter().any(|entry| entry.contains("transport")) {
        return;
    }
    let sorted: Vec<String> = entries.iter().map(|entry| format!("[[flows]]\n{entry}")).collect();
    let sorted = sorted.concat();
    let rows: String = entries
        .iter()
        .map(|entry| {
            let row = ["start", "src", "dst", "bytes", "priority"].map(|key| value(entry, key));
            row.join(",") + "\n"
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder for the list");
    let file = folder.path().join("flows.csv");
    std::fs::write(&file, format!("start_ns,src,dst,bytes,priority\n{rows}")).expect("it is new");
    let entry =
        format!("[[flows]]\nkind = \"list\"\nfile = \"{}\"\nlabel = \"label0\"\n", file.display());
    let one_by_one = in_memory(&format!("{head}{sorted}{routes}"), &settings);
    in_memory(&format!("{head}{entry}{routes}"), &settings).assert_same_as(&one_by_one);
}

/// Two runs of different durations have equal rows until an instant.
fn assert_prefix(shorter: &Run, longer: &Run, until: u64) {
    for name in ["pauses.csv", "drops.csv", "queues.csv"] {
        let rows = |run: &Run| -> Vec<String> {
            let table = run.table(name);
            let rows = table.rows().iter().filter(|row| row.number("time_ns") < until);
            rows.map(|row| format!("{row:?}")).collect()
        };
        assert_eq!(rows(shorter), rows(longer), "{name}");
    }
}

/// Otherwise a setting could be refused in every drawn scenario without notice.
#[test]
fn a_drawn_scenario_can_have_each_setting() {
    let left: Cell<BTreeSet<&str>> = Cell::new(SETTINGS.into_iter().flatten().copied().collect());
    generated::check(REGRESSIONS, 200, &scenarios(), |drawn| {
        let text = drawn.text(PLAIN);
        let mut rest = left.take();
        rest.retain(|setting| {
            let settings = setting.lines().chain(["switch.buffer=1GB"]).map(str::to_owned);
            let settings: Vec<String> = settings.collect();
            Scenario::parse(&text, Path::new("varied.toml"), &settings).is_err()
        });
        left.set(rest);
        Ok(())
    });
    assert_eq!(left.take(), BTreeSet::new());
}
