//! `distributions.csv`, compared with numbers computed by hand: 1058 B of a frame take 1082 ns on the wire with
//! preamble, FCS and gap, the first frame (with a RETH) 1098 ns.

use std::collections::BTreeMap;

use super::one_switch::{flow, funnel, star};
use super::{Run, Runner};

const ON: &str = "results.distributions=true";

/// One PAUSE, one queue: the packets of h1 on their way to h0 lie in headroom.
pub fn one_pause(run: Runner) {
    let run = run(&funnel(&flow("h1", "h0", 30, 3)), &[ON]);
    run.assert_lossless();
    let pauses = run.pauses();
    assert_eq!(pauses.numbers("time_ns"), [24_820, 1_193_898]);
    // Of all that h1 started until 84 + 1000 + 3840 ns after the decision, six frames were still to come;
    // with the one that found the threshold in its way they are 7406 B of the queue's 9218 B, which is its
    // port's only one, and of the switch's 9218 + 9218 + 7238 B. They came in 2 * 1098 + 84 + 3840
    // + 2 * 1000 = 8120 ns, and nothing left: h0 takes a frame every 108.2 us. The seventh departure,
    // 736.278 us after the PAUSE, gave the last of the headroom back, the eleventh resumed. From 2048 on a
    // value is the lowest of its bucket.
    let expected = "measure,value,weight,cumulative\n\
                    switch-headroom,2884,1,1.000000\n\
                    port-headroom,8032,1,1.000000\n\
                    queue-headroom,8032,1,1.000000\n\
                    queues-off,1,736278,1.000000\n\
                    port-queues-off,1,736278,1.000000\n\
                    arrival-rate,6252,1,1.000000\n\
                    departure-rate,0,1,1.000000\n\
                    pause-duration,1168384,1,1.000000\n";
    assert_eq!(run.text("distributions.csv"), expected);
}

/// An outlet of half the rate: a frame leaves every 2164 ns, four in 8120 ns.
pub fn a_queue_that_drains(run: Runner) {
    let text = funnel(&flow("h1", "h0", 52, 3)).replace("80Mbps", "4Gbps");
    let run = run(&text, &[ON]);
    run.assert_lossless();
    assert_eq!(run.summary.pause_frames, 1);
    let table = run.distributions();
    // 6 * 1058 B and 4 * 1058 B in 8120 ns are 6254 and 4169 Mbit/s.
    assert_eq!(table.only("measure", "arrival-rate").number("value"), 6252);
    assert_eq!(table.only("measure", "departure-rate").number("value"), 4168);
}

/// The switch's numbers are those of its only active port, with three times the headroom.
pub fn queues_of_a_port(run: Runner) {
    let flows: String = [1, 2].map(|class| flow("h1", "h0", 60, class)).concat();
    let headroom = "switch.headroom={ kind = \"sih\", bytes = \"60kB\" }";
    let run = run(&funnel(&flows), &["switch.lossless=[1, 2]", headroom, ON]);
    run.assert_lossless();
    let table = run.distributions();
    let measured = |measure, divisor| {
        let mut weights = BTreeMap::<u64, u64>::new();
        for row in table.with("measure", measure) {
            *weights.entry(row.number("value") / divisor).or_default() += row.number("weight");
        }
        weights
    };
    assert_eq!(measured("port-queues-off", 1), measured("queues-off", 1));
    assert_eq!(measured("port-queues-off", 1).last_key_value().map(|(&most, _)| most), Some(2));
    assert_eq!(measured("port-headroom", 3), measured("switch-headroom", 1));
}

/// A port that pauses its three priorities does so once, independent of its queues.
pub fn a_port(run: Runner) {
    let flows: String = [1, 2, 3].map(|class| flow("h1", "h0", 60, class)).concat();
    let dsh = "switch.headroom={ kind = \"dsh\", port_xon_offset = \"2kB\" }";
    let dt = "switch.threshold={ kind = \"dt\", alpha = \"1/4\", xon_offset = \"2kB\" }";
    let settings = ["switch.lossless=[1, 2, 3]", "switch.buffer=70kB", dsh, dt, ON];
    let run = run(&funnel(&flows), &settings);
    run.assert_lossless();
    let table = run.distributions();
    let pauses = run.pauses();
    let off = pauses.with("event", "xoff").filter(|row| row.text("level") == "port").count();
    // Three rows a pause: one for each priority.
    let weight =
        |measure| -> u64 { table.with("measure", measure).map(|row| row.number("weight")).sum() };
    for measure in ["port-pause-duration", "port-arrival-rate", "port-departure-rate"] {
        assert_eq!(weight(measure), off as u64 / 3, "{measure}");
    }
    assert_ne!(off, 0);
    assert_eq!(weight("ports-off"), weight("queues-off"), "while headroom is in use");
    let values = table.with("measure", "ports-off").map(|row| row.number("value"));
    assert_eq!(values.max(), Some(1), "all that pauses comes in by one port");
}

