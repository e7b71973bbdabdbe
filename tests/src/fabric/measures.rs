//! Tables that a run computes beside its rows, against the rows and the capture.

use std::collections::{BTreeMap, BTreeSet};

use results::RunEnd;
use topology::{NodeKind, SwitchId};

use super::one_switch::{corrupt, flow, loss, star, two_to_one};
use super::pause_obedience::{Stop, assert_obeyed};
use super::results::Row;
use super::{CAPTURE_ALL, CapturedFrame, Run, Runner};

const INTERVAL_NS: u64 = 10_000;
const THROUGHPUT: &str = "results.throughput={ interval = \"10us\" }";

/// Payload that each receiver got in each interval, by (start, flow).
fn throughput(run: &Run) -> BTreeMap<(u64, u64), u64> {
    let table = run.table("throughput.csv");
    let key = |row: &Row| (row.number("start_ns"), row.number("flow"));
    assert!(table.rows().is_sorted_by_key(key));
    for row in table.rows() {
        let rate = row.number("bytes") * 8 * 1_000_000_000 / INTERVAL_NS;
        assert_eq!(row.number("bits_per_second"), rate);
    }
    table.rows().iter().map(|row| (key(row), row.number("bytes"))).collect()
}

/// Each packet counts at its arrival. Duplicates and packets out of order do not count. Flows are chosen by label.
pub fn throughput_is_what_arrived(run: Runner) {
    let whole = run(&two_to_one(3), &[THROUGHPUT]);
    let fabric = whole.scenario.fabric();
    let mut arrived = BTreeMap::new();
    for frame in whole.frames() {
        let Some(packet) = frame.data() else { continue };
        if matches!(fabric.node(fabric.wire(frame.wire).to).kind, NodeKind::Host(_)) {
            let interval = frame.arrival_ns / INTERVAL_NS * INTERVAL_NS;
            let flow = u64::from(packet.destination_qp) - 2;
            *arrived.entry((interval, flow)).or_default() += u64::from(packet.payload_length);
        }
    }
    assert!(arrived.len() > 50);
    assert_eq!(throughput(&whole), arrived);

    let lossy = run(&two_to_one(3), &[THROUGHPUT, &loss("h1->s0", "data", "rate = 0.02")]);
    assert_ne!(lossy.summary.retransmitted_packets, 0);
    for flow in 0..2 {
        let rows = throughput(&lossy);
        let bytes: u64 =
            rows.iter().filter(|((_, of), _)| *of == flow).map(|(_, bytes)| bytes).sum();
        assert_eq!(bytes, 200_000);
    }

    let chosen = "results.throughput={ interval = \"10us\", labels = [\"*2\"] }";
    let of_h2 = throughput(&run(&two_to_one(3), &[chosen]));
    arrived.retain(|(_, flow), _| *flow == 1);
    assert_eq!(of_h2, arrived);
}

/// Each wire's counts agree with its captured and lost frames. A damaged frame is in no capture.
pub fn links_carry_what_arrived(run: Runner) {
    for faults in [vec![], vec![loss("h1->s0", "data", "rate = 0.1")], vec![corrupt("h2->s0")]] {
        let faults: Vec<&str> = faults.iter().map(String::as_str).collect();
        let run = run(&two_to_one(3), &faults);
        let fabric = run.scenario.fabric();
        let mut arrived: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for frame in run.frames() {
            let (frames, bytes) = arrived.entry(&fabric.wire(frame.wire).name).or_default();
            *frames += 1;
            *bytes += frame.length;
        }
        let table = run.table("links.csv");
        let names: Vec<&str> = table.rows().iter().map(|row| row.text("wire")).collect();
        assert_eq!(names, fabric.wires().iter().map(|wire| &*wire.name).collect::<Vec<_>>());
        for row in table.rows() {
            let (frames, bytes) = arrived.get(row.text("wire")).copied().unwrap_or_default();
            let missing = row.number("lost") + row.number("damaged");
            assert_eq!(row.number("frames"), frames + missing, "{row:?}");
            let is_faulty = faults.iter().any(|fault| fault.contains(row.text("wire")));
            assert_eq!(missing > 0, is_faulty, "{row:?}");
            if missing == 0 {
                assert_eq!(row.number("bytes"), bytes, "{row:?}");
            }
            // Preamble, FCS and gap of each frame.
            assert_eq!(row.number("wire_bytes"), row.number("bytes") + 24 * row.number("frames"));
            let capacity = u128::from(row.number("rate_bps")) * u128::from(run.summary.emulated_ns);
            let used = u128::from(row.number("wire_bytes")) * 8_000_000_000 * 1_000_000 / capacity;
            let recorded = row.text("utilisation").replace('.', "").parse::<u128>().unwrap();
            // The end is a whole nanosecond there.
            assert!(recorded.abs_diff(used) <= 1 + used / 1000, "{row:?}: {used}");
        }
    }
}

