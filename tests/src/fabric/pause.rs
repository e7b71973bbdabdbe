//! PAUSE and RESUME between a switch and its senders: refresh, expiry, and their loss.

use super::burst::Burst;
use super::capture::wire_named;
use super::one_switch::{QUANTUM_NS, RESPONSE_NS, flow, funnel, loss, star, two_to_one};
use super::pause_obedience::{Stop, assert_obeyed};
use super::{Run, Runner};

/// The stops of h1 in priority 3.
fn stops_of_h1(run: &Run) -> Vec<Stop> {
    let wire = wire_named(run.scenario.fabric(), "h1->s0");
    assert_obeyed(run).into_iter().filter(|stop| stop.wire == wire && stop.priority == 3).collect()
}

/// Starts of data frames of priority 3 on h1's link.
fn starts_of_h1(run: &Run) -> Vec<u64> {
    let wire = wire_named(run.scenario.fabric(), "h1->s0");
    let data = |frame: &super::capture::CapturedFrame| frame.wire == wire && frame.data().is_some();
    run.frames().into_iter().filter(data).map(|frame| frame.start_ns).collect()
}

/// Frames around the first stop: the last one that began before it, and the first one after it.
fn around(run: &Run, stop: &Stop) -> (u64, u64) {
    let starts = starts_of_h1(run);
    let after = starts.partition_point(|start| *start < stop.binds_ns);
    (starts[after - 1], starts[after])
}

/// Congestion that lasts longer than the quanta: PAUSE is renewed at half of them until it ends, so that the
/// sender never starts a frame in between.
pub fn refreshed_while_congested(run: Runner) {
    let run = run(&two_to_one(3), &["switch.pause_quanta=100"]);
    run.assert_lossless();
    let stops = stops_of_h1(&run);
    assert!(stops.iter().any(|stop| stop.renewals >= 4), "{stops:?}");
    assert!(run.summary.pause_refresh_frames >= 8);
    for port in ["1", "2"] {
        let pauses = run.pauses();
        let mut due = None;
        for row in pauses.with("port", port) {
            let now = row.number("time_ns");
            match row.text("event") {
                "xoff-refresh" => assert_eq!(Some(now), due, "a refresh after half the quanta"),
                "xoff" => assert_eq!(due, None, "one PAUSE until the RESUME"),
                _ => {}
            }
            due = (row.text("event") != "xon").then_some(now + 100 * QUANTUM_NS / 2);
        }
        assert_eq!(due, None, "the last pause was resumed");
    }
}

/// A NIC obeys within its response time, which may be shorter than the standard's, and goes on at the arrival of
/// RESUME.
pub fn response_time(run: Runner) {
    for response in [RESPONSE_NS, 2000, 0] {
        let setting = format!("host.pause_response={response}ns");
        let run = run(&two_to_one(3), &[&setting]);
        run.assert_lossless();
        let stops = stops_of_h1(&run);
        let stop = stops.first().expect("h1 is paused");
        assert_eq!(stop.binds_ns, stop.received_ns + response);
        let (last, next) = around(&run, stop);
        assert!(last + super::one_switch::PACKET_NS >= stop.binds_ns, "line rate until it binds");
        assert_eq!(next, stop.ends_ns, "line rate again from RESUME on");
    }
}

