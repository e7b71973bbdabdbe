//! Queues that wait for each other in a cycle.

use results::{DeadlockTotals, RunEnd};

use super::one_switch::loss;
use super::results::Row;
use super::{Run, Runner};

/// The fabric and the incasts of DSH, Fig. 16(a), with a buffer that is too small for them.
const DEADLOCK: &str = include_str!("../../../scenarios/deadlock.toml");

const DSH: &str = "switch.scheme={ kind = \"dsh\" }";

/// One way round the fabric.
const FORWARD: &str = "spine0->leaf1 leaf1->spine1 spine1->leaf2 leaf2->spine0";
/// The other.
const BACK: &str = "leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1";

/// Rows of `deadlocks.csv` as (onset, confirmed, end, queues).
fn cycles(run: &Run) -> Vec<(u64, Option<u64>, Option<u64>, String)> {
    let cycles = run.deadlocks();
    for row in cycles.rows() {
        let of_each = |column| row.text(column).split(' ').count();
        assert_eq!(of_each("priorities"), of_each("queues"));
        assert_eq!(of_each("levels"), of_each("queues"));
    }
    let row = |row: &Row| {
        let maybe = |column| (!row.text(column).is_empty()).then(|| row.number(column));
        let queues = row.text("queues").to_owned();
        let (onset, end) = (row.number("onset_ns"), maybe("end_ns"));
        assert!(end.is_none_or(|end| end > onset), "a cycle ends after it has begun");
        (onset, maybe("confirmed_ns"), end, queues)
    };
    cycles.rows().iter().map(row).collect()
}

/// The first cycle closes at the same instant whether the run stops there or not; only the end differs.
pub fn figure_16(run: Runner) {
    let first = (31_724, Some(33_120), None, BACK.to_owned());
    let second = (43_415, Some(54_724), None, FORWARD.to_owned());
    let stopped = run(DEADLOCK, &[]);
    assert_eq!(cycles(&stopped), std::slice::from_ref(&first));
    stopped.assert_lossless();
    let summary = &stopped.summary;
    assert_eq!((summary.ended, summary.emulated_ns), (RunEnd::Deadlock, 33_120));
    let totals = DeadlockTotals {
        deadlocks: 1,
        surviving_refresh: 1,
        first_onset_ns: Some(31_724),
        at_end: true,
        dissolved: 0,
        undecided: 0,
    };
    assert_eq!(summary.deadlock, totals);
    assert_eq!((summary.flows_completed, summary.flows_total), (0, 16));
    assert!(stopped.flows().rows().iter().all(|row| row.text("fct_ns").is_empty()));

    let to_the_end = run(DEADLOCK, &["stop=done", "duration=2ms"]);
    assert_eq!(cycles(&to_the_end), [first, second]);
    assert!(!to_the_end.is_sound());
    let totals = DeadlockTotals { deadlocks: 2, surviving_refresh: 2, ..totals };
    assert_eq!((to_the_end.summary.ended, to_the_end.summary.deadlock), (RunEnd::Duration, totals));
    let why = format!(
        "16 flows had not completed when the duration of 2000000 ns was over, \
         deadlocked since 31724 ns ({BACK})"
    );
    assert_eq!(to_the_end.summary.unfinished, Some(why));
    assert!(to_the_end.summary.pause_refresh_frames > 0, "queues are kept paused");
}

/// DSH leaves more room for bursts, but these fill it, too; its queues pause before its ports.
pub fn under_dsh(run: Runner) {
    let run = run(DEADLOCK, &[DSH]);
    let expected = [
        (4787, Some(16_089), None, FORWARD.to_owned()),
        (4700, Some(16_089), None, BACK.to_owned()),
    ];
    assert_eq!(cycles(&run), expected);
    run.assert_lossless();
    for row in run.deadlocks().rows() {
        assert_eq!(
            (row.text("priorities"), row.text("levels")),
            ("3 3 3 3", "queue queue queue queue")
        );
    }
    assert_eq!((run.summary.ended, run.summary.flows_completed), (RunEnd::Deadlock, 0));
}

