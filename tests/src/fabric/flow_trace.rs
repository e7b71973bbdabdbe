//! `flow_trace.csv`, compared with the algorithms.

use std::collections::BTreeMap;

use super::one_switch::{flow, star};
use super::results::Row;
use super::{Run, Runner};

const LINE_RATE: u64 = 8_000_000_000;
const TRACE: &str = "results.flow_trace={ labels = [\"h?\"] }";

/// Two flows of one bottleneck, which marks early.
fn two_flows(transport: &str) -> [String; 3] {
    [
        star(3, &(flow("h1", "h0", 400, 3) + &flow("h2", "h0", 400, 3))),
        format!("host.transport={{ {transport} }}"),
        "switch.ecn={ kmin = \"5kB\", kmax = \"5kB\", pmax = 1 }".to_owned(),
    ]
}

fn traced(run: Runner, transport: &str, trace: &[&str]) -> Run {
    let [text, transport, ecn] = two_flows(transport);
    run(&text, &[&[&*transport, &*ecn], trace].concat())
}

fn governs(row: &Row) -> [&str; 3] {
    ["rate_bps", "window_bytes", "congestion"].map(|column| row.text(column))
}

/// The rows by flow; in order of time, and each of them a change.
fn by_flow(run: &Run) -> BTreeMap<u64, Vec<Row>> {
    let table = run.table("flow_trace.csv");
    assert!(table.numbers("time_ns").is_sorted());
    let mut flows: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
    for row in table.rows() {
        let rows = flows.entry(row.number("flow")).or_default();
        if let Some(last) = rows.last() {
            assert_ne!(governs(last), governs(row), "{last:?} {row:?}");
        } else {
            assert_eq!((row.text("rtt_ns"), row.number("outstanding_bytes")), ("", 0));
        }
        rows.push(row.clone());
    }
    flows
}

/// A CNP takes alpha / 2 of the rate, and the timer brings it half of the way back to the rate before.
pub fn dcqcn_cuts_by_half_of_alpha(run: Runner) {
    const DCQCN: &str = "kind = \"roce-rc\", congestion_control = \"dcqcn\", \
                         dcqcn = { profile = \"paper\", rate_increase_timer = \"60us\" }";
    let run = traced(run, DCQCN, &[TRACE]);
    run.assert_lossless();
    assert_eq!(run.summary.truncated, Vec::<String>::new());
    let flows = by_flow(&run);
    assert_eq!(flows.keys().copied().collect::<Vec<_>>(), [0, 1]);
    for rows in flows.values() {
        let line_rate = LINE_RATE.to_string();
        assert_eq!(governs(&rows[0]), [&*line_rate, "", "1000000"], "a flow starts at line rate");
        assert_eq!(rows[0].number("time_ns"), 0);
        let (mut cuts, mut rises, mut last_cut) = (0, 0, (0, LINE_RATE));
        for (before, after) in rows.iter().zip(&rows[1..]) {
            let [old, new] = [before, after].map(|row| row.number("rate_bps"));
            let time = after.number("time_ns");
            if new < old {
                // Alpha is reported in whole millionths.
                let expected = old - old / 2 * after.number("congestion") / 1_000_000;
                assert!(new.abs_diff(expected) <= old / 1_000_000, "{before:?} {after:?}");
                assert!(cuts == 0 || time - last_cut.0 >= 50_000, "at most one in 50 us");
                assert!(after.number("outstanding_bytes") > 0);
                (cuts, rises, last_cut) = (cuts + 1, 0, (time, old));
            } else if new > old {
                rises += 1;
                assert!(time >= last_cut.0 + rises * 60_000, "{after:?}");
                if rises <= 5 {
                    assert_eq!(new, (old + last_cut.1).div_ceil(2), "fast recovery");
                }
            }
        }
        assert!(cuts >= 2, "{cuts} cuts");
        let trips = rows.iter().filter(|row| !row.text("rtt_ns").is_empty());
        // Two links of 1 us each way, two serialisations of a packet.
        assert!(trips.map(|row| row.number("rtt_ns")).min().is_some_and(|least| least > 6000));
    }
    let cnps = run.flows().numbers("cnps");
    assert!(cnps.iter().all(|cnps| *cnps >= 2), "{cnps:?}");
}

