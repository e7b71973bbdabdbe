//! Runs of HPCC's simulator, imported with its dialect: the outputs are the simulator's, line by line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use analysis::explain::Explainer;
use emulation::engine::Watch;
use emulation::run::{Threads, run};
use import::ns3::{self, Arguments, Options, Simulator};
use scenario::Scenario;
use tempfile::TempDir;

/// The run that is not sound, because switches drop lossless packets.
const DROPS: &str = "headroom-drops";

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/hpcc-ns3")
}

/// Imports a run into a folder. Returns its scenario.
fn imported(name: &str, folder: &Path, overrides: &[&str]) -> Scenario {
    let config = data().join(name).join("config.txt");
    let arguments = Arguments::default();
    let imported = ns3::import(Simulator::Hpcc, arguments, &config, "run", Options::default());
    let imported = imported.unwrap_or_else(|error| panic!("{error}"));
    let differences = &imported.remarks.differences;
    assert!(differences.is_empty(), "{name}: {differences:?}");
    for (list, text) in &imported.flow_lists {
        fs::write(folder.join(list), text).expect("the folder takes it");
    }
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let scenario = Scenario::parse(&imported.toml, &folder.join("run.toml"), &overrides);
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario, and returns the folder of its results.
fn results(scenario: &Scenario, folder: &Path, threads: &str, sound: bool) -> PathBuf {
    let results = folder.join("results");
    let interrupted = AtomicBool::new(false);
    let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
    let threads: Threads = threads.parse().expect("a number");
    let outcome = run(scenario, Some(&results), threads, &mut watch).expect("memory and disk");
    assert_eq!(outcome.is_sound(), sound, "{:?}", outcome.report.summary);
    assert_eq!(outcome.report.summary.threads, 1);
    results
}

#[test]
fn imported_runs_have_the_simulators_files() {
    let runs = fs::read_dir(data()).expect("it is there").map(|run| run.expect("it is there"));
    let runs = runs.filter(|run| run.path().is_dir());
    let runs: Vec<String> = runs.filter_map(|run| run.file_name().into_string().ok()).collect();
    assert!(runs.len() > 15, "{runs:?}");
    for name in &runs {
        let folder = TempDir::new().expect("a temporary folder");
        let scenario = imported(name, folder.path(), &[]);
        let results = results(&scenario, folder.path(), "3", name != DROPS);
        for file in ["fct.txt", "pfc.txt", "qlen.txt"] {
            let read = |folder: &Path| fs::read_to_string(folder.join(file)).expect("it is there");
            let (there, here) = (read(&data().join(name)), read(&results));
            let differs = there.lines().zip(here.lines()).find(|(there, here)| there != here);
            assert_eq!(differs, None, "{name}: {file}");
            assert_eq!(there.len(), here.len(), "{name}: {file}");
        }
    }
}

/// Other values of keys, and whether they change the simulator's times in a run.
#[test]
fn other_values_of_the_dialects_keys_change_times() {
    for (name, key, decides) in [
        ("hpcc-fat-tree", "switch.next_hops=ascending", true),
        ("hpcc-fat-tree", "switch.ecmp=five-tuple", true),
        ("hpcc-fat-tree", "host.ns3.fast_reaction=false", true),
        ("dctcp", "frames.time=whole-nanoseconds", true),
        ("acks-paused", "switch.scheme={ kind = \"pfc\" }", true),
        ("acks-paused", "host.ack_queue=0", true),
        ("dcqcn-marks-and-pauses", "numbers=seed", true),
        ("dcqcn-two-classes", "switch.reserves=queues", false),
        ("dcqcn-two-classes", "switch.scheduler={ kind = \"strict\" }", true),
        ("dctcp", "host.ns3.window_scales=false", true),
        // A seed has no effect where numbers are the simulator's.
        ("dcqcn-marks-and-pauses", "seed=77", false),
    ] {
        let folder = TempDir::new().expect("a temporary folder");
        let scenario = imported(name, folder.path(), &[key]);
        let results = results(&scenario, folder.path(), "1", true);
        let read = |folder: &Path| fs::read_to_string(folder.join("fct.txt")).expect("it is there");
        let differs = read(&data().join(name)) != read(&results);
        assert_eq!(differs, decides, "{name}: {key}");
    }
}

#[test]
fn the_resolved_scenario_has_all_keys_of_the_dialect_and_is_the_same() {
    let folder = TempDir::new().expect("a temporary folder");
    let scenario = imported("resume-at-threshold", folder.path(), &[]);
    let text = scenario.to_toml();
    for line in [
        "dialect = \"hpcc-ns3\"",
        "order = \"insertion\"",
        "numbers = \"mrg32k3a\"",
        "ecmp = \"murmur3\"",
        "pause_lasts = \"until-resume\"",
        "reserves = \"ports\"",
        "kind = \"pfc-reached\"",
        "kind = \"round-robin\"",
        "time = \"truncated-doubles\"",
        "shortest = \"1B\"",
        "[host.ns3]",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let again = Scenario::parse(&text, &folder.path().join("run.toml"), &[]);
    assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
}

/// The simulator's hash without its other rules: xoff's own hosts, events by node, several threads. Frames take the
/// paths that the scenario predicts, of data and of ACKs.
#[test]
fn the_simulators_hash_alone_chooses_the_predicted_paths_on_any_number_of_threads() {
    let text = "seed = 7\nduration = \"1ms\"\n[datapath]\nkind = \"memory\"
[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 4\nhosts_per_leaf = 4
host_link = { rate = \"100Gbps\", delay = \"1us\" }\nfabric_link = { rate = \"100Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"permutation\"\nbytes = \"9kB\"\n";
    let parse = |more: &[&str]| {
        let overrides: Vec<String> = more.iter().map(ToString::to_string).collect();
        let scenario = Scenario::parse(text, Path::new("run.toml"), &overrides);
        scenario.unwrap_or_else(|error| panic!("{error}"))
    };
    let used = |scenario: &Scenario, threads: &str| {
        let folder = TempDir::new().expect("a temporary folder");
        let interrupted = AtomicBool::new(false);
        let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
        let threads: Threads = threads.parse().expect("a number");
        let results = folder.path().join("results");
        let outcome = run(scenario, Some(&results), threads, &mut watch).expect("memory and disk");
        assert!(outcome.is_sound(), "{:?}", outcome.report.summary);
        let links = fs::read_to_string(results.join("links.csv")).expect("it is written");
        let rows = links.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
        let used = rows.filter(|row| row[4] != "0").map(|row| row[0].to_owned());
        used.collect::<BTreeSet<String>>()
    };
    let predicted = |scenario: &Scenario| -> BTreeSet<String> {
        let ways = scenario.flows().iter().map(|flow| scenario.path_of(flow));
        let wires = ways.flat_map(|(there, back)| [there, back]).flatten();
        wires.map(|wire| scenario.fabric().wire(wire).name.clone()).collect()
    };
    let mut sets = BTreeSet::new();
    for more in [
        &["switch.ecmp=murmur3"][..],
        &["switch.ecmp=murmur3", "switch.next_hops=ascending"],
        &["switch.ecmp=murmur3", "order=insertion"],
        &[],
    ] {
        let scenario = parse(more);
        let taken = used(&scenario, "1");
        assert_eq!(taken, predicted(&scenario), "{more:?}");
        assert_eq!(used(&scenario, "3"), taken, "{more:?}");
        sets.insert(taken);
    }
    assert_eq!(sets.len(), 3, "the order of events alone does not change paths");
}

/// Hosts of the simulator say since when rate and window let a packet go, so that a wait for a pause or behind another
/// flow is not congestion control's.
#[test]
fn explanations_of_imported_runs_name_what_held_a_flow() {
    let held = |name: &str, cause: &str| {
        let folder = TempDir::new().expect("a temporary folder");
        let scenario = imported(name, folder.path(), &["results.explain=true"]);
        let results = results(&scenario, folder.path(), "1", true);
        let explainer = Explainer::read(&results).unwrap_or_else(|error| panic!("{error}"));
        let flows = (0..).zip(scenario.flow_stream()).map(|(flow, _)| flow);
        let parts = flows.map(|flow| {
            let explanation = explainer.flow(flow).unwrap_or_else(|error| panic!("{error}"));
            let sum: u64 = explanation.parts.iter().map(|part| part.ps).sum();
            assert_eq!(explanation.own_ps + sum, explanation.time_ps, "{explanation:?}");
            let of_cause = explanation.parts.iter().filter(|part| part.cause == cause);
            of_cause.map(|part| part.ps).sum::<u64>()
        });
        parts.sum::<u64>()
    };
    // Without congestion control.
    assert_eq!(held("pfc-small-buffer", "paced"), 0);
    assert!(held("pfc-small-buffer", "paused") > 100_000_000, "100 us of all flows together");
    assert!(held("pfc-small-buffer", "behind-others") > 100_000_000);
    // With windows.
    assert!(held("hpcc-incast", "paced") > 100_000_000);
}

/// A lone flow takes its ideal time, whatever the simulator's arithmetic makes of its frames.
#[test]
fn a_lone_flow_takes_its_ideal_time() {
    let text = "duration = \"10ms\"\ndialect = \"hpcc-ns3\"\n[topology]\nkind = \"leaf-spine\"
leaves = 2\nspines = 1\nhosts_per_leaf = 1\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }
fabric_link = { rate = \"400Gbps\", delay = \"1us\" }
[switch]\nwire_overhead = \"0B\"\n[host]\nack_interval = 1\n[frames]\ndata_headers = \"48B\"\nack = \"60B\"
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1B\"\n";
    let ideal_of = |time: &str, payload: u32, bytes: u32| {
        let (size, payload) =
            (format!("flows.0.bytes={bytes}B"), format!("host.payload={payload}B"));
        let overrides = [size, payload, format!("frames.time={time}")];
        let scenario = Scenario::parse(text, Path::new("run.toml"), &overrides);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let folder = TempDir::new().expect("a temporary folder");
        let results = results(&scenario, folder.path(), "1", true);
        let table = fs::read_to_string(results.join("flows.csv")).expect("it is written");
        let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (names, row) = (lines.next().expect("a header"), lines.next().expect("a flow"));
        let column = |name: &str| names.iter().position(|it| *it == name).expect("it is there");
        let time = |name: &str| row[column(name)].parse::<u64>().expect("a number");
        assert_eq!(time("fct_ns"), time("ideal_ns"), "{overrides:?}");
        time("ideal_ns")
    };
    for payload in [952, 1000, 1002, 1452, 2952] {
        for bytes in [1, 127, 952, 1852, 1_000_000] {
            ideal_of("truncated-doubles", payload, bytes);
        }
    }
    // 1000 bytes on the wire take 80 ns at 100 Gbit/s, of which doubles that are cut leave 79.
    let [cut, exact] = ["truncated-doubles", "exact"].map(|time| ideal_of(time, 952, 952 * 1000));
    assert!((1000..=1100).contains(&(exact - cut)), "{exact} {cut}");
}

/// Frames that take a nanosecond less reach the next part a nanosecond earlier.
#[test]
fn times_of_a_simulator_are_the_same_on_several_threads() {
    let text = "seed = 7\nduration = \"1ms\"\n[datapath]\nkind = \"memory\"
[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 4\nhosts_per_leaf = 4
host_link = { rate = \"100Gbps\", delay = \"10ns\" }\nfabric_link = { rate = \"100Gbps\", delay = \"10ns\" }
[frames]\ntime = \"truncated-doubles\"\nack = \"100B\"
[switch]\nwire_overhead = \"0B\"
[[flows]]\nkind = \"permutation\"\nbytes = \"90kB\"\n";
    let scenario = Scenario::parse(text, Path::new("run.toml"), &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let tables = ["1", "3"].map(|threads| {
        let folder = TempDir::new().expect("a temporary folder");
        let interrupted = AtomicBool::new(false);
        let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
        let results = folder.path().join("results");
        let threads: Threads = threads.parse().expect("a number");
        let outcome = run(&scenario, Some(&results), threads, &mut watch).expect("memory and disk");
        assert!(outcome.is_sound(), "{:?}", outcome.report.summary);
        ["flows.csv", "queues.csv", "pauses.csv"]
            .map(|table| fs::read_to_string(results.join(table)).expect("it is written"))
    });
    assert_eq!(tables[0], tables[1]);
}
