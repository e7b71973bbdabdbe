//! Static routes: frames take them, ideal times know them, and PFC may deadlock on them.

use std::collections::{BTreeMap, BTreeSet};

use results::RunEnd;

use super::capture::CapturedFrame;
use super::exactness::assert_exact;
use super::one_switch::flow;
use super::{CAPTURE_ALL, Run, Runner};

/// Flows two switches further on in a ring of four.
const RING: &str = include_str!("../../../scenarios/deadlock-ring.toml");

/// Three hosts on each of two leaves, two spines of different delay; flows one after the other.
fn leaf_spine(flows: &str, routes: &str) -> String {
    let link = |a: &str, b: &str, delay: &str| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"8Gbps\", delay = \"{delay}\" }}")
    };
    let hosts = (0..6).map(|host| link(&format!("h{host}"), &format!("leaf{}", host / 3), "1us"));
    let spines = [("spine0", "2us"), ("spine1", "5us")];
    let up = spines
        .iter()
        .flat_map(|(spine, delay)| ["leaf0", "leaf1"].map(|leaf| link(leaf, spine, delay)));
    let links = hosts.chain(up).collect::<Vec<_>>().join(", ");
    format!(
        r#"name = "static-routes"
[topology]
kind = "custom"
switches = ["leaf0", "leaf1", "spine0", "spine1"]
hosts = ["h0", "h1", "h2", "h3", "h4", "h5"]
links = [{links}]
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
{flows}{routes}"#
    )
}

fn route(at: &str, frames: &str, via: &str) -> String {
    format!("[[routes]]\nat = \"{at}\"\n{frames}\nvia = [\"{via}\"]\n")
}

/// Data and ACKs of a pair take different spines, one flow of the pair a third path, and a destination's frames a path
/// of their own.
fn asymmetric() -> String {
    let start = |number: u32| format!("start = \"{number}ms\"\n");
    let labelled = |label: &str, source: &str, destination: &str, number| {
        let flow = flow(source, destination, 30, 3);
        let named = format!("label = \"{label}\"");
        flow.replace(&format!("label = \"{source}\""), &named) + &start(number)
    };
    let flows = [
        labelled("pair", "h0", "h3", 0),
        labelled("flow", "h0", "h3", 1),
        labelled("destination", "h1", "h4", 2),
        labelled("tcp", "h2", "h5", 3)
            + "transport = { kind = \"tcp\", congestion_control = \"none\" }\n",
    ];
    let routes = [
        route("leaf0", "from = \"h0\"\nto = \"h3\"", "spine0"),
        route("leaf1", "from = \"h3\"\nto = \"h0\"", "spine1"),
        route("leaf0", "flows = \"flow\"", "spine1"),
        route("leaf0", "to = \"h4\"", "spine1"),
        route("leaf1", "to = \"h1\"", "spine0"),
        route("leaf0", "flows = \"tcp\"\nto = \"leaf1\"", "spine1"),
        route("leaf1", "to = \"h2\"", "spine0"),
    ];
    leaf_spine(&flows.concat(), &routes.concat())
}

/// By number of a millisecond: the spines that frames from each leaf came to in it.
fn spines(run: &Run) -> BTreeMap<(u64, String), BTreeSet<String>> {
    let fabric = run.scenario.fabric();
    let mut found: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    let is_packet = |frame: &&CapturedFrame| frame.roce().is_some() || frame.tcp().is_some();
    for frame in run.frames().iter().filter(is_packet) {
        let wire = fabric.wire(frame.wire);
        let [from, to] = [wire.from, wire.to].map(|node| fabric.node(node).name.clone());
        if from.starts_with("leaf") && to.starts_with("spine") {
            found.entry((frame.arrival_ns / 1_000_000, from)).or_default().insert(to);
        }
    }
    found
}

/// Every frame takes the route that is for it.
pub fn asymmetric_paths(run: Runner) {
    let run = run(&asymmetric(), &[CAPTURE_ALL]);
    run.assert_lossless();
    let rows = [
        (0, "leaf0", "spine0"),
        (0, "leaf1", "spine1"),
        (1, "leaf0", "spine1"),
        (1, "leaf1", "spine1"),
        (2, "leaf0", "spine1"),
        (2, "leaf1", "spine0"),
        (3, "leaf0", "spine1"),
        (3, "leaf1", "spine0"),
    ];
    let expected =
        rows.map(|(ms, leaf, spine)| ((ms, leaf.to_owned()), BTreeSet::from([spine.to_owned()])));
    assert_eq!(spines(&run), expected.into());
}

