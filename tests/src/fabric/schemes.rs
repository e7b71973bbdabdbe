//! Headroom schemes: pauses under DSH, and schemes that lose packets.

use std::collections::{BTreeMap, BTreeSet};

use super::burst::{Burst, BurstFlow};
use super::one_switch::{flow, funnel, star};
use super::pause_obedience::assert_obeyed;
use super::{Run, Runner};

/// Follows the rows of each port through the states of queues and ports, and asserts that no class is resumed while its
/// queue or its port is OFF, and that the port's frames name all classes.
#[track_caller]
pub fn assert_levels(run: &Run) {
    let lossless: BTreeSet<u64> = run.scenario.switch.lossless.iter().map(u64::from).collect();
    let mut ports: BTreeMap<(String, u64), PortStates> = BTreeMap::new();
    for row in run.pauses().rows() {
        let (node, number) = (row.text("node").to_owned(), row.number("port"));
        let port = ports.entry((node, number)).or_default();
        let (now, class) = (row.number("time_ns"), row.number("priority"));
        let at = format!("{} port {number} class {class} at {now} ns", row.text("node"));
        match (row.text("level"), row.text("event")) {
            ("port", "xoff") => {
                assert!(port.since.is_none_or(|since| since == now), "{at}: the port is OFF");
                port.since = Some(now);
                port.spoken.insert(class);
                port.paused.insert(class);
            }
            ("port", "xoff-refresh") => assert!(port.since.is_some(), "{at}: the port is ON"),
            ("port", "xon") => {
                port.turn_on(&lossless, now, &at);
                assert!(port.paused.remove(&class), "{at}: it was not paused");
                port.resumed.insert(class, now);
            }
            ("queue", "xoff") => {
                assert!(port.since.is_none(), "{at}: the port's pause covers it");
                assert!(port.paused.insert(class), "{at}: it was paused");
            }
            ("queue", "xoff-refresh") => {
                // Where the port has just resumed, the queue's pause goes on.
                let goes_on = port.resumed.get(&class) == Some(&now);
                assert!(!port.paused.insert(class) || goes_on, "{at}: it was not paused");
            }
            ("queue", "xon") => {
                let takes_over = port.since.is_none_or(|since| since == now);
                assert!(takes_over, "{at}: the port's pause goes on");
                assert!(port.paused.remove(&class), "{at}: it was not paused");
            }
            other => panic!("{at}: {other:?}"),
        }
    }
    for (name, port) in &ports {
        assert!(port.since.is_none() && port.paused.is_empty(), "{name:?} is paused at the end");
    }
}

#[derive(Default)]
struct PortStates {
    /// Instant at which the port went OFF.
    since: Option<u64>,
    /// Classes of which that PAUSE spoke.
    spoken: BTreeSet<u64>,
    /// Classes that the neighbour may not send.
    paused: BTreeSet<u64>,
    /// When the port last resumed a class.
    resumed: BTreeMap<u64, u64>,
}

impl PortStates {
    fn turn_on(&mut self, lossless: &BTreeSet<u64>, now: u64, at: &str) {
        if let Some(since) = self.since.take() {
            assert!(since < now, "{at}: OFF and ON at once");
            let spoken = std::mem::take(&mut self.spoken);
            assert_eq!(spoken, *lossless, "{at}: a port's PAUSE names all lossless classes");
        }
    }
}

const DSH: &str = "switch.headroom={ kind = \"dsh\", port_xon_offset = \"2kB\" }";
const DT: &str = "switch.threshold={ kind = \"dt\", alpha = \"1/4\", xon_offset = \"2kB\" }";

/// Every host but h0 sends to h0 in each of these classes.
fn in_classes(senders: &[&str], classes: &[u8], kilobytes: u64) -> String {
    let of = |class: &u8| senders.iter().map(|src| flow(src, "h0", kilobytes, *class)).collect();
    classes.iter().map(of).collect::<Vec<String>>().concat()
}

