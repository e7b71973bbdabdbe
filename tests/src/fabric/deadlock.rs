//! Queues that wait for each other in a circle.

use xoff::results::{DeadlockTotals, RunEnd};

use super::one_switch::loss;
use super::results::Row;
use super::{Run, Runner};

/// The fabric and the incasts of DSH, Fig. 16(a), with a buffer that is too small for them.
const DEADLOCK: &str = include_str!("../../../scenarios/deadlock.toml");

/// One way round the fabric.
const FORWARD: &str = "spine0->leaf1 leaf1->spine1 spine1->leaf2 leaf2->spine0";
/// The other.
const BACK: &str = "leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1";

/// Rows of `deadlocks.csv` as (onset, confirmed, end, queues).
fn circles(run: &Run) -> Vec<(u64, Option<u64>, Option<u64>, String)> {
    let circles = run.deadlocks();
    assert!(circles.rows().iter().all(|row| row.text("priority") == "3"));
    let row = |row: &Row| {
        let maybe = |column| (!row.text(column).is_empty()).then(|| row.number(column));
        let queues = row.text("queues").to_owned();
        (row.number("onset_ns"), maybe("confirmed_ns"), maybe("end_ns"), queues)
    };
    circles.rows().iter().map(row).collect()
}

/// The circles close at the same instants whether the run stops there or not; what differs is how it ends.
pub fn figure_16(run: Runner) {
    let expected = [
        (10_533, None, Some(11_741), BACK.to_owned()),
        (33_843, Some(45_059), None, BACK.to_owned()),
        (33_836, Some(45_059), None, FORWARD.to_owned()),
    ];
    let stopped = run(DEADLOCK, &[]);
    assert_eq!(circles(&stopped), expected);
    stopped.assert_lossless();
    let summary = &stopped.summary;
    assert_eq!((summary.ended, summary.emulated_ns), (RunEnd::Deadlock, 45_059));
    let totals = DeadlockTotals {
        deadlocks: 2,
        first_onset_ns: Some(33_836),
        at_end: true,
        dissolved: 1,
        undecided: 0,
    };
    assert_eq!(summary.deadlock, totals);
    assert_eq!((summary.flows_completed, summary.flows_total), (0, 16));
    assert!(stopped.flows().rows().iter().all(|row| row.text("fct_ns").is_empty()));

    let to_the_end = run(DEADLOCK, &["stop=done", "duration=2ms"]);
    assert_eq!(circles(&to_the_end), expected);
    assert!(!to_the_end.is_sound());
    assert_eq!((to_the_end.summary.ended, to_the_end.summary.deadlock), (RunEnd::Duration, totals));
    let why = format!(
        "the fabric had not drained when the duration of 2000000 ns was over, \
         deadlocked since 33836 ns ({FORWARD})"
    );
    assert_eq!(to_the_end.summary.books, [why]);
    assert!(to_the_end.summary.pause_refresh_frames > 0, "queues are kept paused");
}

/// PAUSE alone is no deadlock: not where routes have no cycle, and not where queues wait in a line.
pub fn pauses_without_a_circle(run: Runner) {
    for overrides in [
        ["topology.failed_links=[]", "switch.buffer=600kB"],
        ["topology.failed_links=[[\"spine0\", \"leaf3\"]]", "switch.buffer=600kB"],
        ["switch.threshold.alpha=1", "switch.buffer=1MB"],
    ] {
        let run = run(DEADLOCK, &overrides);
        run.assert_lossless();
        assert_ne!(run.summary.pause_frames, 0, "{overrides:?}");
        assert_eq!(circles(&run), [], "{overrides:?}");
        assert_eq!(run.summary.deadlock, DeadlockTotals::default());
        assert_eq!((run.summary.ended, run.summary.flows_completed), (RunEnd::Drained, 16));
    }
}

/// A circle from which a packet can leave is no deadlock: it dissolves, and the run goes on.
pub fn a_passing_circle(run: Runner) {
    let run = run(DEADLOCK, &["switch.threshold.alpha=\"1/4\"", "switch.buffer=1MB"]);
    run.assert_lossless();
    assert_eq!(run.summary.deadlock, DeadlockTotals { dissolved: 1, ..DeadlockTotals::default() });
    assert_eq!((run.summary.ended, run.summary.flows_completed), (RunEnd::Drained, 16));
    let circles = circles(&run);
    let [(onset, None, Some(end), _)] = circles.as_slice() else { panic!("{circles:?}") };
    assert!(onset < end);
}

/// A deadlock whose PAUSEs are lost dissolves when the quanta run out.
pub fn a_deadlock_without_refreshes(run: Runner) {
    let refreshes: Vec<String> = (5..40).map(|number: u32| number.to_string()).collect();
    let fault = loss("spine0->leaf1", "pause", &format!("nth = [{}]", refreshes.join(", ")));
    let run = run(DEADLOCK, &["stop=done", "duration=500us", &fault]);
    // The PAUSE that leaf1 has from spine0 is the one of 23.367 us, on the wire for a microsecond.
    let quanta_ns = 65_535 * 512 / 100;
    let circles = circles(&run);
    let (_, confirmed, end, queues) = &circles[1];
    assert_eq!((confirmed, queues.as_str()), (&Some(45_059), BACK));
    let end = end.expect("its PAUSE ran out");
    assert!((24_367..24_600).contains(&(end - quanta_ns)), "{end}");
    assert!(run.summary.deadlock.deadlocks >= 2);
}