/// Single flows take the closed form's time for their paths and their ACKs' paths.
pub fn asymmetric_paths_are_exact(run: Runner) {
    let without_tcp = asymmetric().replace("kind = \"tcp\"", "kind = \"roce-rc\"");
    assert_exact(run, &without_tcp);
}

/// All flows go the same way round, so the PAUSEs of the ring's four links wait for each other. Without the routes they
/// do not.
pub fn deadlock_ring(run: Runner) {
    let ring = run(RING, &[]);
    ring.assert_lossless();
    assert_eq!(ring.summary.ended, RunEnd::Deadlock);
    let cycles = ring.deadlocks();
    assert_eq!(cycles.rows()[0].text("queues"), "s0->s1 s1->s2 s2->s3 s3->s0");
    let counter = run(RING, &["routes=[]"]);
    counter.assert_sound();
    assert_eq!(counter.summary.flows_completed, 4);
    // The same by routes for pairs, for flows and by paths.
    let (before, after) = RING.split_once("\n[[routes]]").expect("it has routes");
    let (_, after) = after.split_once("[switch]").expect("it has switches");
    let by = |frames: fn(usize) -> String| {
        let routes =
            (0..4).map(|at| route(&format!("s{at}"), &frames(at), &format!("s{}", (at + 1) % 4)));
        format!("{before}\n{}[switch]{after}", routes.collect::<String>())
    };
    let pairs = by(|at| format!("from = \"h{at}\"\nto = \"h{}\"", (at + 2) % 4));
    let flows = by(|at| format!("flows = \"{at} to {}\"", (at + 2) % 4));
    for text in [pairs, flows] {
        let same = run(&text, &[]);
        assert_eq!(same.summary.ended, RunEnd::Deadlock, "{text}");
        let same = same.deadlocks();
        assert_eq!(same.rows()[0].text("queues"), cycles.rows()[0].text("queues"), "{text}");
    }
}

/// A list whose rows have a path or a source port: frames carry the port and take the path.
pub fn listed_paths_and_ports(run: Runner) {
    let folder = tempfile::tempdir().expect("a folder for the list");
    let list = folder.path().join("flows.csv");
    let rows = "start_ns,src,dst,bytes,priority,source_port,path\n\
                0,h0,h3,30000,3,,leaf0>spine1>leaf1\n\
                1000000,h0,h3,30000,3,,leaf0>spine0>leaf1\n\
                2000000,h0,h3,30000,3,1234,\n\
                3000000,h0,h3,30000,3,65535,\n\
                4000000,h0,h3,30000,3,1,\n";
    std::fs::write(&list, rows).expect("the list is written");
    let text =
        leaf_spine("", &format!("[[flows]]\nkind = \"list\"\nfile = \"{}\"\n", list.display()));
    let run = run(&text, &[CAPTURE_ALL]);
    run.assert_lossless();
    let mut ports: BTreeMap<u64, BTreeSet<u16>> = BTreeMap::new();
    for frame in run.frames() {
        let packet = frame.roce().expect("nobody is paused");
        ports.entry(frame.arrival_ns / 1_000_000).or_default().insert(packet.source_port);
    }
    assert!(ports[&0].union(&ports[&1]).all(|&port| port >= 49_152), "chosen by xoff");
    for (ms, port) in [(2, 1234), (3, 65_535), (4, 1)] {
        assert_eq!(ports[&ms], [port].into(), "data and ACKs");
    }
    let spines = spines(&run);
    let taken = |ms| spines[&(ms, "leaf0".to_owned())].clone();
    assert_eq!((taken(0), taken(1)), (["spine1".into()].into(), ["spine0".into()].into()));
    let fabric = run.scenario.fabric();
    for (ms, flow) in (0..).zip(run.scenario.flows()) {
        let predicted = run.scenario.path_of(flow).0[1];
        let predicted = fabric.node(fabric.wire(predicted).to).name.clone();
        assert_eq!(taken(ms), [predicted].into(), "as the hash says");
    }
}