/// An incast in four classes pauses queues and ports; both obey, and nothing is lost.
pub fn two_levels(run: Runner) {
    let text = star(4, &in_classes(&["h1", "h2", "h3"], &[0, 1, 3, 5], 30));
    let run = run(&text, &["switch.lossless=[0, 1, 3, 5]", "switch.buffer=270kB", DSH, DT]);
    run.assert_lossless();
    assert_levels(&run);
    assert_obeyed(&run);
    let pauses = run.pauses();
    for level in ["queue", "port"] {
        let count = pauses.with("level", level).filter(|row| row.text("event") == "xoff").count();
        assert_ne!(count, 0, "no {level} was paused");
    }
    for row in pauses.with("event", "xoff") {
        let (occupancy, threshold) = (row.number("occupancy_bytes"), row.number("threshold_bytes"));
        // T = (shared pool's free bytes) / 4, and X_poff = 4 T.
        let allocation = row.number("shared_free_bytes") / 4;
        match row.text("level") {
            "port" => assert_eq!(threshold, 4 * allocation),
            _ => assert!(occupancy > threshold && threshold <= allocation),
        }
    }
    let frames = run.frames();
    let classes = |speaks: fn(u16) -> bool| {
        let of_frame = |pfc: fabric_core::wire::PfcFrame| {
            (0..8).filter(|class| pfc.quanta_of(*class).is_some_and(speaks)).count()
        };
        frames.iter().filter_map(super::capture::CapturedFrame::pfc).map(of_frame).max()
    };
    assert_eq!(classes(|quanta| quanta != 0), Some(4), "one frame pauses the port");
}

/// Packets of h1 in three classes stay in the switch for long: the port's pause is renewed before its quanta run out,
/// so that h1 starts nothing meanwhile and insurance holds all that had been sent.
pub fn refreshed(run: Runner) {
    let text = funnel(&in_classes(&["h1"], &[1, 2, 3], 60));
    let settings = ["switch.lossless=[1, 2, 3]", "switch.pause_quanta=1000", "switch.buffer=70kB"];
    let run = run(&text, &[&settings[..], &[DSH, DT]].concat());
    run.assert_lossless();
    assert_levels(&run);
    let stops = assert_obeyed(&run);
    for class in [1, 2, 3] {
        let renewed = stops.iter().any(|stop| stop.priority == class && stop.renewals >= 4);
        assert!(renewed, "class {class}: {stops:?}");
    }
    let pauses = run.pauses();
    let of_port = |event| pauses.with("event", event).any(|row| row.text("level") == "port");
    assert!(of_port("xoff-refresh"));
}

/// Thresholds that the control plane computes: X_qoff of a queue and X_poff of a port are constant until they are
/// computed again.
pub fn stale(run: Runner) {
    let text = star(4, &in_classes(&["h1", "h2", "h3"], &[0, 1, 3, 5], 30));
    let settings = ["switch.lossless=[0, 1, 3, 5]", "switch.buffer=270kB", DSH, DT];
    let per_packet = run(&text, &settings);
    let period = "switch.thresholds={ period = \"10us\" }";
    let run = run(&text, &[&settings[..], &[period]].concat());
    run.assert_lossless();
    assert_levels(&run);
    assert_ne!(run.pauses().numbers("time_ns"), per_packet.pauses().numbers("time_ns"));
    let mut known: BTreeMap<(u64, Option<(u64, u64)>), u64> = BTreeMap::new();
    let mut repeated = 0;
    for row in run.pauses().with("event", "xoff") {
        let period = row.number("time_ns") / 10_000;
        // T is one for all, and with it X_poff; tau is each queue's own.
        let key = match row.text("level") {
            "port" => (period, None),
            _ => (period, Some((row.number("port"), row.number("priority")))),
        };
        let threshold = row.number("threshold_bytes");
        let first = *known.entry(key).or_insert(threshold);
        assert_eq!(first, threshold, "{key:?}");
        repeated += 1;
    }
    assert!(repeated > known.len(), "no threshold was used twice");
}