/// Traffic between leaf0 and leaf3 has priority 3, between leaf1 and leaf2 priority 5. At each switch of the cycle one
/// of them turns and the other leaves it, so that queues alone never wait in a cycle. Under DSH the ports do: packets
/// stuck in one priority keep the port OFF, and with it the other priority.
pub fn of_ports(run: Runner) {
    let (outer, inner) = DEADLOCK.split_once("label = \"1 to 2\"").expect("the incasts in order");
    let of_class = |text: &str, class: u8| {
        let bytes = "bytes = \"400kB\"";
        text.replace(bytes, &format!("{bytes}\npriority = {class}"))
    };
    let text = of_class(outer, 3) + "label = \"1 to 2\"" + &of_class(inner, 5);
    let settings = [
        "switch.lossless=[3, 5]",
        "switch.buffer=300kB",
        "switch.threshold.alpha=\"1/128\"",
        "duration=1ms",
        "stop=done",
    ];
    let by_port = run(&text, &[&settings[..], &[DSH]].concat());
    assert!(by_port.summary.lossless);
    let expected = [
        (21_244, Some(22_640), None, BACK.to_owned()),
        (21_437, Some(22_833), None, FORWARD.to_owned()),
    ];
    assert_eq!(cycles(&by_port), expected);
    let table = by_port.deadlocks();
    let cycle = &table.rows()[1];
    assert_eq!(cycle.text("priorities"), "5 3 5 3");
    assert_eq!(cycle.text("levels"), "port port port port");
    assert_eq!((by_port.summary.ended, by_port.summary.flows_completed), (RunEnd::Duration, 0));
    let renewed = by_port.pauses();
    let mut renewed = renewed.with("event", "xoff-refresh");
    assert!(renewed.any(|row| row.text("level") == "port" && row.number("time_ns") > 500_000));

    // The same headroom, by queue: more than 300 kB.
    let by_queue = run(&text, &[&settings[..], &["switch.buffer=900kB"]].concat());
    by_queue.assert_lossless();
    assert_ne!(by_queue.summary.pause_frames, 0);
    assert_eq!(cycles(&by_queue), []);
    assert_eq!((by_queue.summary.ended, by_queue.summary.flows_completed), (RunEnd::Drained, 16));
}

/// Without shared headroom, the insurance bytes of a queue that is OFF stay there until a packet of it departs. Behind
/// a cycle no packet departs, so its port never resumes, however much room others make.
pub fn insurance_that_stays(run: Runner) {
    let bytes = "bytes = \"400kB\"";
    let mut text = DEADLOCK.to_owned();
    for class in [5, 3, 5, 3] {
        // The first incast that has no priority yet.
        text = text.replacen(bytes, &format!("bytes = \"400000B\"\npriority = {class}"), 1);
    }
    for fourth in ["h3", "h15", "h7", "h11"] {
        text = text.replace(&format!(", \"{fourth}\"]"), "]");
    }
    let settings = [
        "switch.lossless=[3, 5]",
        "switch.buffer=2MB",
        "switch.headroom={ kind = \"dsh\", bytes = \"293590B\", shared_headroom = false }",
    ];
    let stopped = run(&text, &settings);
    stopped.assert_lossless();
    // The first time it dissolves: three of its ports resume.
    let expected = [
        (50_201, None, Some(213_415), BACK.to_owned()),
        (215_508, Some(216_904), None, BACK.to_owned()),
    ];
    assert_eq!(cycles(&stopped), expected);
    let table = stopped.deadlocks();
    let cycle = &table.rows()[1];
    assert_eq!(cycle.text("priorities"), "3 5 5 3");
    assert_eq!(cycle.text("levels"), "port queue port queue");
    // The deadlock lasts, with every pause renewed.
    let on = run(&text, &[&settings[..], &["stop=done", "duration=2ms"]].concat());
    assert_eq!(cycles(&on), cycles(&stopped));
    assert_eq!(on.summary.ended, RunEnd::Duration);
    assert_eq!(on.summary.flows_completed, stopped.summary.flows_completed);
    // With shared headroom insurance moves, and all complete.
    let settings = ["switch.lossless=[3, 5]", "switch.buffer=2MB", DSH];
    let shared = run(&text, &settings);
    assert_eq!((shared.summary.ended, shared.summary.flows_completed), (RunEnd::Drained, 12));
}