/// Two queues that are paused together count as two. Lossy queues, and runs without the setting, write nothing.
pub fn queues_and_those_who_do_not_ask(run: Runner) {
    let flows = flow("h1", "h0", 200, 3) + &flow("h2", "h0", 200, 3);
    let asked = run(&star(3, &flows), &[ON]);
    let table = asked.distributions();
    let queues_off = table.with("measure", "queues-off");
    assert_eq!(queues_off.map(|row| row.number("value")).max(), Some(2));
    let pauses: u64 = table.with("measure", "pause-duration").map(|row| row.number("weight")).sum();
    assert_eq!(pauses, asked.summary.pause_frames - asked.summary.pause_refresh_frames);

    let lossy = run(&star(3, &flows), &[ON, "switch.lossless=[]"]);
    assert_eq!(lossy.text("distributions.csv"), "measure,value,weight,cumulative\n");
    let silent = run(&star(3, &flows), &[]);
    assert!(!silent.has("distributions.csv"));
    assert_eq!(silent.flows().numbers("fct_ns"), asked.flows().numbers("fct_ns"));
}

/// A flow of a low priority and a flow of another go through a bottleneck. G-PFC counts the bytes of both, so a
/// departure of either may resume both.
const GUARDED: &str = r#"
name = "guarded"
duration = "5ms"
[topology]
kind = "dumbbell"
left = 2
right = 1
host_link = { rate = "100Gbps", delay = "100ns" }
bottleneck = { rate = "10Gbps", delay = "100ns" }
[switch]
buffer = "400kB"
lossless = [3, 4]
private_per_queue = "0B"
threshold = { kind = "dt", alpha = "2", xon_offset = "3kB" }
scheme = { kind = "g-pfc", xlow = "10kB", low = [3] }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "incast"
senders = ["h0", "h1"]
receiver = "h2"
bytes = "400kB"
priority = 3
[[flows]]
kind = "incast"
label = "b"
senders = ["h0", "h1"]
receiver = "h2"
bytes = "40kB"
priority = 4
"#;

/// A queue that a departure of another priority resumes is ON from then on.
pub fn a_queue_that_others_resume(run: Runner) {
    let run = run(GUARDED, &[ON]);
    run.assert_lossless();
    assert!(assert_pause_durations(&run) > 100);
}

/// Asserts that the pauses of queues in `distributions.csv` agree with `pauses.csv`, and returns their number. Under
/// DSH a queue that turns OFF while its port is OFF has no row.
pub fn assert_pause_durations(run: &Run) -> usize {
    if run.scenario.switch.scheme.has_port_headroom() {
        let rows = run.pauses();
        let pauses = rows.with("level", "queue").filter(|row| row.text("event") == "xoff").count();
        let recorded = pause_durations(run).len();
        assert!(recorded >= pauses, "{recorded} of {pauses}");
        return recorded;
    }
    let mut since: BTreeMap<[&str; 3], u64> = BTreeMap::new();
    let mut lasted = Vec::new();
    let pauses = run.pauses();
    for row in pauses.with("level", "queue") {
        let queue = ["node", "port", "priority"].map(|name| row.text(name));
        let now = row.number("time_ns");
        match row.text("event") {
            "xoff" => assert_eq!(since.insert(queue, now), None, "it is paused: {row:?}"),
            "xon" => {
                let since = since.remove(&queue).unwrap_or_else(|| panic!("no pause: {row:?}"));
                lasted.push(now - since);
            }
            _ => {}
        }
    }
    lasted.extend(since.values().map(|since| run.summary.emulated_ns - since));
    lasted.sort_unstable();
    let recorded = pause_durations(run);
    assert_eq!(recorded.len(), lasted.len(), "{recorded:?} and {lasted:?}");
    for (recorded, lasted) in recorded.iter().zip(&lasted) {
        // A value is the lowest of a bucket, and instants are rounded.
        let bucket = recorded - 1.min(*recorded)..=recorded + recorded / 512 + 2;
        assert!(bucket.contains(lasted), "{recorded} and {lasted} ns");
    }
    recorded.len()
}

/// The durations of `distributions.csv`, ascending.
fn pause_durations(run: &Run) -> Vec<u64> {
    let table = run.distributions();
    let recorded = table.with("measure", "pause-duration").flat_map(|row| {
        let weight = usize::try_from(row.number("weight")).expect("pauses in a table");
        std::iter::repeat_n(row.number("value"), weight)
    });
    let mut recorded: Vec<u64> = recorded.collect();
    recorded.sort_unstable();
    recorded
}
