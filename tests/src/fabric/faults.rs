//! Faults on wires: their effects on flows agree with arithmetic, and lost frames are reported by name.

use super::capture::CapturedFrame;
use super::one_switch::{PACKET_NS, flow, star};
use super::{CAPTURE_ALL, Run, Runner};

/// Packets of the flow from h1 to h0.
const PACKETS: u64 = 20;
/// The first packet of a message carries a RETH.
const FIRST_PACKET_NS: u64 = PACKET_NS + 16;
const TIMEOUT_NS: u64 = 20_000_000;

/// One fault of the documentation's example.
const EXAMPLE: &str = include_str!("../../../docs/faults.md");

/// The keys of a fault.
fn fault(kind: &str, wire: &str, keys: &str) -> String {
    format!("{{ kind = \"{kind}\", wire = \"{wire}\", {keys} }}")
}

/// h1 to h0 alone, 20 packets, each acknowledged, with these faults.
fn alone(run: Runner, faults: &[String]) -> Run {
    let faults = format!("faults=[{}]", faults.join(", "));
    let run = run(&star(2, &flow("h1", "h0", PACKETS, 3)), &["host.ack_interval=1", &faults]);
    run.assert_sound();
    run
}

fn times(run: &Run) -> (u64, u64) {
    let flows = run.flows();
    (flows.rows()[0].number("fct_ns"), flows.rows()[0].number("ideal_ns"))
}

/// Values of a column of `faults.csv`, row by row.
fn recorded(run: &Run, column: &str) -> Vec<u64> {
    run.table("faults.csv").numbers(column)
}

/// A loss takes exactly the frames whose transmission begins while it lasts.
pub fn losses_in_a_span(run: Runner) {
    let keys = "match = \"data\", rate = 1, at = \"5us\", for = \"5us\"";
    let run = alone(run, &[fault("loss", "h1->s0", keys)]);
    run.assert_drops_only("injected-loss");
    let drops = run.drops();
    assert!(drops.numbers("time_ns").iter().all(|time| (5000..10_000).contains(time)));
    assert_eq!(recorded(&run, "frames"), [drops.rows().len() as u64]);
    assert_eq!(recorded(&run, "seen"), recorded(&run, "frames"));
    assert!((4..=5).contains(&drops.rows().len()), "at line rate");
    assert_ne!(run.summary.retransmitted_packets, 0);
}

/// The receiver's MAC drops damaged frames, by name, and go-back-N sends them again.
pub fn damage_is_recovered(run: Runner) {
    let run = alone(run, &[fault("corrupt", "s0->h0", "match = \"data\", nth = [5]")]);
    run.assert_drops_only("corrupted");
    let drops = run.drops();
    let row = &drops.rows()[0];
    assert_eq!((row.text("node"), row.text("port"), row.text("class")), ("h0", "0", "injected"));
    // Its last bit arrives like the last bit of the fifth packet of a run without faults: all wait behind the first,
    // longer one.
    let arrival = FIRST_PACKET_NS + 1000 + FIRST_PACKET_NS + 4 * PACKET_NS + 1000;
    assert_eq!((row.number("time_ns"), row.number("priority")), (arrival, 3));
    let faults = run.summary.faults.expect("the scenario has one");
    assert_eq!((faults.corrupted, faults.lost), (1, 0));
    let (fct, ideal) = times(&run);
    assert!(fct > ideal && fct < TIMEOUT_NS, "a NAK calls for it");
}

/// Every wire damages frames of every kind, PAUSE and RESUME too.
pub fn random_damage(run: Runner) {
    let hosts: String = ["h1", "h2", "h3"].map(|host| flow(host, "h0", 800, 3)).concat();
    let faults = format!("faults=[{}]", fault("corrupt", "*", "rate = 0.01"));
    let run = run(&star(4, &hosts), &["switch.pause_quanta=2000", &faults]);
    run.assert_complete();
    let drops = &run.summary.drops;
    assert!(drops.by_reason["corrupted"] > 10, "{drops:?}");
    assert_eq!(drops.lost(), drops.injected + drops.policy);
    assert_eq!(run.is_sound(), drops.policy == 0);
    assert_eq!(recorded(&run, "frames").iter().sum::<u64>(), drops.injected);
}

/// A delay is added to the time of the flow, once for each wire that the last packet and its ACK cross.
pub fn delays_are_added(run: Runner) {
    for (wire, count) in [("h1->s0", 1), ("h1-s0", 2), ("*", 4)] {
        let run = alone(run, &[fault("delay", wire, "delay = \"7us\"")]);
        let (fct, ideal) = times(&run);
        assert_eq!(fct, ideal + count * 7000, "{wire}");
        assert_eq!(run.summary.drops.lost() + run.summary.retransmitted_packets, 0);
        assert!(recorded(&run, "most_added_ns").iter().all(|&most| most == 7000));
        let frames = recorded(&run, "frames");
        let added: Vec<u64> = frames.iter().map(|frames| frames * 7000).collect();
        assert_eq!(recorded(&run, "added_ns"), added);
    }
}

