//! OFC: pauses of flows, and a flow that passes others which are paused.

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
        let pauses = run.summary.flow_pauses.expect("OFC has them");
        assert!(pauses.pause_frames > 0, "{entries} entries: {pauses:?}");
        let without_room = pauses.unnamed_packets + pauses.class_pauses;
        assert_eq!(without_room > 0, entries <= 8, "{entries} entries: {pauses:?}");
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
        let pauses = run.summary.flow_pauses.expect("OFC has them");
        assert!(pauses.pause_frames > 0, "{scheduler}: {pauses:?}");
    }
}