/// A PAUSE without renewal ends after its quanta, to the nanosecond; the next refresh that gets through stops the
/// sender again. Headroom holds the packets in between.
pub fn quanta_expire(run: Runner) {
    let text = funnel(&flow("h1", "h0", 300, 3));
    let lost = loss("s0->h1", "pause", "nth = [2, 3, 4]");
    let headroom = "switch.headroom={ kind = \"sih\", bytes = \"100kB\" }";
    let run = run(&text, &["switch.pause_quanta=1000", &lost, headroom]);
    run.assert_sound();
    run.assert_drops_only("injected-loss");
    assert_eq!(run.summary.retransmitted_packets, 0);
    let stop = stops_of_h1(&run)[0];
    assert_eq!((stop.renewals, stop.ends_ns), (0, stop.received_ns + 1000 * QUANTUM_NS));
    let (before, next) = around(&run, &stop);
    assert!(before < stop.received_ns + RESPONSE_NS);
    assert_eq!(next, stop.received_ns + 1000 * QUANTUM_NS, "the sender resumes at expiry");
    let second = stops_of_h1(&run)[1];
    let refreshes = run.pauses().with("event", "xoff-refresh").take(4).count();
    assert_eq!(refreshes, 4);
    // Decided two pause times after the first PAUSE, and as long on its way.
    assert!(second.received_ns.abs_diff(stop.received_ns + 2000 * QUANTUM_NS) < 2 * 84);
}

/// Without room for packets after the expiry, packets are lost for lack of headroom, and go-back-N repairs it.
pub fn quanta_expire_without_headroom(run: Runner) {
    let text = funnel(&flow("h1", "h0", 300, 3));
    let lost = loss("s0->h1", "pause", "nth = [2, 3, 4]");
    let run = run(&text, &["switch.pause_quanta=1000", &lost]);
    run.assert_unsound("headroom-exhausted");
    let drops = &run.summary.drops;
    assert_eq!(drops.injected, 3);
    assert!(drops.policy > 0 && drops.policy == drops.by_reason["headroom-exhausted"], "{drops:?}");
    assert_eq!(drops.lost(), drops.policy + drops.injected);
    assert!(run.summary.retransmitted_packets >= drops.policy);
}

/// The first PAUSE is lost. The sender goes on until the refresh. A refresh after a tenth of the quanta comes in time
/// for headroom of 100 kB, and too late for the headroom of a PAUSE that arrives.
pub fn lost_pause(run: Runner) {
    let text = funnel(&flow("h1", "h0", 300, 3));
    let lost = loss("s0->h1", "pause", "nth = [1]");
    let settings = ["switch.pause_quanta=5000", "switch.pause_refresh=1/10", lost.as_str()];

    let headroom = "switch.headroom={ kind = \"sih\", bytes = \"100kB\" }";
    let saved = run(&text, &[&settings[..], &[headroom]].concat());
    saved.assert_sound();
    saved.assert_drops_only("injected-loss");
    let pauses = saved.pauses();
    let refresh = pauses.with("event", "xoff-refresh").next().expect("it is refreshed");
    assert_eq!(
        refresh.number("time_ns"),
        pauses.rows()[0].number("time_ns") + 500 * QUANTUM_NS,
        "after a tenth of 5000 quanta"
    );
    let first = stops_of_h1(&saved)[0];
    assert!(first.received_ns > refresh.number("time_ns"), "the refresh is what stops h1");

    let starved = run(&text, &settings);
    starved.assert_unsound("headroom-exhausted");
    let drops = &starved.summary.drops;
    assert_eq!(drops.by_reason["injected-loss"], 1);
    assert!(drops.by_reason["headroom-exhausted"] > 0, "{drops:?}");
    assert_eq!(drops.by_reason.len(), 2, "{drops:?}");
    for row in starved.drops().with("reason", "headroom-exhausted") {
        assert!(
            row.number("time_ns") < first.binds_ns + 2000 + 2 * 1082,
            "none once h1 is stopped"
        );
    }
}

