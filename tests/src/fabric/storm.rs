//! PFC storms, and the effects of a switch's watchdog.

use std::path::Path;

use super::{Run, Runner, shipped};

/// Paused queues that wait for each other in a cycle.
const DEADLOCK: &str = include_str!("../../../scenarios/deadlock.toml");
/// Begin and end of the shipped scenario's storm, in nanoseconds.
const STORM: [u64; 2] = [1_000_000, 6_000_000];
/// Its times of detection and restoration; the watchdog looks every [`LOOK`].
const PATIENCE: u64 = 500_000;
const LOOK: u64 = 100_000;

/// The scenario that ships: h3 behind leaf1 storms, h0 sends to it, and h1 to h2.
pub fn scenario() -> String {
    shipped(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/storm.toml"))
}

/// The storm, if there was one: its only row.
fn storm(run: &Run) -> super::results::Table {
    let table = run.table("watchdog.csv");
    assert_eq!(table.rows().len(), 1, "{}", run.text("watchdog.csv"));
    table
}

/// Completion of a flow.
fn end_of(run: &Run, label: &str) -> u64 {
    let flows = run.flows();
    let mut of_label = flows.with("label", label);
    let flow = of_label.next().expect("it is in the scenario");
    flow.number("start_ns") + flow.number("fct_ns")
}

/// Time that a sender was paused by its neighbour.
fn paused_ns(run: &Run, node: &str, by: &str) -> u64 {
    let table = run.table("pause_time.csv");
    table
        .with("node", node)
        .filter(|row| row.text("by") == by)
        .map(|it| it.number("paused_ns"))
        .sum()
}

/// The storm was detected in time, at the port to h3.
fn assert_detected(run: &Run, action: &str) {
    let table = run.table("watchdog.csv");
    let row = table.only("node", "leaf1");
    assert_eq!([row.text("peer"), row.text("action")], ["h3", action]);
    assert_eq!(row.number("priority"), 3);
    let detected = row.number("detected_ns");
    // Packets wait as soon as the port has stopped, and a look finds them.
    let earliest = STORM[0] + PATIENCE;
    assert!((earliest..=earliest + 2 * LOOK).contains(&detected), "{detected}");
    assert_eq!(detected % LOOK, 0);
    assert!(row.number("waiting_packets") > 100);
}

/// A storm with a watchdog that only alerts: it spreads to the spine and to all senders, and the victim waits for its
/// end.
pub fn spreads_upstream(run: Runner) {
    let run = run(&scenario(), &["switch.watchdog.action=alert"]);
    run.assert_sound();
    assert!(run.summary.lossless, "{:?}", run.summary.drops);
    assert_detected(&run, "alert");
    for (node, by) in [("leaf1", "h3"), ("spine0", "leaf1"), ("leaf0", "spine0"), ("h1", "leaf0")] {
        let paused = paused_ns(&run, node, by);
        assert!(paused > 4_500_000, "{node} by {by} for {paused}");
    }
    assert!(end_of(&run, "victim") > STORM[1]);
    let totals = run.summary.watchdog.expect("there is a watchdog");
    assert_eq!(totals.egress_dropped_packets + totals.forwarded_packets, 0);
    // Nothing ends the storm, so the switches upstream detect one as well, at most a look later each.
    let table = run.table("watchdog.csv");
    let mut nodes: Vec<&str> = table.rows().iter().map(|row| row.text("node")).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["leaf0", "leaf1", "spine0"]);
}