/// The time in which a sender might not go is that between the frames which it received.
pub fn pause_time_is_what_senders_received(run: Runner) {
    for settings in [
        vec![],
        vec!["switch.pause_quanta=100".to_owned()],
        vec![loss("s0->h1", "resume", "nth = [1]"), "switch.pause_quanta=400".to_owned()],
        vec!["duration=60us".to_owned()],
    ] {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let run = run(&two_to_one(3), &settings);
        let mut received: BTreeMap<String, Vec<Stop>> = BTreeMap::new();
        for stop in assert_obeyed(&run) {
            let fabric = run.scenario.fabric();
            let node = &fabric.node(fabric.wire(stop.wire).from).name;
            received.entry(node.clone()).or_default().push(stop);
        }
        let table = run.table("pause_time.csv");
        assert_eq!(table.rows().len(), received.len());
        assert_eq!(received.len(), 2);
        let end = run.summary.emulated_ns;
        if run.summary.ended == RunEnd::Duration {
            assert_eq!(end, 60_000);
        }
        for (node, stops) in received {
            let row = table.only("node", &node);
            let span = |stop: &Stop| stop.ends_ns.min(end).saturating_sub(stop.binds_ns);
            assert_eq!(row.number("pauses"), stops.len() as u64, "{node}");
            let paused: u64 = stops.iter().map(span).sum();
            assert_eq!(row.number("paused_ns"), paused, "{node}");
            assert_eq!(Some(row.number("longest_ns")), stops.iter().map(span).max());
            let millionths = paused * 1_000_000 / end;
            assert_eq!(row.text("share"), format!("0.{millionths:06}"));
            assert_eq!((row.text("port"), row.text("priority"), row.text("by")), ("0", "3", "s0"));
        }
        let sum = |column| table.numbers(column).iter().sum::<u64>();
        assert_eq!(sum("ordered_ns"), run.summary.pause_ordered_ns);
        assert_eq!(sum("paused_ns"), run.summary.paused_ns);
    }
}

/// PAUSE frames that never arrive stop no sender: ordered time differs from the time in effect at the sender.
pub fn pauses_that_are_lost_stop_nobody(run: Runner) {
    let lost = loss("s0->h1", "pause", "rate = 1.0");
    let run =
        run(&two_to_one(3), &[&lost, "switch.headroom={ kind = \"sih\", bytes = \"300kB\" }"]);
    run.assert_sound();
    let table = run.table("pause_time.csv");
    let spared = table.only("node", "h1");
    assert_eq!((spared.number("paused_ns"), spared.number("pauses")), (0, 0));
    assert!(spared.number("ordered_ns") > 0);
    assert_eq!(run.summary.paused_ns, table.only("node", "h2").number("paused_ns"));
    assert!(run.summary.pause_ordered_ns > run.summary.paused_ns);
}