/// Every RESUME to h1 is lost: it waits until its quanta expire, and then goes on. Only time is lost.
pub fn lost_resume(run: Runner) {
    let settings = ["switch.pause_quanta=1000"];
    let unharmed = run(&two_to_one(3), &settings);
    unharmed.assert_lossless();
    let lost = loss("s0->h1", "resume", "rate = 1.0");
    let run = run(&two_to_one(3), &[&settings[..], &[&lost]].concat());
    run.assert_sound();
    run.assert_drops_only("injected-loss");
    assert_eq!(run.summary.retransmitted_packets, 0);
    let stops = stops_of_h1(&run);
    assert!(!stops.is_empty());
    let starts = starts_of_h1(&run);
    for stop in &stops {
        let length = stop.ends_ns - stop.received_ns;
        assert!(length >= 1000 * QUANTUM_NS, "no RESUME ends {stop:?}");
        let next = starts.iter().find(|start| **start >= stop.binds_ns);
        assert!(next.is_none_or(|start| *start == stop.ends_ns), "{stop:?} then {next:?}");
    }
    let fct = |run: &Run| run.flows().only("label", "h1").number("fct_ns");
    assert!(fct(&run) > fct(&unharmed), "h1 has waited for the expiry");
}

/// PAUSE travels back through a fabric: a leaf pauses spines, spines pause leaves, leaves pause hosts, and
/// each of them obeys.
pub fn through_a_fabric(run: Runner) {
    let run = run(LEAF_SPINE_INCAST, &[]);
    run.assert_lossless();
    let stops = assert_obeyed(&run);
    let fabric = run.scenario.fabric();
    for sender in ["spine0", "spine1", "leaf1", "h1", "h4"] {
        let stopped = |stop: &&Stop| fabric.node(fabric.wire(stop.wire).from).name == sender;
        assert!(stops.iter().any(|stop| stopped(&stop)), "{sender} is paused");
    }
}

/// Switches that obey at once. Some of their generated frames begin in the nanosecond in which a PAUSE arrives: at an
/// earlier picosecond, or at the same one but before it. The auditor reports none of them.
pub fn obeyed_at_once(run: Runner) {
    for burst in [13, 25].map(Burst::from_seed) {
        let at_once = ["switch.pause_response=0ns"];
        burst.run_with(run, "kind = \"sih\"", &at_once).assert_lossless();
    }
}

const LEAF_SPINE_INCAST: &str = r#"
name = "leaf-spine-incast"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "8Gbps", delay = "1us" }
fabric_link = { rate = "8Gbps", delay = "1us" }
[switch]
buffer = "500kB"
threshold = { kind = "static", xoff = "10kB", xon = "8kB" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
[results]
queue_period = "10us"
[[captures]]
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3", "h4", "h5", "h6", "h7"]
receiver = "h0"
bytes = "100kB"
"#;

/// A queue or port pauses because of its bytes, including the packet that came and the bytes in headroom.
#[track_caller]
pub fn assert_pauses_exceed(run: &Run) {
    for row in run.pauses().with("event", "xoff") {
        let (occupancy, threshold) = (row.number("occupancy_bytes"), row.number("threshold_bytes"));
        assert!(occupancy >= threshold, "{}: {row:?}", run.scenario.name);
    }
}

/// If X_off is above the room of the shared pool, a pause reports that room as the limit: under static thresholds,
/// under DT with a large alpha, and for ports under DSH with and without shared headroom.
pub fn beyond_the_pool(run: Runner) {
    let senders = ["h1", "h2", "h3"].map(|host| flow(host, "h0", 100, 3)).concat();
    let large = "switch.threshold={ kind = \"dt\", alpha = \"64\" }";
    for settings in [
        &["switch.threshold={ kind = \"static\", xoff = \"60kB\", xon = \"50kB\" }"][..],
        &[large],
        &[large, "switch.scheme={ kind = \"dsh\" }"],
        &[large, "switch.scheme={ kind = \"dsh\", shared_headroom = false }"],
    ] {
        let run = run(&star(4, &senders), &[settings, &["switch.buffer=180kB"]].concat());
        run.assert_sound();
        assert_pauses_exceed(&run);
        let pauses = run.pauses();
        let limited = |row: &&super::results::Row| {
            let free = row.number("shared_free_bytes");
            free < 1058 && row.number("threshold_bytes") < 60_000
        };
        assert_ne!(pauses.with("event", "xoff").filter(limited).count(), 0, "{settings:?}");
    }
}