/// Packets for h3 are dropped, and the victim goes on. The port is as before when the storm is over.
pub fn drops(run: Runner) {
    let run = run(&scenario(), &[]);
    run.assert_sound();
    run.assert_drops_only("watchdog-egress");
    assert!(!run.summary.lossless);
    assert_detected(&run, "drop");
    let table = storm(&run);
    let row = &table.rows()[0];
    let (detected, restored) = (row.number("detected_ns"), row.number("restored_ns"));
    let earliest = STORM[1] + PATIENCE;
    assert!((earliest..=earliest + LOOK + 2000).contains(&restored), "{restored}");
    // Drops by instant: all waiting packets at once.
    let drops = run.drops();
    assert!(drops.rows().iter().all(|drop| drop.text("class") == "watchdog"));
    let dropped = row.number("egress_dropped_packets");
    assert_eq!(dropped, drops.rows().len() as u64);
    assert_eq!(Some(dropped), run.summary.drops.watchdog);
    let bytes: u64 = drops.rows().iter().map(|drop| drop.number("bytes")).sum();
    assert_eq!(row.number("egress_dropped_bytes"), bytes);
    let at_once = drops.rows().iter().filter(|drop| drop.number("time_ns") == detected).count();
    assert!(at_once as u64 >= row.number("waiting_packets"));
    assert!(drops.rows().iter().all(|drop| (detected..restored).contains(&drop.number("time_ns"))));
    // 4 MB take 3.4 ms; the victim waited from the first pause of h1 to the detection.
    assert!(end_of(&run, "victim") < 4_400_000, "{}", end_of(&run, "victim"));
    assert!(end_of(&run, "to-h3") > restored);
    assert!(paused_ns(&run, "h1", "leaf0") < PATIENCE + 2 * LOOK);
}

/// The port sends in spite of the pauses: nothing is lost, and no frame counts as a violation of a pause.
pub fn forwards(run: Runner) {
    let run = run(&scenario(), &["switch.watchdog.action=forward"]);
    run.assert_lossless();
    assert_detected(&run, "forward");
    let table = storm(&run);
    let row = &table.rows()[0];
    assert!(row.number("forwarded_packets") > 2000, "{}", row.number("forwarded_packets"));
    assert!(row.number("forwarded_bytes") > 1000 * row.number("forwarded_packets"));
    for label in ["victim", "to-h3"] {
        assert!(end_of(&run, label) < STORM[1], "{label} {}", end_of(&run, label));
    }
    // Paused until the detection, and no longer.
    let paused = paused_ns(&run, "leaf1", "h3");
    assert!((PATIENCE..=PATIENCE + 2 * LOOK).contains(&paused), "{paused}");
}

/// Packets that leave until the storm counts as over, and that no pause forbids any more, are not sent in spite of one.
pub fn forwards_in_spite_of_pauses_alone(run: Runner) {
    let settings = [
        "switch.watchdog.action=forward",
        "switch.watchdog.restoration_time=4ms",
        "flows.0.bytes=8MB",
    ];
    for end in [STORM[1], STORM[0] + 3_000_000] {
        let length = format!("storms.0.for={}ns", end - STORM[0]);
        let run = run(&scenario(), &[&settings[..], &[&length]].concat());
        run.assert_lossless();
        assert!(end_of(&run, "to-h3") > end + 500_000, "it sends when the storm is over, too");
        let table = storm(&run);
        let row = &table.rows()[0];
        // Bytes that leave in a row at 10 Gbit/s, for as long as pauses are ignored.
        let forwarded_ns = row.number("forwarded_bytes") * 8 / 10;
        let ignored_ns = end - row.number("detected_ns");
        assert!(forwarded_ns < ignored_ns + 3000, "{forwarded_ns} in {ignored_ns} ns");
        assert!(forwarded_ns > ignored_ns * 9 / 10, "{forwarded_ns} in {ignored_ns} ns");
    }
}

/// A storm that is shorter than the detection time is a pause like others, watchdog or not.
pub fn short_storms_are_pauses(run: Runner) {
    let text = scenario();
    let (with, without) = text.split_once("[switch.watchdog]").expect("it has one");
    let (_, without) = without.split_once("[host]").expect("it has hosts");
    let plain = format!("{with}[host]{without}");
    let short = "storms.0.for=550us";
    let patient = "switch.watchdog.detection_time=700us";
    let watched = run(&text, &[short, patient]);
    watched.assert_lossless();
    assert_eq!(watched.table("watchdog.csv").rows().len(), 0);
    let unwatched = run(&plain, &[short]);
    assert!(!unwatched.has("watchdog.csv"));
    watched.assert_same_but_for(&unwatched, &["watchdog.csv", "summary.json"]);
    assert!(paused_ns(&watched, "h1", "leaf0") > 300_000, "though it holds up the victim");
}