/// The mean equals the mean of the packets' stays in the switch, and the highest level equals the counters' max.
pub fn occupancy_is_how_long_packets_stayed(run: Runner) {
    let run = run(&two_to_one(3), &["results.occupancy=true"]);
    let fabric = run.scenario.fabric();
    let is_switch = |node| matches!(fabric.node(node).kind, NodeKind::Switch(_));
    let mut area = 0i128;
    for frame in run.frames().iter().filter(|frame| frame.roce().is_some()) {
        let wire = fabric.wire(frame.wire);
        if is_switch(wire.to) {
            area -= i128::from(frame.length * frame.arrival_ns);
        }
        if is_switch(wire.from) {
            area += i128::from(frame.length * frame.start_ns);
        }
    }
    let end = i128::from(run.summary.emulated_ns);
    let mean = (area * 2 + end) / (end * 2);
    let table = run.table("occupancy.csv");
    let buffer = table.only("kind", "buffer");
    assert!(mean > 1000);
    assert_eq!(i128::from(buffer.number("mean_bytes")), mean);
    assert_eq!(buffer.number("max_bytes"), run.summary.buffer_max_bytes["s0"]);
    let together = run.summary.buffer_bytes.expect("occupancy is followed");
    let levels = [together.mean, together.p50, together.p99, together.max];
    let columns = ["mean_bytes", "p50_bytes", "p99_bytes", "max_bytes"];
    assert_eq!(levels, columns.map(|column| buffer.number(column)), "there is one switch");
    let headroom = table.only("kind", "headroom");
    assert_eq!(headroom.number("max_bytes"), run.summary.headroom_max_bytes["s0"]);
    for row in table.rows() {
        let levels = ["p50_bytes", "p90_bytes", "p99_bytes", "p999_bytes", "max_bytes"];
        assert!(levels.map(|level| row.number(level)).is_sorted(), "{row:?}");
    }
}

/// A flow through three switches.
const ACROSS: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "40Gbps", delay = "1us" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "200kB"
"#;

/// Each frame counts in the window in which a switch began to send it, with 24 additional bytes on the wire, by the
/// node at the wire's other end.
pub fn link_bytes_are_what_switches_sent(run: Runner) {
    let asked = "results.link_bytes=true";
    for (scenario, window) in
        [(two_to_one(3), None), (two_to_one(3), Some((10_000, 30_000))), (ACROSS.into(), None)]
    {
        let keys = window.map(|(from, to)| {
            [format!("results.from={}us", from / 1000), format!("results.to={}us", to / 1000)]
        });
        let more = [asked.to_owned(), CAPTURE_ALL.to_owned()];
        let keys: Vec<String> = keys.into_iter().flatten().chain(more).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let run = run(&scenario, &keys);
        let (from, to) = window.unwrap_or((0, run.summary.emulated_ns));
        let fabric = run.scenario.fabric();
        let is_host = |node| matches!(fabric.node(node).kind, NodeKind::Host(_));
        let frames = run.frames();
        for switch in (0..fabric.switch_count()).map(|it| fabric.switch(SwitchId(it))) {
            // To hosts, and to switches: bytes sent, and capacity of the links.
            let expected = [true, false].map(|to_hosts| {
                let ports = || switch.ports.iter().map(|wire| fabric.wire(*wire));
                let wires: Vec<_> = ports().filter(|wire| is_host(wire.to) == to_hosts).collect();
                let sent = |frame: &&CapturedFrame| {
                    let wire = fabric.wire(frame.wire);
                    let is_one = wires.iter().any(|other| other.name == wire.name);
                    is_one && (from..to).contains(&frame.start_ns)
                };
                let sent: u64 = frames.iter().filter(sent).map(|frame| frame.length + 24).sum();
                let rate: u64 = wires.iter().map(|wire| wire.rate.0).sum();
                (sent, u128::from(rate) * u128::from(to - from) / 8_000_000_000)
            });
            let bytes = run.summary.link_bytes[&switch.name];
            let found = [
                (bytes.to_hosts, bytes.to_hosts_capacity),
                (bytes.to_switches, bytes.to_switches_capacity),
            ];
            assert!(
                expected.iter().any(|(sent, _)| *sent > 10_000),
                "{}: {expected:?}",
                switch.name
            );
            for ((sent, least), (counted, capacity)) in expected.into_iter().zip(found) {
                assert_eq!(counted, sent, "{}", switch.name);
                // The run's end has picoseconds, and each link is rounded down.
                assert!(u128::from(capacity).abs_diff(least) < 100, "{bytes:?}");
            }
        }
    }
}

