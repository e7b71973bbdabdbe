//! BFC: queues of their own for flows, and pauses of single queues.

use std::collections::{BTreeMap, BTreeSet};

use results::RunEnd;

use super::one_switch::flow;
use super::results::Row;
use super::{CAPTURE_ALL, Run, Runner};

/// Switches s0 and s1 with four hosts each, all links 100 Gbit/s and 1 us, so HRTT is 2 us and a queue that is alone
/// pauses above 25 kB.
pub(super) fn dumbbell(flows: &str) -> String {
    format!(
        r#"
name = "bfc"
[topology]
kind = "dumbbell"
left = 4
right = 4
host_link = {{ rate = "100Gbps", delay = "1us" }}
bottleneck = {{ rate = "100Gbps", delay = "1us" }}
[switch]
buffer = "4MB"
lossless = []
scheme = {{ kind = "bfc", queues = 16 }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "1us"
{flows}"#
    )
}

/// Every pause of a queue is resumed, in turns.
pub(super) fn assert_paired(run: &Run) {
    let mut paused: BTreeMap<(String, u64, u64), bool> = BTreeMap::new();
    for row in run.table("queue_pauses.csv").rows() {
        let queue = (row.text("node").to_owned(), row.number("port"), row.number("queue"));
        let stops = row.text("event") == "xoff";
        let before = paused.insert(queue, stops).unwrap_or(false);
        assert_ne!(before, stops, "pauses and resumes take turns");
        if stops {
            assert!(row.number("length_bytes") > row.number("threshold_bytes"));
        }
    }
    assert!(paused.values().all(|paused| !paused), "a queue is paused at the end");
}

/// Two flows from the left go to one host at the right, to which a third host sends, and another flow from the left
/// goes elsewhere: it gets the rest of the link between the switches, because only their queues are paused.
pub fn no_head_of_line_blocking(run: Runner) {
    let flows = flow("h0", "h4", 1000, 3)
        + &flow("h1", "h4", 1000, 3)
        + &flow("h5", "h4", 1000, 3)
        + &flow("h6", "h4", 1000, 3)
        + &flow("h2", "h7", 1000, 3);
    let text = dumbbell(&flows);
    let alone = run(&text, &[]);
    let one_queue = run(&text, &["switch.scheme.queues=1"]);
    for run in [&alone, &one_queue] {
        run.assert_lossless();
        assert_paired(run);
    }
    let time = |run: &Run| run.flows().only("label", "h2").number("fct_ns");
    // h4 gets a quarter of its link from each of four; so the link between the switches has half of itself for h2.
    let ideal = 1_000_000 * 8 / 100;
    let times = [&alone, &one_queue].map(time);
    assert!(times[0] < 5 * ideal / 2, "{times:?}");
    assert!(times[1] > 3 * ideal, "in one queue with others it waits for them: {times:?}");
    // Queues stay short: a threshold, plus arrivals until the pause takes effect.
    let longest = |run: &Run| {
        let queues = run.table("egress_queues.csv");
        queues.rows().iter().map(|row| row.number("bytes")).max().expect("samples")
    };
    assert!(longest(&alone) < 60_000, "{} B", longest(&alone));
}

/// For these flows, each pause names the flows that it holds at the paused node. In a single queue, these include the
/// flow that goes elsewhere.
pub fn pauses_report_what_they_hold(run: Runner) {
    let sources = ["h0", "h1", "h5", "h6"];
    let flows: String = sources.iter().map(|source| flow(source, "h4", 1000, 3)).collect();
    let text = dumbbell(&(flows + &flow("h2", "h7", 1000, 3)));
    for (queues, held_by_s0, busiest) in
        [(16, vec![0, 1], ("s1", 4)), (1, vec![0, 1, 4], ("s0", 3))]
    {
        let queues = format!("switch.scheme.queues={queues}");
        let run = run(&text, &["results.held_flows=true", &queues]);
        let pauses = run.table("queue_pauses.csv");
        let begins: BTreeSet<_> = pauses
            .with("event", "xoff")
            .map(|row| (row.text("peer"), row.text("node"), row.number("queue")))
            .collect();
        let held = run.table("held_flows.csv");
        let mut flows: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for row in held.rows() {
            let place = (row.text("node"), row.number("queue"), row.number("flow"));
            assert!(seen.insert((row.number("time_ns"), place)), "one row for a flow: {row:?}");
            flows.entry(row.text("node")).or_default().insert(row.number("flow"));
            let pause = (row.text("node"), row.text("by"), row.number("queue"));
            assert!(begins.contains(&pause), "{pause:?}");
        }
        assert!(flows["s0"].iter().copied().eq(held_by_s0), "{flows:?}");
        for (flow, source) in (0..).zip(sources) {
            assert!(flows[source].iter().eq(&[flow]), "{flows:?}");
        }
        let active = run.summary.active_flows.expect("flows were active");
        let (node, _) = active.busiest_port.split_once(':').expect("a switch and a port");
        let found = (node, active.busiest.max);
        assert_eq!((found, active.ports.max), (busiest, 4), "h4 has four senders: {active:?}");
    }
}

/// Flows of 20 kB have left their hosts when the first pauses come in there.
pub fn pauses_hold_nothing_that_is_sent(run: Runner) {
    let sources = ["h0", "h1", "h2", "h3", "h5", "h6", "h7"];
    let flows: String = sources.iter().map(|source| flow(source, "h4", 20, 3)).collect();
    let run = run(&dumbbell(&flows), &["results.held_flows=true"]);
    let pauses = run.table("queue_pauses.csv");
    assert!(pauses.rows().iter().any(|row| row.text("peer").starts_with('h')), "hosts are paused");
    let held = run.table("held_flows.csv");
    assert!(held.rows().iter().all(|row| !row.text("node").starts_with('h')), "{held:?}");
}

/// Lossless, with PFC beneath; and lossy in a buffer that is too small, where go-back-N repairs.
pub fn over_pfc_and_over_a_small_buffer(run: Runner) {
    let flows: String = (0..4)
        .flat_map(|source| (0..12).map(move |_| flow(&format!("h{source}"), "h4", 60, 3)))
        .collect();
    let text = dumbbell(&flows);
    let lossless = run(&text, &["switch.lossless=[3]", "switch.buffer=2MB", CAPTURE_ALL]);
    lossless.assert_lossless();
    assert_paired(&lossless);
    let small = run(
        &text,
        &["switch.buffer=60kB", "switch.scheme.queues=4", "host.retransmission_timeout=200us"],
    );
    assert!(!small.summary.lossless && small.summary.flows_completed == 48);
    assert_paired(&small);
}

/// More flows than queues, of two priorities.
pub fn two_priorities_and_collisions(run: Runner) {
    let flows: String = (0..60)
        .map(|number| {
            let (source, sink) = (number % 4, 4 + number / 4 % 4);
            flow(&format!("h{source}"), &format!("h{sink}"), 30, [3, 5][number % 2])
        })
        .collect();
    let settings = ["switch.scheme.priorities=[3, 5]", "switch.scheme.queues=3", CAPTURE_ALL];
    let dynamic = run(&dumbbell(&flows), &settings);
    dynamic.assert_lossless();
    assert_paired(&dynamic);
    assert!(dynamic.summary.queue_pauses.is_some_and(|totals| totals.pauses > 0));
    let stochastic = "switch.scheme.assignment=stochastic";
    let stochastic = run(&dumbbell(&flows), &[&settings[..], &[stochastic]].concat());
    stochastic.assert_lossless();
    assert_paired(&stochastic);
}

/// Any one pause, resume or bitmap may be lost: a bitmap later nothing is paused that should not be.
pub fn any_lost_frame_is_made_up_for(run: Runner) {
    let flows = flow("h0", "h4", 100, 3) + &flow("h1", "h4", 100, 3) + &flow("h5", "h4", 100, 3);
    let text = dumbbell(&flows);
    let duration = "duration=2ms";
    let whole = run(&text, &[duration, r#"captures=[{ wires = ["*"], filter = "hop-control" }]"#]);
    whole.assert_lossless();
    let mut frames: BTreeMap<String, u64> = BTreeMap::new();
    for frame in whole.frames() {
        *frames.entry(whole.scenario.fabric().wire(frame.wire).name.clone()).or_default() += 1;
    }
    assert!(frames.values().sum::<u64>() > 20, "{frames:?}");
    let mut stuck = 0;
    for (wire, frames) in frames {
        for number in 1..=frames {
            let lost = format!(
                "faults=[{{ kind = \"loss\", wire = \"{wire}\", match = \"hop-control\", nth = [{number}] }}]"
            );
            assert_goes_on(&run(&text, &[duration, &lost]), &whole, &format!("{wire} {number}"));
            let rare = "switch.scheme.bitmap_period=1ms";
            stuck +=
                u32::from(run(&text, &[duration, &lost, rare]).summary.emulated_ns > 1_000_000);
        }
    }
    assert!(stuck > 0, "a lost resume stops its queue until the next bitmap");
}

/// One in a hundred such frames is lost, and one in ten.
pub fn random_losses_are_made_up_for(run: Runner) {
    let flows: String = (0..4)
        .flat_map(|source| (0..6).map(move |_| flow(&format!("h{source}"), "h4", 100, 3)))
        .collect();
    let text = dumbbell(&flows);
    let whole = run(&text, &[]);
    for seed in 1..=5 {
        for rate in ["0.01", "0.1"] {
            let lost =
                format!("faults=[{{ kind = \"loss\", match = \"hop-control\", rate = {rate} }}]");
            let lossy = run(&text, &[&format!("seed={seed}"), &lost]);
            assert_goes_on(&lossy, &whole, &format!("seed {seed}, rate {rate}"));
        }
    }
}

/// All flows complete without a timeout, and not much later than in a run without losses: a lost resume costs at most a
/// bitmap period.
fn assert_goes_on(lossy: &Run, whole: &Run, about: &str) {
    const BITMAP_PERIOD: u64 = 10_000;
    let (summary, other) = (&lossy.summary, &whole.summary);
    assert_eq!(summary.flows_completed, other.flows_completed, "{about}");
    assert_eq!((summary.retransmitted_packets, &summary.books), (0, &Vec::new()), "{about}");
    let latest = other.emulated_ns + other.emulated_ns / 10 + 3 * BITMAP_PERIOD;
    assert!(summary.emulated_ns <= latest, "{about}: {} ns", summary.emulated_ns);
}

/// NICs that take no part: the switch cannot pause them, so windows keep flows from filling it.
pub fn nics_that_obey_nothing(run: Runner) {
    let flows = flow("h0", "h4", 400, 3) + &flow("h1", "h4", 400, 3) + &flow("h5", "h4", 400, 3);
    let settings = ["host.queue_pauses=false", "host.transport.window=bdp", CAPTURE_ALL];
    let run = run(&dumbbell(&flows), &settings);
    run.assert_lossless();
    let hosts = run
        .table("queue_pauses.csv")
        .rows()
        .iter()
        .filter(|row| row.text("peer").starts_with('h'))
        .count();
    assert_eq!(hosts, 0, "packets of NICs name no queue");
    assert!(!run.table("queue_pauses.csv").rows().is_empty(), "s1 pauses s0");
}

/// Four switches in a ring whose routes all lead one way round, under BFC in a lossy buffer, with one queue a port,
/// which the flows to both following switches share.
const RING: &str = include_str!("../../../scenarios/deadlock-ring.toml");
const ONE_LOSSY_QUEUE: [&str; 4] = [
    "stop=done",
    "switch.lossless=[]",
    "switch.scheme={ kind = \"bfc\", queues = 1 }",
    "host.retransmission_timeout=200us",
];
const PREVENTED: &str = "switch.scheme.prevent_deadlocks=true";

/// Each switch's pause waits for the next switch's pause, for ever. If one switch of the ring does not pause for
/// packets that go on round it, all flows complete.
pub fn a_ring_deadlocks_unless_it_is_prevented(run: Runner) {
    let between =
        |row: &&Row| row.text("node").starts_with('s') && row.text("peer").starts_with('s');
    let stuck = run(RING, &ONE_LOSSY_QUEUE);
    assert_eq!((stuck.summary.ended, stuck.summary.flows_completed), (RunEnd::Duration, 0));
    let deadlocks = stuck.table("deadlocks.csv");
    let deadlock = deadlocks.only("levels", &["flow-queue-0"; 4].join(" "));
    let wires: BTreeSet<&str> = deadlock.text("queues").split(' ').collect();
    assert!(wires.into_iter().eq(["s0->s1", "s1->s2", "s2->s3", "s3->s0"]), "{deadlock:?}");
    assert!(stuck.summary.deadlock.at_end && stuck.summary.deadlock.deadlocks == 1);
    let stopped = run(RING, &[&["stop=deadlock"], &ONE_LOSSY_QUEUE[1..]].concat());
    assert_eq!(stopped.summary.ended, RunEnd::Deadlock);
    let confirmed = deadlock.number("confirmed_ns");
    assert!(confirmed < 500_000 && stopped.summary.emulated_ns == confirmed, "{confirmed}");
    let totals = stuck.summary.queue_pauses.expect("switches pause queues");
    assert!(totals.longest_ns > 19_900_000, "{totals:?}");
    let pauses = stuck.table("queue_pauses.csv");
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for row in pauses.rows().iter().filter(between) {
        last.insert(row.text("node"), row.text("event"));
    }
    let for_ever = ["s0", "s1", "s2", "s3"].map(|switch| (switch, "xoff"));
    assert!(last.into_iter().eq(for_ever), "each one pauses the one before it");

    let freed = run(RING, &[&ONE_LOSSY_QUEUE[..], &[PREVENTED]].concat());
    assert_eq!((freed.summary.ended, freed.summary.flows_completed), (RunEnd::Drained, 4));
    assert_paired(&freed);
    assert!(freed.table("deadlocks.csv").rows().is_empty());
    let pauses = freed.table("queue_pauses.csv");
    let pausing = pauses.rows().iter().filter(between).map(|row| row.text("node"));
    let pausing: BTreeSet<&str> = pausing.collect();
    // s2 is the lowest switch: packets from s1 to s3 come down and go up again.
    assert!(!pausing.contains("s2") && pausing.contains("s1"), "{pausing:?}");
    assert!(!freed.summary.lossless, "what is not paused may be lost");
}

/// The shortest paths of a Clos without failures take no turn that is elided.
pub fn prevention_changes_nothing_in_a_whole_clos(run: Runner) {
    let text = include_str!("../../../scenarios/bfc.toml");
    let [plain, prevented] = [&[][..], &[PREVENTED]].map(|overrides| run(text, overrides));
    assert!(plain.summary.queue_pauses.is_some_and(|totals| totals.pauses > 0));
    prevented.assert_same_as(&plain);
}