/// Packets that h3 sends in the priority of its storm are dropped, too; its packets of other priorities are not.
pub fn drops_what_comes_from_the_storm(run: Runner) {
    let flow = |priority: u8| {
        format!(
            "[[flows]]\nkind = \"one\"\nlabel = \"from-h3-{priority}\"\nsrc = \"h3\"\ndst = \"h0\"\nbytes = \"4MB\"\npriority = {priority}\n"
        )
    };
    let text = format!("{}{}{}", scenario(), flow(3), flow(4));
    let run = run(&text, &["switch.lossless=[3, 4]"]);
    run.assert_sound();
    let reasons = &run.summary.drops.by_reason;
    let names: Vec<&str> = reasons.keys().map(String::as_str).collect();
    assert_eq!(names, ["watchdog-egress", "watchdog-ingress"]);
    let table = storm(&run);
    let row = &table.rows()[0];
    assert_eq!(row.number("ingress_dropped_packets"), reasons["watchdog-ingress"]);
    assert_eq!(row.number("egress_dropped_packets"), reasons["watchdog-egress"]);
    assert!(end_of(&run, "from-h3-3") > STORM[1]);
    let drops = run.drops();
    assert!(drops.rows().iter().all(|drop| drop.number("priority") == 3));
    assert!(drops.with("reason", "watchdog-ingress").all(|drop| drop.number("port") == 1));
}

/// Storms and watchdogs under every scheme, and with several queues per priority.
pub fn books_close_under_every_scheme(run: Runner) {
    let flow_queues = "switch.flow_queues=[{ priority = 3, queues = 8 }]";
    let bfc = "switch.scheme={ kind = \"bfc\" }";
    for settings in [
        &["switch.scheme={ kind = \"dsh\" }"][..],
        &["switch.scheme={ kind = \"oversubscribed\", ratio = 2 }"],
        &["switch.headroom={ kind = \"adaptive\" }"],
        &[flow_queues],
        &[bfc],
    ] {
        for action in ["drop", "forward", "alert"] {
            let action_key = format!("switch.watchdog.action={action}");
            let settings: Vec<&str> = settings.iter().copied().chain([&*action_key]).collect();
            let run = run(&scenario(), &settings);
            run.assert_complete();
            // Who forwards in spite of a neighbour's pauses may overfill it.
            assert!(run.is_sound() || action == "forward", "{settings:?}: {:?}", run.summary);
            let totals = run.summary.watchdog.expect("there is a watchdog");
            // Under DSH the spine is paused so early that its watchdog detects a storm at the same look.
            assert!(totals.storms > 0, "{settings:?}");
            assert_eq!(totals.egress_dropped_packets > 0, action == "drop", "{settings:?}");
            assert_eq!(totals.forwarded_packets > 0, action == "forward", "{settings:?}");
        }
    }
}

/// Storms without an end: the run ends by its duration with the storm in force.
pub fn lasts_until_the_end(run: Runner) {
    let text = scenario().replace("for = \"5ms\"\n", "");
    let run = run(&text, &["duration=5ms"]);
    assert!(!run.is_sound(), "the flow to h3 is not done");
    let table = storm(&run);
    let row = &table.rows()[0];
    assert_eq!(row.text("restored_ns"), "");
    let totals = run.summary.watchdog.expect("there is a watchdog");
    assert_eq!(totals.storm_ns, 5_000_000 - row.number("detected_ns"));
    assert_eq!(run.summary.books, Vec::<String>::new());
    assert!(end_of(&run, "victim") < 4_400_000);
}

/// A deadlock in which no queue can resume is broken by a watchdog: some packets are lost, and all flows are done.
pub fn breaks_deadlocks(run: Runner) {
    let watchdog = "switch.watchdog={ detection_time = \"200us\", restoration_time = \"200us\", poll_interval = \"50us\" }";
    let run = run(DEADLOCK, &["stop=done", "duration=50ms", watchdog]);
    run.assert_sound();
    let drops = &run.summary.drops;
    assert!(drops.lost() > 0 && drops.watchdog == Some(drops.lost()), "{drops:?}");
    let deadlock = run.summary.deadlock;
    assert!(deadlock.deadlocks >= 1 && !deadlock.at_end, "{deadlock:?}");
    let totals = run.summary.watchdog.expect("there is a watchdog");
    assert!(totals.storms >= 1 && totals.restored == totals.storms, "{totals:?}");
}