/// Groups by size and label hold the flows that `flows.csv` has of them.
pub fn sizes_group_the_flows(run: Runner) {
    let flows = [("h1", 10), ("h2", 10), ("h1", 11), ("h2", 200), ("h1", 200), ("h2", 30)];
    let flows: String = flows.iter().map(|(src, size)| flow(src, "h0", *size, 3)).collect();
    let bounds = ["flow_size_bins", "size_classes"];
    let bounds = bounds.map(|key| format!("results.{key}=[\"10kB\", \"100kB\"]"));
    let run = run(&star(3, &flows), &bounds.each_ref().map(String::as_str));
    let flows = run.flows();
    let table = run.table("fct_by_size.csv");
    let groups: Vec<(&str, u64)> =
        table.rows().iter().map(|row| (row.text("label"), row.number("flows"))).collect();
    let (h1, h2) = ("h1", "h2");
    assert_eq!(
        groups,
        [("", 2), ("", 2), ("", 2), (h1, 1), (h1, 1), (h1, 1), (h2, 1), (h2, 1), (h2, 1)]
    );
    for row in table.rows() {
        let label = row.text("label");
        let up_to = row.text("up_to_bytes").parse().unwrap_or(u64::MAX);
        let sizes = row.number("above_bytes") + 1..=up_to;
        let members = flows.rows().iter().filter(|flow| {
            (label.is_empty() || flow.text("label") == label)
                && sizes.contains(&flow.number("bytes"))
        });
        let mut slowdowns: Vec<&str> = members.map(|flow| flow.text("slowdown")).collect();
        let four_decimals = |text: &&str| text.replace('.', "").parse::<u64>().ok();
        slowdowns.sort_by_key(four_decimals);
        assert_eq!(row.number("completed"), slowdowns.len() as u64);
        assert_eq!(row.text("slowdown_p50"), slowdowns[(slowdowns.len() - 1) / 2]);
        assert_eq!(Some(&row.text("slowdown_p99")), slowdowns.last());
        assert_eq!(Some(&row.text("slowdown_max")), slowdowns.last());
        let classes = match label {
            "" => &run.summary.sizes,
            label => &run.summary.labels[label].sizes,
        };
        let class = match row.text("up_to_bytes") {
            "10000" => "up-to-10kB",
            "100000" => "10kB-to-100kB",
            _ => "above-100kB",
        };
        let slowdown = classes[class].slowdown.unwrap();
        assert_eq!(classes[class].flows, row.number("flows"));
        assert_eq!(slowdown.mean.to_string(), row.text("slowdown_mean"));
        assert_eq!(slowdown.p95.to_string(), row.text("slowdown_p95"));
    }
}

/// A counter has a row where a sample differs from the one before, at first from zero.
pub fn samples_are_changes(run: Runner) {
    let table = run(&two_to_one(3), &["results.queue_period=\"1us\""]).table("queues.csv");
    let mut last: BTreeMap<[&str; 4], u64> = BTreeMap::new();
    for row in table.rows() {
        let counter = ["node", "kind", "port", "priority"].map(|column| row.text(column));
        let bytes = row.number("bytes");
        assert_ne!(last.insert(counter, bytes).unwrap_or(0), bytes, "{counter:?}");
    }
    let kinds: BTreeSet<&str> = last.keys().map(|[_, kind, ..]| *kind).collect();
    assert!(kinds.is_superset(&["buffer", "ingress", "egress"].into()), "{kinds:?}");
    assert!(last.values().all(|bytes| *bytes == 0), "a drained fabric holds nothing");
}
