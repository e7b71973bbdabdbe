//! Priorities whose flows are spread over several egress queues of a port.

use std::collections::{BTreeMap, BTreeSet};

use results::RunEnd;

use super::one_switch::flow;
use super::pause_obedience::assert_obeyed;
use super::{CAPTURE_ALL, Run, Runner};

/// `switch.flow_queues` with `queues` queues for priority 3.
fn of_priority_3(queues: u32) -> String {
    format!("switch.flow_queues=[{{ priority = 3, queues = {queues} }}]")
}

/// h0 to h3 on s0, h4 to h7 on s1, all links 8 Gbit/s and 1 us; a queue pauses above `xoff` kB.
fn dumbbell(xoff: u32, flows: &str) -> String {
    format!(
        r#"
name = "flow-queues"
[topology]
kind = "dumbbell"
left = 4
right = 4
host_link = {{ rate = "8Gbps", delay = "1us" }}
bottleneck = {{ rate = "8Gbps", delay = "1us" }}
[switch]
buffer = "4MB"
threshold = {{ kind = "static", xoff = "{xoff}kB", xon = "{xoff}kB" }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "2us"
{flows}"#
    )
}

/// Sums of `egress_queues.csv` equal the values of `queues.csv` for the priority, at every sample. Returns the queues
/// that the table names, and the max number of queues that held packets of one port at once.
fn assert_samples_add_up(run: &Run) -> (BTreeSet<u64>, usize) {
    let (table, sums) = (run.table("egress_queues.csv"), run.table("queues.csv"));
    let mut bytes: BTreeMap<(String, u64), BTreeMap<u64, u64>> = BTreeMap::new();
    let mut rows = table.rows().iter().peekable();
    let mut most = 0;
    for sum in sums.with("kind", "egress").filter(|row| row.text("priority") == "3") {
        let time = sum.number("time_ns");
        while let Some(row) = rows.next_if(|row| row.number("time_ns") <= time) {
            assert_eq!(row.text("priority"), "3");
            let port = (row.text("node").to_owned(), row.number("port"));
            let known =
                bytes.entry(port).or_default().insert(row.number("queue"), row.number("bytes"));
            assert_ne!(known.unwrap_or(0), row.number("bytes"), "only changes have a row");
        }
        let port = (sum.text("node").to_owned(), sum.number("port"));
        let of_port = bytes.get(&port).expect("the port's queues have rows");
        assert_eq!(of_port.values().sum::<u64>(), sum.number("bytes"), "{port:?} at {time}");
        most = most.max(of_port.values().filter(|&&bytes| bytes > 0).count());
    }
    let queues = table.rows().iter().map(|row| row.number("queue")).collect();
    (queues, most)
}

/// A short flow behind the packets of two long ones: in one queue it waits for all of them, with flow queues it gets a
/// third of the link.
pub fn short_flows_do_not_wait(run: Runner) {
    let flows = flow("h0", "h3", 600, 3)
        + &flow("h1", "h3", 600, 3)
        + &flow("h2", "h3", 20, 3)
        + "start = \"300us\"\n";
    let text = dumbbell(3000, &flows);
    let (one, many) = (run(&text, &[]), run(&text, &[&of_priority_3(32)]));
    let times = [&one, &many].map(|run| {
        run.assert_lossless();
        let flows = run.flows();
        ["h0", "h1", "h2"].map(|label| flows.only("label", label).number("fct_ns"))
    });
    let [[_, _, waited], [long, other_long, short]] = times;
    // 300 kB wait when it starts, and a packet of 1000 bytes takes 1082 ns and then some.
    assert!(waited > 300 * 1082, "{times:?}");
    // Twenty packets, a third of the departures.
    assert!((60 * 1082..75 * 1082).contains(&short), "{times:?}");
    assert!(long.abs_diff(other_long) < 5 * 1082, "{times:?}");
    assert!(!one.has("egress_queues.csv"), "only with flow queues");
    let (queues, most) = assert_samples_add_up(&many);
    assert!(most == 3 && queues.iter().all(|queue| (0..32).contains(queue)), "{queues:?}");
}

/// Packets from s0 to s1 are paused there, in all queues of the priority; other priorities go on.
fn paused_together(run: Runner, queues: u32) -> BTreeSet<u64> {
    let across = (0..160).map(|number| flow(&format!("h{}", number % 4), "h4", 10, 3));
    let beside = flow("h5", "h4", 400, 3) + &flow("h6", "h4", 400, 3);
    let other = flow("h0", "h7", 100, 4);
    let flows = across.collect::<String>() + &beside + &other;
    let run = run(
        &dumbbell(30, &flows),
        &["switch.lossless=[3, 4]", CAPTURE_ALL, &of_priority_3(queues)],
    );
    run.assert_lossless();
    let fabric = run.scenario.fabric();
    let stops = assert_obeyed(&run);
    let is_between = |wire| fabric.wire(wire).name == "s0->s1";
    assert!(stops.iter().any(|stop| is_between(stop.wire) && stop.priority == 3), "{stops:?}");
    assert!(!stops.iter().any(|stop| is_between(stop.wire) && stop.priority == 4), "{stops:?}");
    let (found, most) = assert_samples_add_up(&run);
    assert!(most > queues as usize / 2, "{most} of {queues} queues at once");
    found
}

/// 32 queues.
pub fn paused_together_32(run: Runner) {
    let found = paused_together(run, 32);
    assert!(found.last() < Some(&32) && found.len() == 32, "{found:?}");
}

/// 128 queues: all that there are.
pub fn paused_together_128(run: Runner) {
    let found = paused_together(run, 128);
    assert!(
        found.last() > Some(&120) && found.last() < Some(&128) && found.len() > 80,
        "{found:?}"
    );
}

/// Two priorities with queues of their own, a lossy one among them, under ECN, losses and DSH.
pub fn two_priorities(run: Runner) {
    let of_class = |class| {
        (0..40)
            .map(move |number| flow(&format!("h{}", number % 4), "h4", 20, class))
            .collect::<String>()
    };
    let flows = of_class(3) + &of_class(1) + &flow("h5", "h4", 300, 0);
    let settings = [
        "switch.flow_queues=[{ priority = 1, queues = 100 }, { priority = 3, queues = 28 }]",
        "switch.threshold={ kind = \"dt\", alpha = \"1/8\" }",
        "switch.scheme={ kind = \"dsh\" }",
        "switch.ecn={ kmin = \"5kB\", kmax = \"20kB\", pmax = 0.5 }",
        "switch.buffer=400kB",
        "host.transport.congestion_control=\"dcqcn\"",
        CAPTURE_ALL,
    ];
    let run = run(&dumbbell(30, &flows), &settings);
    run.assert_sound();
    assert_ne!(run.summary.ecn_marked, 0);
    let table = run.table("egress_queues.csv");
    for (priority, queues) in [("1", 0..100), ("3", 100..128)] {
        let found: BTreeSet<_> =
            table.with("priority", priority).map(|row| row.number("queue")).collect();
        assert!(found.len() > 10 && found.iter().all(|queue| queues.contains(queue)), "{found:?}");
    }
}

/// A cycle is found whichever queues hold its packets. Its onset depends on the packet that came first, which may be in
/// any queue of the class: the first packet of the first queue came 212 ns later.
pub fn deadlock(run: Runner) {
    let text = include_str!("../../../scenarios/deadlock.toml");
    let run = run(text, &["switch.threshold.alpha=\"1/64\"", "seed=2", &of_priority_3(8)]);
    run.assert_lossless();
    assert_eq!((run.summary.ended, run.summary.deadlock.deadlocks), (RunEnd::Deadlock, 1));
    let cycles = run.deadlocks();
    let confirmed = cycles.rows().iter().find(|row| !row.text("confirmed_ns").is_empty());
    let confirmed = confirmed.expect("one cycle is a deadlock");
    assert_eq!((confirmed.number("onset_ns"), confirmed.number("confirmed_ns")), (6086, 17_476));
}
