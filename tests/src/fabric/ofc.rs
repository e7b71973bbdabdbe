//! OFC: pauses of flows, and a flow that passes others which are paused.

use results::FlowPart;

use super::one_switch::flow;
use super::{CAPTURE_ALL, Run, Runner};

/// The paper's Fig. 1.
const FIG01: &str = include_str!("../../../scenarios/ofc/fig01.toml");

fn completion(run: &Run, label: &str) -> u64 {
    run.flows().only("label", label).number("fct_ns")
}

/// F0 is not paused by OFC, and is by PFC; nothing is lost or sent again.
pub fn a_flow_passes_paused_ones(run: Runner) {
    let ofc = run(FIG01, &[CAPTURE_ALL]);
    // By the same thresholds.
    let pfc = run(&FIG01.replace("backpressure = ", "# backpressure = "), &[]);
    let by_hosts = run(FIG01, &["host.flow_pauses=false"]);
    for run in [&ofc, &pfc, &by_hosts] {
        run.assert_lossless();
        assert_eq!(run.summary.retransmitted_packets, 0, "packets of a flow stay in order");
        assert_eq!(run.summary.flows_completed, 8);
    }
    let pauses = |run: &Run| -> Vec<String> {
        let table = run.table("pauses.csv");
        table.with("event", "xoff").map(|row| row.text("peer").to_owned()).collect()
    };
    assert_eq!(pauses(&ofc), [""; 0], "no class is paused");
    for peer in ["sb", "sa", "h0"] {
        assert!(pauses(&pfc).iter().any(|it| it == peer), "PFC pauses {peer}");
    }
    // Hosts that obey PFC only are paused by it, F1's too; the switches still tell each other of flows.
    assert!(pauses(&by_hosts).iter().all(|peer| peer.starts_with(['b', 'h'])));
    let [with, without] = [&ofc, &pfc].map(|run| completion(run, "F0"));
    assert!(4 * with < 3 * without, "F0 takes {with} ns under OFC, {without} ns under PFC");
    let [with, without] = [&ofc, &pfc].map(|run| run.summary.pause_frames);
    assert!(with == 0 && without > 0, "{with}, {without}");
}