/// One class of h1 is congested, the other is not. Packets of the first after its PAUSE find shared headroom, and the
/// second is not affected. Without shared headroom they find insurance only, and the port is paused for both.
pub fn without_shared_headroom(run: Runner) {
    let text = funnel(&(flow("h1", "h0", 60, 1) + &flow("h1", "h2", 60, 2)));
    let victim = |shared: bool| {
        let headroom = format!("switch.scheme={{ kind = \"dsh\", shared_headroom = {shared} }}");
        let settings = ["switch.lossless=[1, 2]", "switch.buffer=100kB", &headroom, DT];
        let run = run(&text, &settings);
        run.assert_lossless();
        assert_levels(&run);
        assert_obeyed(&run);
        let pauses = run.pauses();
        assert!(pauses.with("level", "queue").next().is_some(), "the congested class is paused");
        assert_eq!(pauses.with("level", "port").next().is_none(), shared);
        run.flows().only("priority", "2").number("fct_ns")
    };
    let (undisturbed, paused) = (victim(true), victim(false));
    assert!(paused > 2 * undisturbed, "{undisturbed} and {paused} ns");
}

/// 100 Gbit/s, 2 us, 8 classes, and next to no shared buffer.
fn starved(flows: Vec<BurstFlow>) -> Burst {
    Burst {
        topology: "kind = \"star\"\nhosts = 6",
        fabric_link: None,
        gigabits: 100,
        fabric_gigabits: 100,
        delay_ns: 2000,
        payload: 1000,
        highest_lossless: 7,
        alpha: "1/2",
        thresholds: "\"per-packet\"",
        shared: 40_000,
        xon_offsets: (0, 0),
        private: 0,
        flows,
    }
}

/// Five hosts to h0 in all classes at once.
fn incast() -> Vec<BurstFlow> {
    let flow = |source: u8, class| BurstFlow {
        source,
        distance: 6 - source,
        class,
        kilobytes: 30,
        start_ns: 0,
    };
    (0..8).flat_map(|class| (1..6).map(move |source| flow(source, class))).collect()
}

/// Seeds of generated bursts, one of each topology. A change of their strategy gives other bursts; among the first 800
/// seeds today, 26 lose packets in both of the checks below.
const LOSING_SEEDS: [u64; 3] = [9, 535, 690];

/// Insurance headroom makes DSH lossless: equal generated bursts with it and without.
pub fn without_insurance(run: Runner) {
    for burst in LOSING_SEEDS.map(Burst::from_seed) {
        burst.run(run, "kind = \"dsh\"").assert_lossless();
        let run = burst.run(run, "kind = \"dsh\", insurance_headroom = false");
        run.assert_unsound("insurance-exhausted");
        run.assert_drops_only("insurance-exhausted");
        assert!(run.summary.headroom_max_bytes.values().all(|bytes| *bytes == 0));
    }
}

/// The least oversubscription by a whole number: generated bursts that lose nothing under SIH need more
/// than half of its headroom.
pub fn oversubscribed(run: Runner) {
    for burst in LOSING_SEEDS.map(Burst::from_seed) {
        burst.run(run, "kind = \"sih\"").assert_lossless();
        let run = burst.run(run, "kind = \"oversubscribed\", ratio = \"2\"");
        run.assert_unsound("headroom-pool-exhausted");
        run.assert_drops_only("headroom-pool-exhausted");
    }
}

/// The queues of a port share its link, so that headroom divided by eight is enough for this burst, in
/// which five of six ports need all of theirs; divided by sixteen it is not.
pub fn oversubscribed_by_queues(run: Runner) {
    let burst = starved(incast());
    burst.run(run, "kind = \"oversubscribed\", ratio = \"8\"").assert_lossless();
    let run = burst.run(run, "kind = \"oversubscribed\", ratio = \"16\"");
    run.assert_unsound("headroom-pool-exhausted");
    run.assert_drops_only("headroom-pool-exhausted");
}

/// Every ACK of this generated burst reaches into headroom and leaves it at once, under a threshold that is
/// shorter than an ACK: PAUSE and RESUME together take longer than the ACK, and the PAUSE that counts must
/// not wait for all that came before it.
pub fn flapping(run: Runner) {
    let run = Burst::from_seed(791).run(run, "kind = \"sih\"");
    run.assert_lossless();
    let pauses = run.pauses();
    let resumes = pauses.with("event", "xon").filter(|row| row.number("occupancy_bytes") == 0);
    assert!(resumes.count() > 100, "no queue flaps");
}
