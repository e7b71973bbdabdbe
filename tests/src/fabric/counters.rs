//! `counters.csv` against the other tables, the summary and the capture.

use std::collections::BTreeMap;

use results::{RunEnd, Summary, TABLES};

use super::one_switch::{flow, funnel, loss, two_to_one};
use super::{CAPTURE_ALL, Run, Runner};

/// Value of each counter by (node, port, counter). Zero counters have no entry.
type Counters = BTreeMap<(String, u64, String), u64>;

const QUEUES: &str = "results.queue_counters=true";
/// Everything above 10 kB is marked.
const MARKING: &str =
    "switch.ecn={ kmin = \"10kB\", kmax = \"10kB\", pmax = 1.0, mark_at = \"MARK\" }";

fn counters(run: &Run) -> Counters {
    let table = run.table("counters.csv");
    let key = |row: &super::results::Row| {
        (row.text("node").to_owned(), row.number("port"), row.text("counter").to_owned())
    };
    let counters: Counters =
        table.rows().iter().map(|row| (key(row), row.number("value"))).collect();
    assert_eq!(counters.len(), table.rows().len(), "each counter has one row");
    assert!(counters.values().all(|value| *value > 0));
    counters
}

/// The sum of a counter over all nodes, ports and priorities; `n` stands for the priority in its name.
fn sum(run: &Run, name: &str) -> u64 {
    let (before, behind) = name.split_once('n').expect("the priority is in its name");
    let is = |counter: &str| {
        counter
            .strip_prefix(before)
            .and_then(|it| it.strip_suffix(behind))
            .is_some_and(|it| it.len() == 1)
    };
    counters(run).iter().filter(|((.., counter), _)| is(counter)).map(|(_, value)| value).sum()
}

/// Checks counters of a run that captures everything, and is drained unless it ended in a deadlock.
pub fn assert_counters(run: &Run) {
    let fabric = run.scenario.fabric();
    let counters = counters(run);
    let of = |node: &str, port: u64, counter: String| {
        counters.get(&(node.to_owned(), port, counter)).copied().unwrap_or(0)
    };
    // Frames that arrived, by the classes that they name.
    let mut arrived: Counters = Counters::new();
    for frame in run.frames() {
        let Some(pfc) = frame.pfc() else { continue };
        let wire = fabric.wire(frame.wire);
        for class in (0..8usize).filter(|class| pfc.class_enable >> class & 1 != 0) {
            let what = if pfc.quanta[class] > 0 { "" } else { "_XON" };
            let key = |direction| format!("PFC_{class}_{direction}{what}_PKTS");
            let node = |of| fabric.node(of).name.clone();
            *arrived.entry((node(wire.to), wire.to_port.into(), key("RX"))).or_default() += 1;
            *arrived.entry((node(wire.from), wire.from_port.into(), key("TX"))).or_default() += 1;
        }
    }
    let is_pfc = |(.., counter): &(String, u64, String)| {
        counter.ends_with("X_PKTS") || counter.ends_with("XON_PKTS")
    };
    // Some that were sent have not arrived.
    let some_miss = !run.scenario.faults.is_empty() || run.summary.ended == RunEnd::Duration;
    for (key, value) in counters.iter().filter(|(key, _)| is_pfc(key)) {
        let there = arrived.get(key).copied().unwrap_or(0);
        if key.2.contains("_TX_") && some_miss {
            assert!(there <= *value, "{key:?}");
        } else {
            assert_eq!(there, *value, "{key:?}");
        }
    }
    assert!(arrived.keys().all(|key| counters.contains_key(key)), "{arrived:?}");
    for row in run.table("pause_time.csv").rows() {
        let (node, by, port) = (row.text("node"), row.text("by"), row.number("port"));
        let class = row.number("priority");
        let received = of(node, port, format!("PFC_{class}_RX_PAUSE_DURATION_NS"));
        assert_eq!(received, row.number("paused_ns"), "{row:?}");
        let leaves = |wire: &&topology::Wire| {
            fabric.node(wire.from).name == node && u64::from(wire.from_port) == port
        };
        let wire = fabric.wires().iter().find(leaves).expect("a port has a wire");
        let sent = of(by, wire.to_port.into(), format!("PFC_{class}_TX_PAUSE_DURATION_NS"));
        assert_eq!(sent, row.number("ordered_ns"), "{row:?}");
    }
    let mut dropped: BTreeMap<(String, u64, String), u64> = BTreeMap::new();
    let drops = run.drops();
    let placed = |row: &&super::results::Row| {
        !row.text("port").is_empty() && !row.text("priority").is_empty()
    };
    for row in drops.rows().iter().filter(placed) {
        let name = format!("PG_{}_DROPPED_PACKETS", row.text("priority"));
        *dropped.entry((row.text("node").to_owned(), row.number("port"), name)).or_default() += 1;
    }
    let recorded =
        counters.iter().filter(|((.., counter), _)| counter.ends_with("DROPPED_PACKETS"));
    assert_eq!(
        recorded.map(|(key, value)| (key.clone(), *value)).collect::<BTreeMap<_, _>>(),
        dropped
    );
}