/// With any delay a wire stays FIFO, and its frames do not overlap.
pub fn jitter_keeps_the_order(run: Runner) {
    let run = alone(run, &[fault("delay", "*", "jitter = \"30us\"")]);
    assert_eq!(run.summary.retransmitted_packets, 0, "go-back-N would not have it otherwise");
    let (fct, ideal) = times(&run);
    assert!(fct > ideal && fct < ideal + 4 * 30_000, "{fct} and {ideal}");
    let frames = run.frames();
    for wire in run.scenario.fabric().wires() {
        let on_wire =
            |frame: &&CapturedFrame| run.scenario.fabric().wire(frame.wire).name == wire.name;
        let arrivals: Vec<&CapturedFrame> = frames.iter().filter(on_wire).collect();
        for pair in arrivals.windows(2) {
            let gap = pair[1].arrival_ns - pair[0].arrival_ns;
            // Captures have whole nanoseconds.
            let least = pair[1].length + 24 - 1;
            assert!(gap >= least, "{}: {gap} ns", wire.name);
        }
    }
}

/// The sender's port sends at half of its link's rate, so each packet takes twice as long there. Then no packet waits behind
/// the first, longer one at the second wire.
pub fn a_slower_port(run: Runner) {
    let run = alone(run, &[fault("rate", "h1->s0", "rate = \"4Gbps\"")]);
    let (fct, ideal) = times(&run);
    let longer = FIRST_PACKET_NS + (PACKETS - 1) * PACKET_NS;
    assert_eq!(fct, ideal + longer - (FIRST_PACKET_NS - PACKET_NS));
    assert_eq!(recorded(&run, "added_ns"), [longer]);
    assert_eq!(recorded(&run, "most_added_ns"), [FIRST_PACKET_NS]);
    assert_eq!(run.summary.faults.expect("it has one").slowed, PACKETS);
}

/// A wire that is down loses all, and the timer brings the rest once it is up.
pub fn a_link_that_is_down(run: Runner) {
    let run = alone(run, &[fault("down", "h1-s0", "at = \"5us\", for = \"100us\"")]);
    run.assert_drops_only("link-down");
    let nodes = run.drops();
    assert!(nodes.rows().iter().all(|row| (5000..105_000).contains(&row.number("time_ns"))));
    let (fct, _) = times(&run);
    assert!(fct > TIMEOUT_NS && fct < TIMEOUT_NS + 1_000_000, "{fct}");
    assert_eq!(run.summary.faults.expect("it has one").reroutes, 0);
}

/// Frames are lost while the wire is down in each period, and cross it in between.
pub fn a_link_that_flaps(run: Runner) {
    let keys = "at = \"3us\", for = \"1ms\", flap = { period = \"20us\", down_for = \"8us\" }";
    let faults = format!("faults=[{}]", fault("down", "h1-s0", keys));
    let text = star(2, &flow("h1", "h0", 200, 3));
    let run = run(&text, &["host.retransmission_timeout=50us", &faults]);
    run.assert_sound();
    run.assert_drops_only("link-down");
    let times = run.drops().numbers("time_ns");
    assert!(times.iter().all(|time| (time - 3000) % 20_000 < 8000), "{times:?}");
    let periods: std::collections::BTreeSet<u64> =
        times.iter().map(|time| (time - 3000) / 20_000).collect();
    assert!(periods.len() > 3, "{periods:?}");
}