/// Windows, over RoCE and over TCP: a cut takes alpha / 2. The first starts with a bandwidth-delay product and is paced
/// at window / base RTT, the other starts slowly and is not paced.
pub fn dctcp_cuts_by_half_of_alpha(run: Runner) {
    for (transport, paced) in [("kind = \"roce-rc\", ", true), ("kind = \"tcp\", ", false)] {
        let run = traced(run, &format!("{transport}congestion_control = \"dctcp\""), &[TRACE]);
        run.assert_sound();
        for rows in by_flow(&run).values() {
            assert_eq!(rows[0].text("congestion"), "1000000");
            assert_eq!(rows[0].number("rate_bps").abs_diff(LINE_RATE) / (LINE_RATE / 1000), 0);
            let first_window = rows[0].number("window_bytes");
            let mut cuts = 0;
            for (before, after) in rows.iter().zip(&rows[1..]) {
                let [old, new] = [before, after].map(|row| row.number("window_bytes"));
                let rate = if paced { LINE_RATE * new / first_window } else { LINE_RATE };
                assert!(after.number("rate_bps").abs_diff(rate) <= rate / 1000, "{after:?}");
                if new < old {
                    cuts += 1;
                    let expected = old - old * after.number("congestion") / 2_000_000;
                    // A window that is not fully used is cut to a fraction of the used part.
                    let good =
                        if paced { new.abs_diff(expected) <= 2 } else { new <= expected + 2 };
                    assert!(new == 1000 || good, "{before:?} {after:?}");
                }
            }
            assert!(cuts >= 2, "{cuts} cuts");
            assert!(rows.iter().any(|row| !row.text("rtt_ns").is_empty()));
        }
    }
}

/// Labels choose the flows; without the key no file is written; and all other files are unchanged.
pub fn a_trace_changes_nothing(run: Runner) {
    const DCTCP: &str = "kind = \"roce-rc\", congestion_control = \"dctcp\"";
    let plain = traced(run, DCTCP, &[]);
    assert!(!plain.has("flow_trace.csv"));
    let whole = traced(run, DCTCP, &[TRACE]);
    whole.assert_same_but_for(&plain, &["flow_trace.csv"]);
    let second = traced(run, DCTCP, &["results.flow_trace={ labels = [\"h2\"] }"]);
    let mut expected = by_flow(&whole);
    expected.remove(&0);
    let fields = |run: BTreeMap<u64, Vec<Row>>| format!("{run:?}");
    assert_eq!(fields(by_flow(&second)), fields(expected));
}

/// The trace ends, the run goes on, and the summary names the missing rows.
pub fn a_trace_has_a_bound(run: Runner) {
    const DCTCP: &str = "kind = \"tcp\", congestion_control = \"dctcp\"";
    let whole = traced(run, DCTCP, &[TRACE]).text("flow_trace.csv");
    let rows = whole.lines().count() - 1;
    assert!(rows > 20);
    let bounded = |most: usize| {
        let trace = format!("results.flow_trace={{ labels = [\"*\"], rows = {most} }}");
        let run = traced(run, DCTCP, &[&trace]);
        run.assert_sound();
        let text = run.text("flow_trace.csv");
        let expected: Vec<&str> = whole.lines().take(most + 1).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        run.summary.truncated
    };
    assert_eq!(bounded(rows), Vec::<String>::new(), "all have room");
    let first_missing = whole.lines().nth(21).and_then(|row| row.split(',').next());
    let missing = first_missing.expect("a row has an instant");
    let expected = format!(
        "flow_trace.csv ends with its 20 rows; changes from {missing} ns on are missing: raise \
         `results.flow_trace.rows` or trace fewer flows"
    );
    assert_eq!(bounded(20), [expected]);
}
