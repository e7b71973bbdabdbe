//! Equal-cost groups of ports: which wires flows of one packet take.

use std::collections::{BTreeMap, BTreeSet};

use results::RunEnd;
use topology::WireId;

use super::capture::wire_named;
use super::exactness::assert_exact;
use super::one_switch::{flow, loss};
use super::pause_obedience::assert_obeyed;
use super::{CAPTURE_ALL, Run, Runner};

/// The fabric and the incasts of DSH, Fig. 16(a).
const DEADLOCK: &str = include_str!("../../../scenarios/deadlock.toml");

/// Two leaves with 236 ways between them, and a packet from every host to every other.
const WIDE: &str = r#"
name = "wide"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 236
hosts_per_leaf = 20
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "all-to-all"
bytes = "1kB"
"#;

/// Flows spread over all ports of a group of 236, as `paths` predicts.
pub fn wide_group(run: Runner) {
    let run = run(WIDE, &[CAPTURE_ALL]);
    run.assert_lossless();
    let used = assert_paths(&run);
    let fabric = run.scenario.fabric();
    let up = used.keys().filter(|&&wire| fabric.wire(wire).name.starts_with("leaf0->spine"));
    // 400 flows leave a leaf: each of 236 ports is missed with probability 0.18.
    let up = up.count();
    assert!((175..=215).contains(&up), "{up} ports of 236 are used");
}

/// h0 to h3 on s0, h4 to h7 on s1, all links 8 Gbit/s and 1 us, and between the switches as many as there are
/// delays. Queues pause above 20 kB.
fn joined_by(delays: &[&str], flows: &str) -> String {
    let link = |a: &str, b: &str, delay: &str| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"8Gbps\", delay = \"{delay}\" }}")
    };
    let hosts =
        (0..8).map(|host| link(&format!("h{host}"), if host < 4 { "s0" } else { "s1" }, "1us"));
    // The wires have the same names whichever end a file names first.
    let pairs = delays.iter().zip([["s0", "s1"], ["s1", "s0"]].iter().cycle());
    let between = pairs.map(|(delay, [a, b])| link(a, b, delay));
    let links = hosts.chain(between).collect::<Vec<_>>().join(", ");
    format!(
        r#"
name = "parallel-links"
[topology]
kind = "custom"
switches = ["s0", "s1"]
hosts = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"]
links = [{links}]
[switch]
buffer = "1MB"
threshold = {{ kind = "static", xoff = "20kB", xon = "15kB" }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "10us"
{flows}"#
    )
}

const ALL_TO_ALL: &str = "[[flows]]\nkind = \"all-to-all\"\nbytes = \"1kB\"\n";

/// Suffixes behind `s0->s1` in the names of the wires that data crossed.
fn links_used(run: &Run, wires: &BTreeMap<WireId, u32>) -> Vec<String> {
    let names = wires.keys().map(|&wire| &run.scenario.fabric().wire(wire).name);
    names.filter_map(|name| name.strip_prefix("s0->s1")).map(str::to_owned).collect()
}

/// Flows spread over three links between two switches, and over two when one has failed.
pub fn parallel_links(run: Runner) {
    let text = joined_by(&["1us", "2us", "3us"], ALL_TO_ALL);
    let whole = run(&text, &[CAPTURE_ALL]);
    whole.assert_lossless();
    assert_eq!(links_used(&whole, &assert_paths(&whole)), ["", "#2", "#3"]);
    let failed = run(&text, &[CAPTURE_ALL, "topology.failed_links=[[\"s1\", \"s0\"]]"]);
    failed.assert_lossless();
    assert_eq!(links_used(&failed, &assert_paths(&failed)), ["", "#2"]);
}

/// A single flow takes the closed form's time for the link that it uses.
pub fn parallel_links_are_exact(run: Runner) {
    let pairs = (0..4).flat_map(|a| (4..8).map(move |b| [a, b]));
    let start = |number: usize| format!("start = \"{number}ms\"\n");
    let flows = (1..)
        .zip(pairs)
        .map(|(number, [a, b])| flow(&format!("h{a}"), &format!("h{b}"), 30, 3) + &start(number));
    let text = joined_by(&["1us", "7us"], &flows.collect::<String>());
    let text = text.replace("xoff = \"20kB\", xon", "xoff = \"500kB\", xon");
    assert_exact(run, &text);
}