/// Forty flows cross two switches, to two hosts of which one is overwhelmed: tables of four flows are soon full, those of 512
/// are not. Packets wait in all queues, and come in order.
pub fn more_flows_than_entries(run: Runner) {
    let flows: String = (0..40)
        .map(|number| {
            let receiver = if number % 4 == 0 { "h5" } else { "h4" };
            flow(&format!("h{}", number % 4), receiver, 40, 3)
        })
        .chain((0..2).map(|_| flow("h6", "h4", 400, 3)))
        .collect();
    for entries in [4, 8, 64, 512] {
        let text = format!(
            r#"
name = "ofc"
[topology]
kind = "dumbbell"
left = 4
right = 4
host_link = {{ rate = "40Gbps", delay = "100ns" }}
bottleneck = {{ rate = "40Gbps", delay = "100ns" }}
[switch]
buffer = "2MB"
threshold = {{ kind = "static", xoff = "40kB", xon = "20kB" }}
backpressure = {{ kind = "ofc", alpha = "4/5", flow_table = {entries} }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
{flows}"#
        );
        let run = run(&text, &[]);
        run.assert_lossless();
        assert_eq!(run.summary.flows_completed, 42, "{entries} entries");
        assert_eq!(run.summary.retransmitted_packets, 0, "{entries} entries");
    }
}

/// With strict priorities, DWRR and a second priority of flows beside one of lossy ones.
pub fn beside_other_priorities(run: Runner) {
    let flows: String = (0..4)
        .flat_map(|source| {
            [3, 4, 1].map(|priority| flow(&format!("h{source}"), "h4", 100, priority))
        })
        .chain([flow("h5", "h4", 300, 3), flow("h6", "h4", 300, 4), flow("h0", "h7", 200, 3)])
        .collect();
    let text = format!(
        r#"
name = "ofc"
[topology]
kind = "dumbbell"
left = 4
right = 4
host_link = {{ rate = "40Gbps", delay = "100ns" }}
bottleneck = {{ rate = "40Gbps", delay = "100ns" }}
[switch]
buffer = "2MB"
lossless = [3, 4]
threshold = {{ kind = "static", xoff = "40kB", xon = "20kB" }}
backpressure = {{ kind = "ofc", alpha = "4/5", priorities = [3, 4] }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
{flows}"#
    );
    for scheduler in ["dwrr", "strict", "round-robin"] {
        let run = run(&text, &[&format!("switch.scheduler={{ kind = \"{scheduler}\" }}")]);
        run.assert_lossless();
        assert_eq!(run.summary.flows_completed, 15, "{scheduler}");
    }
}

/// With nothing else in the tables, F0 is the flow that no switch pauses; the means are those of `queues.csv`; and tables are
/// counted while flows are there.
pub fn measures_tell_congested_flows_apart(run: Runner) {
    let keys = ["results.flow_tables=true", "results.port_queues=true"];
    let window = ["results.from=5us", "results.to=200us"];
    for keys in [&keys[..], &[keys[0], keys[1], window[0], window[1]]] {
        let run = run(FIG01, keys);
        let pauses = run.summary.flow_pauses.as_ref().unwrap();
        let labels = |part: &FlowPart| -> Vec<(String, u64)> {
            part.labels.iter().map(|(label, it)| (label.clone(), it.flows)).collect()
        };
        assert_eq!(labels(&pauses.uncongested), [("F0".to_owned(), 1)]);
        assert_eq!(labels(&pauses.congested), [("F1".to_owned(), 1), ("bursts".to_owned(), 6)]);
        let times = |label: &str| -> Vec<u64> {
            let table = run.flows().only("label", label);
            table.rows().iter().map(|row| row.number("fct_ns")).collect()
        };
        assert_eq!(pauses.uncongested.flows.fct_ns.unwrap().max, times("F0")[0]);
        let mut congested = [times("F1"), times("bursts")].concat();
        congested.sort_unstable();
        let fct = pauses.congested.flows.fct_ns.unwrap();
        let found = [fct.min, fct.p25, fct.p50, fct.p75, fct.max];
        assert_eq!(found, [0, 1, 3, 5, 6].map(|place| congested[place]));

        let (from, to) = match keys {
            [_, _, ..] if keys.len() > 2 => (5_000, 200_000),
            _ => (0, run.summary.emulated_ns),
        };
        let queues = run.summary.port_queues.as_ref().unwrap();
        // F0 leaves sa, sb and sc by three ports, F1 by three, of which two are the same; bursts by one of F1's.
        let ports = |label: &str| queues.labels[label].ports;
        assert_eq!([ports("F0"), ports("F1"), ports("bursts"), queues.all.ports], [3, 3, 1, 4]);
        let mean = |node: &str, port: u64| -> u64 {
            let table = run.table("queues.csv").only("kind", "egress").only("node", node);
            let (mut since, mut bytes, mut sum) = (from, 0, 0);
            let rows = table.rows();
            let rows = rows.iter().filter(|row| row.number("port") == port);
            for (time, next) in rows.map(|it| (it.number("time_ns"), it.number("bytes"))) {
                let until = time.clamp(since, to);
                sum += bytes * (until - since);
                (since, bytes) = (until, next);
            }
            (sum + bytes * (to - since)) / (to - since)
        };
        // sc's port to r1 comes after those to sb and r0.
        let bursts = mean("sc", 2);
        assert!(bursts > 50_000 && queues.labels["bursts"].mean.abs_diff(bursts) <= 1, "{bursts}");
        let sa = mean("sa", 2);
        assert!(queues.switches["sa"].mean.abs_diff(sa) <= 1, "{sa}");

        let tables = run.summary.flow_tables.unwrap();
        // Eight flows at most; sb and sa tell of F1 only, F1's host is told by sa.
        assert_eq!(tables.flow_in_port_tab.max, 7);
        assert_eq!(tables.congested_flow_tab.max, 1);
        assert_eq!(tables.pause_frame_tab.max, 1);
        assert!(tables.flow_in_port_tab.sum_mean > 2.0 && tables.ports >= 4, "{tables:?}");
    }
    let without = run(FIG01, &[]);
    assert!(without.summary.port_queues.is_none() && without.summary.flow_tables.is_none());
    let pfc = run(&FIG01.replace("backpressure = ", "# backpressure = "), &[keys[1]]);
    assert!(pfc.summary.flow_pauses.is_none() && pfc.summary.port_queues.is_some());
}