/// PAUSE alone does not make a deadlock: not if routes have no cycle, and not if queues wait in a line.
pub fn pauses_without_a_cycle(run: Runner) {
    for overrides in [
        ["topology.failed_links=[]", "switch.buffer=600kB"],
        ["topology.failed_links=[[\"spine0\", \"leaf3\"]]", "switch.buffer=600kB"],
        ["switch.threshold.alpha=1", "switch.buffer=1MB"],
    ] {
        let run = run(DEADLOCK, &overrides);
        run.assert_lossless();
        assert_ne!(run.summary.pause_frames, 0, "{overrides:?}");
        assert_eq!(cycles(&run), [], "{overrides:?}");
        assert_eq!(run.summary.deadlock, DeadlockTotals::default());
        assert_eq!((run.summary.ended, run.summary.flows_completed), (RunEnd::Drained, 16));
    }
}

/// A cycle from which a packet can leave is not a deadlock: it dissolves, and the run goes on.
pub fn a_passing_cycle(run: Runner) {
    let run = run(DEADLOCK, &["switch.threshold.alpha=\"1/4\"", "switch.buffer=800kB"]);
    run.assert_lossless();
    assert_eq!(run.summary.deadlock, DeadlockTotals { dissolved: 1, ..DeadlockTotals::default() });
    assert_eq!((run.summary.ended, run.summary.flows_completed), (RunEnd::Drained, 16));
    let cycles = cycles(&run);
    let [(onset, None, Some(end), _)] = cycles.as_slice() else { panic!("{cycles:?}") };
    assert!(onset < end);
}

/// Pauses come and go faster than the watch is notified: each cycle is found once.
pub fn cycles_of_short_pauses(run: Runner) {
    for buffer in ["900kB", "1200kB", "1500kB"] {
        let buffer = format!("switch.buffer={buffer}");
        let run = run(DEADLOCK, &["stop=done", "duration=300us", &buffer]);
        let cycles = cycles(&run);
        assert!(!cycles.is_empty(), "{buffer}");
        for (number, (onset, _, _, queues)) in cycles.iter().enumerate() {
            let is_same =
                |(at, _, _, others): &(u64, _, _, String)| at == onset && others == queues;
            assert_eq!(cycles.iter().position(is_same), Some(number), "{buffer}: {cycles:?}");
        }
    }
}

/// One side has drained by the time that the first pauses are renewed, so their queues are below X_on then. If only
/// departures are looked at, they never resume.
pub fn a_queue_is_tested_when_its_pause_is_renewed(run: Runner) {
    let settings = [DSH, "switch.buffer=2MB", "stop=done", "duration=2ms"];
    let totals = |resume_test: &str| {
        let tests_at = format!("switch.resume_test={resume_test}");
        let run = run(DEADLOCK, &[&settings[..], &[&tests_at]].concat());
        assert!(run.summary.lossless);
        run.summary.deadlock
    };
    let only_departures = DeadlockTotals {
        deadlocks: 1,
        surviving_refresh: 0,
        first_onset_ns: Some(76_632),
        at_end: true,
        ..DeadlockTotals::default()
    };
    assert_eq!(totals("departure"), only_departures);
    let at_refresh = DeadlockTotals {
        surviving_refresh: 1,
        first_onset_ns: Some(259_757),
        dissolved: 1,
        ..only_departures
    };
    assert_eq!(totals("refresh"), at_refresh);
}

/// A deadlock whose PAUSE frames are lost dissolves when the quanta run out.
pub fn a_deadlock_without_refreshes(run: Runner) {
    let refreshes: Vec<String> = (5..60).map(|number: u32| number.to_string()).collect();
    let fault = loss("leaf1->spine1", "pause", &format!("nth = [{}]", refreshes.join(", ")));
    let run = run(DEADLOCK, &["stop=done", "duration=500us", &fault]);
    // The PAUSE that spine1 has from leaf1 is the one of 27.374 us, on the wire for a microsecond.
    let quanta_ns = 65_535 * 512 / 100;
    let cycles = cycles(&run);
    let (_, confirmed, end, queues) = &cycles[0];
    assert_eq!((confirmed, queues.as_str()), (&Some(33_120), BACK));
    let end = end.expect("its PAUSE ran out");
    assert!((28_374..28_600).contains(&(end - quanta_ns)), "{end}");
    assert!(run.summary.deadlock.deadlocks >= 2);
}