/// Eight flows to one host, over two links: the host's switch pauses both, each for itself.
pub fn parallel_links_pause(run: Runner) {
    let flows: String =
        (0..8).map(|number| flow(&format!("h{}", number % 4), "h4", 60, 3)).collect();
    let run = run(&joined_by(&["1us", "1us"], &flows), &[CAPTURE_ALL]);
    run.assert_lossless();
    let stopped: BTreeSet<WireId> = assert_obeyed(&run).iter().map(|stop| stop.wire).collect();
    let both = ["s0->s1", "s0->s1#2"].map(|name| wire_named(run.scenario.fabric(), name));
    assert!(both.iter().all(|wire| stopped.contains(wire)), "{stopped:?}");
    let pauses = run.pauses();
    let of_pair = pauses.with("node", "s1").filter(|row| row.text("peer") == "s0");
    assert_eq!(of_pair.map(|row| row.number("port")).collect::<BTreeSet<_>>(), [4, 5].into());
    let times = run.table("pause_time.csv");
    let of_pair = times.with("node", "s0").filter(|row| row.text("by") == "s1");
    assert_eq!(of_pair.map(|row| row.number("port")).collect::<Vec<_>>(), [4, 5]);
}

/// The fabric of DSH's Fig. 16(a) with two links in place of each between a leaf and a spine: a cycle of paused queues
/// closes, some of which are on second links.
pub fn parallel_links_deadlock(run: Runner) {
    let (head, flows) = DEADLOCK.split_once("[[flows]]").expect("it has flows");
    let (before, topology) = head.split_once("[topology]").expect("it has a topology");
    let (_, settings) = topology.split_once("[switch]").expect("it has switches");
    let mut links = Vec::new();
    let mut link = |a: String, b: String, rate| {
        links.push(format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"1us\" }}"));
    };
    for host in 0..16 {
        link(format!("h{host}"), format!("leaf{}", host / 4), "100Gbps");
    }
    for leaf in 0..4 {
        for spine in 0..2 {
            link(format!("leaf{leaf}"), format!("spine{spine}"), "50Gbps");
            link(format!("leaf{leaf}"), format!("spine{spine}"), "50Gbps");
        }
    }
    let hosts = (0..16).map(|host| format!("\"h{host}\"")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "{before}[topology]\nkind = \"custom\"\nhosts = [{hosts}]\n\
         switches = [\"leaf0\", \"leaf1\", \"leaf2\", \"leaf3\", \"spine0\", \"spine1\"]\n\
         failed_links = [[\"spine0\", \"leaf3\"], [\"leaf0\", \"spine1\"], [\"leaf3\", \"spine0\"], \
         [\"spine1\", \"leaf0\"]]\nlinks = [{}]\n[switch]{settings}[[flows]]{flows}",
        links.join(", ")
    );
    let run = run(&text, &[]);
    run.assert_lossless();
    assert_eq!(run.summary.ended, RunEnd::Deadlock);
    let cycles = run.deadlocks();
    let queues: Vec<&str> = cycles.rows().iter().map(|row| row.text("queues")).collect();
    assert!(queues.iter().any(|queues| queues.contains("#2")), "{queues:?}");
}

/// Losses on the second link affect that link alone.
pub fn parallel_links_fail_apart(run: Runner) {
    let text = joined_by(&["1us", "1us"], ALL_TO_ALL);
    let lossy = run(&text, &[CAPTURE_ALL, &loss("s0->s1#2", "data", "nth = [1, 2]")]);
    lossy.assert_sound();
    let drops = lossy.drops();
    let wires: Vec<&str> = drops.rows().iter().map(|row| row.text("node")).collect();
    assert_eq!(wires, ["s0->s1#2", "s0->s1#2"]);
    let captured = run(&text, &["captures=[{ wires = [\"s?->s?#2\"] }]"]);
    let frames = captured.frames();
    let names = frames.iter().map(|frame| &*captured.scenario.fabric().wire(frame.wire).name);
    assert_eq!(names.collect::<BTreeSet<_>>(), ["s0->s1#2", "s1->s0#2"].into());
}

/// Asserts that the data packets of flows of one packet crossed exactly the wires that `paths` predicts. Returns the
/// data packets of each wire.
fn assert_paths(run: &Run) -> BTreeMap<WireId, u32> {
    let mut expected = BTreeMap::new();
    for flow in run.scenario.flows() {
        for wire in run.scenario.path_of(flow).0 {
            *expected.entry(wire).or_default() += 1;
        }
    }
    let mut found = BTreeMap::new();
    for frame in run.frames().iter().filter(|frame| frame.data().is_some()) {
        *found.entry(frame.wire).or_default() += 1;
    }
    assert_eq!(found, expected, "packets by wire");
    found
}