/// Eight flows of four hosts on each of two leaves, over two spines.
fn leaf_spine(faults: &str) -> String {
    let flows: String = (0..8)
        .map(|number| {
            let (from, to) = (number % 4, 4 + (number + number / 4) % 4);
            flow(&format!("h{from}"), &format!("h{to}"), 100, 3)
        })
        .collect();
    format!(
        r#"name = "faults"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = {{ rate = "8Gbps", delay = "1us" }}
fabric_link = {{ rate = "8Gbps", delay = "1us" }}
[switch]
buffer = "1MB"
lossless = [3]
threshold = {{ kind = "static", xoff = "20kB", xon = "15kB" }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
retransmission_timeout = "1ms"
{flows}{faults}"#
    )
}

/// Instants at which data packets crossed a wire.
fn crossings(run: &Run, wire: &str) -> Vec<u64> {
    let is_there = |frame: &&CapturedFrame| {
        run.scenario.fabric().wire(frame.wire).name == wire && frame.data().is_some()
    };
    run.frames().iter().filter(is_there).map(|frame| frame.arrival_ns).collect()
}

/// Switches that are notified at once use the other spine; their queued packets are lost and sent again.
pub fn routes_around_a_dead_link(run: Runner) {
    let down = |keys: &str| {
        let keys = format!("at = \"50us\", reroute = true{keys}");
        let fault = format!("faults=[{}]", fault("down", "leaf0-spine0", &keys));
        let run = run(&leaf_spine(""), &[CAPTURE_ALL, &fault]);
        run.assert_sound();
        run.assert_drops_only("link-down");
        run
    };
    let for_good = down("");
    let last = crossings(&for_good, "leaf0->spine0").into_iter().max().expect("it was used");
    assert!(last < 50_000 + FIRST_PACKET_NS + 1000, "{last}");
    let other = crossings(&for_good, "leaf0->spine1");
    assert!(other.iter().any(|&at| at > 60_000), "the other spine carries all");
    assert_eq!(for_good.summary.faults.expect("it has one").reroutes, 1);
    // The link comes up again, and is used again.
    let for_a_while = down(", for = \"100us\"");
    let after = crossings(&for_a_while, "leaf0->spine0").into_iter().filter(|&at| at > 150_000);
    assert_ne!(after.count(), 0);
    assert_eq!(for_a_while.summary.faults.expect("it has one").reroutes, 2);
    // Switches that are notified later go on sending there.
    let late = down(", reroute_after = \"100us\"");
    let sent_in_vain = |run: &Run| run.summary.drops.by_reason["link-down"];
    let (soon, later) = (sent_in_vain(&for_good), sent_in_vain(&late));
    assert!(later > soon + 20, "{soon} and {later}");
}

/// A host whose only link is down cannot be reached: its packets are dropped by name at the switch, without a report of
/// a limit.
pub fn no_route_is_left(run: Runner) {
    let keys = "at = \"5us\", for = \"200us\", reroute = true";
    let run = alone(run, &[fault("down", "h0-s0", keys)]);
    let reasons = &run.summary.drops.by_reason;
    assert!(reasons["unreachable"] > 10, "{reasons:?}");
    assert!(run.drops().rows().iter().all(|row| row.number("time_ns") < 205_000));
    assert!(!run.summary.lossless);
    assert_eq!(run.summary.drops.frame, 0);
    assert_eq!(run.summary.limits_reached, [""; 0]);
    assert_eq!(run.summary.faults.expect("it has one").reroutes, 2);
}

/// Faults of all kinds at once, with PFC.
pub fn everything() -> String {
    leaf_spine(
        r#"
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3", "h5", "h6"]
receiver = "h0"
bytes = "100kB"
priority = 3
[[faults]]
kind = "loss"
rate = 0.001
at = "20us"
[[faults]]
kind = "corrupt"
wire = "leaf*->*"
rate = 0.005
[[faults]]
kind = "delay"
wire = "leaf1-*"
delay = "1us"
jitter = "3us"
for = "500us"
[[faults]]
kind = "rate"
wire = "spine1->*"
rate = "3Gbps"
at = "30us"
for = "300us"
[[faults]]
kind = "down"
wire = "leaf0-spine0"
at = "40us"
for = "2ms"
reroute = true
reroute_after = "10us"
flap = { period = "200us", down_for = "90us" }
"#,
    )
}

/// All flows complete, and every frame is accounted for.
pub fn all_at_once(run: Runner) {
    let run = run(&everything(), &[CAPTURE_ALL]);
    run.assert_complete();
    assert!(run.summary.pause_frames > 0, "{:?}", run.summary);
    let faults = run.summary.faults.expect("it has some");
    for frames in [faults.lost, faults.corrupted, faults.sent_while_down, faults.delayed] {
        assert!(frames > 0, "{faults:?}");
    }
    assert!(faults.slowed > 0 && faults.reroutes > 3, "{faults:?}");
    let reasons = &run.summary.drops.by_reason;
    for (reason, frames) in [
        ("injected-loss", faults.lost),
        ("corrupted", faults.corrupted),
        ("link-down", faults.sent_while_down),
    ] {
        assert_eq!(reasons[reason], frames);
    }
}

/// The example of the documentation runs, with the documented effect.
pub fn documented_example(run: Runner) {
    let (_, rest) = EXAMPLE.split_once("```toml\n").expect("it has an example");
    let (text, _) = rest.split_once("```").expect("it ends");
    let run = run(text, &[]);
    run.assert_complete();
    let faults = run.summary.faults.expect("it has some");
    assert!(faults.corrupted > 0 && faults.sent_while_down > 0 && faults.delayed > 0, "{faults:?}");
    assert_eq!(faults.reroutes, 2);
}