/// Frames, pauses and drops, of runs without losses, with lost PAUSE frames, with refreshes, and cut by their duration.
pub fn counters_are_those_of_other_tables(run: Runner) {
    let lossy = ["switch.lossless=[]", "switch.buffer=60kB"];
    for settings in [
        vec![],
        vec![
            loss("s0->h1", "pause", "nth = [1, 2]"),
            "switch.headroom={ kind = \"sih\", bytes = \"300kB\" }".to_owned(),
        ],
        vec!["switch.pause_quanta=100".to_owned()],
        vec!["duration=60us".to_owned()],
        lossy.map(str::to_owned).to_vec(),
    ] {
        let mut settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        settings.push(CAPTURE_ALL);
        let run = run(&two_to_one(3), &settings);
        assert_counters(&run);
        let is_lossless = !settings.contains(&lossy[0]);
        assert_eq!(sum(&run, "PFC_n_TX_PKTS") > 0, is_lossless, "{settings:?}");
        assert_eq!(sum(&run, "PG_n_DROPPED_PACKETS") > 0, !is_lossless, "{settings:?}");
        let text = run.text("counters.csv");
        assert!(!text.contains("WATERMARK") && !text.contains("QUEUE"), "{text}");
    }
}

/// One sender, so that the switch's max equals the max of its only group of packets.
pub fn watermarks_are_exact(run: Runner) {
    for mark_at in ["enqueue", "dequeue"] {
        let marking = MARKING.replace("MARK", mark_at);
        let run = run(&funnel(&flow("h1", "h0", 100, 3)), &[QUEUES, &marking, CAPTURE_ALL]);
        assert_counters(&run);
        let counters = counters(&run);
        let port = |host: &str| {
            let fabric = run.scenario.fabric();
            let wire = fabric.wires().iter().find(|wire| wire.name == format!("s0->{host}"));
            u64::from(wire.expect("it has a link").from_port)
        };
        let of = |host, counter: &str| {
            let key = ("s0".to_owned(), port(host), counter.to_owned());
            counters.get(&key).copied().unwrap_or(0)
        };
        let summary = &run.summary;
        assert!(summary.headroom_max_bytes["s0"] > 0);
        assert_eq!(of("h1", "PG_3_XOFF_ROOM_WATERMARK_BYTES"), summary.headroom_max_bytes["s0"]);
        let most = of("h0", "QUEUE_3_SHARED_WATERMARK_BYTES");
        // Nothing else waits while h0's link is slow, but an ACK that passes.
        let buffered = summary.buffer_max_bytes["s0"];
        assert!(most <= buffered && buffered - most < 200, "{most} of {buffered}");
        let pauses = run.pauses();
        let xoff = pauses.with("event", "xoff").map(|row| row.number("threshold_bytes")).max();
        let shared = of("h1", "PG_3_SHARED_WATERMARK_BYTES");
        assert!(shared > 0 && shared <= xoff.unwrap() + 1100, "{shared}");
        let sent: Vec<u64> =
            run.frames().iter().filter(|it| it.data().is_some()).map(|it| it.length).collect();
        // Each crossed two wires.
        assert_eq!(of("h0", "QUEUE_3_PACKETS"), sent.len() as u64 / 2);
        assert_eq!(of("h0", "QUEUE_3_BYTES"), sent.iter().sum::<u64>() / 2);
        assert!(summary.ecn_marked > 0);
        assert_eq!(of("h0", "QUEUE_3_WRED_ECN_MARKED_PACKETS"), summary.ecn_marked);
    }
}

/// Marks and packets of a fabric are the sums over its ports.
pub fn marks_add_up(run: Runner) {
    let text = two_to_one(3);
    for mark_at in ["enqueue", "dequeue"] {
        let run = run(&text, &[QUEUES, &MARKING.replace("MARK", mark_at), CAPTURE_ALL]);
        assert_counters(&run);
        assert!(run.summary.ecn_marked > 0);
        assert_eq!(sum(&run, "QUEUE_n_WRED_ECN_MARKED_PACKETS"), run.summary.ecn_marked);
        let fabric = run.scenario.fabric();
        let of_switch = |wire| fabric.node(fabric.wire(wire).from).name == "s0";
        let packets =
            run.frames().iter().filter(|it| it.roce().is_some() && of_switch(it.wire)).count();
        assert_eq!(sum(&run, "QUEUE_n_PACKETS"), packets as u64);
    }
}

/// A NIC that storms sends PAUSE frames, too.
pub fn storms_are_counted(run: Runner) {
    let run = run(&super::storm::scenario(), &[CAPTURE_ALL]);
    assert_counters(&run);
    let counters = counters(&run);
    let by_h3 = counters.get(&("h3".to_owned(), 0, "PFC_3_TX_PKTS".to_owned()));
    assert!(by_h3.is_some_and(|frames| *frames > 1), "{by_h3:?}");
}

/// Omitted tables are not written, whatever requests them; all other files are unchanged.
pub fn tables_are_left_out(run: Runner) {
    let all = ["results.occupancy=true", "results.throughput={ interval = \"10us\" }", QUEUES];
    let whole = run(&two_to_one(3), &all);
    let some = run(
        &two_to_one(3),
        &[&all[..], &["results.omit=[\"queues\", \"pause*\", \"throughput\"]"]].concat(),
    );
    for (file, is_there) in [
        ("flows.csv", true),
        ("counters.csv", true),
        ("occupancy.csv", true),
        ("queues.csv", false),
        ("pauses.csv", false),
        ("pause_time.csv", false),
        ("throughput.csv", false),
    ] {
        assert!(whole.has(file), "{file}");
        assert_eq!(some.has(file), is_there, "{file}");
        if is_there {
            assert_eq!(some.text(file), whole.text(file), "{file}");
        }
    }
    let Summary { threads, wall_seconds, cpu_seconds, .. } = whole.summary;
    assert_eq!(Summary { threads, wall_seconds, cpu_seconds, ..some.summary }, whole.summary);
    let none = run(&two_to_one(3), &[&all[..], &["results.omit=[\"*\"]"]].concat());
    for table in TABLES {
        assert!(!none.has(table.file), "{}", table.file);
    }
}
