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
    // With the same thresholds.
    let pfc = run(&FIG01.replace("scheme = ", "# scheme = "), &[]);
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
    // Hosts that obey only PFC are paused by it, including F1's; the switches still pause flows at each other.
    assert!(pauses(&by_hosts).iter().all(|peer| peer.starts_with(['b', 'h'])));
    let [with, without] = [&ofc, &pfc].map(|run| completion(run, "F0"));
    assert!(4 * with < 3 * without, "F0 takes {with} ns under OFC, {without} ns under PFC");
    let [with, without] = [&ofc, &pfc].map(|run| run.summary.pause_frames);
    assert!(with == 0 && without > 0, "{with}, {without}");
}

/// Forty flows cross two switches to two hosts, one of which is overwhelmed: tables of four flows are soon full, tables
/// of 512 are not. Packets wait in all queues, and arrive in order.
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
scheme = {{ kind = "ofc", alpha = "4/5", flow_table = {entries} }}
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
scheme = {{ kind = "ofc", alpha = "4/5", priorities = [3, 4] }}
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

/// Of Fig. 1's flows all are paused once: at the rate of their links F0 and F1 overwhelm sa as well. A flow from r0 to
/// b2 shares no egress port with them, and is not paused. Means agree with `queues.csv`; tables are counted while they
/// have rows.
pub fn measures_distinguish_congested_flows(run: Runner) {
    let apart = "[[flows]]\nkind = \"one\"\nlabel = \"apart\"\nsrc = \"r0\"\ndst = \"b2\"\nbytes = \"300kB\"\n";
    let scenario = FIG01.to_owned() + "\n" + apart;
    let keys = ["results.flow_tables=true", "results.port_queues=true"];
    let window = ["results.from=5us", "results.to=200us"];
    for (keys, window) in [(keys.to_vec(), None), ([keys, window].concat(), Some((5_000, 200_000)))]
    {
        let run = run(&scenario, &keys);
        let pauses = run.summary.flow_pauses.as_ref().unwrap();
        let labels = |part: &FlowPart| -> Vec<(String, u64)> {
            part.labels.iter().map(|(label, it)| (label.clone(), it.flows)).collect()
        };
        assert_eq!(labels(&pauses.uncongested), [("apart".to_owned(), 1)]);
        let expected = [("F0".to_owned(), 1), ("F1".to_owned(), 1), ("bursts".to_owned(), 6)];
        assert_eq!(labels(&pauses.congested), expected);
        let times = |labels: &[&str]| -> Vec<u64> {
            let table = run.flows();
            let of_label = |label: &&str| {
                let rows = table.with("label", label);
                rows.map(|row| row.number("fct_ns")).collect::<Vec<_>>()
            };
            let mut times: Vec<u64> = labels.iter().flat_map(of_label).collect();
            times.sort_unstable();
            times
        };
        assert_eq!(pauses.uncongested.flows.fct_ns.unwrap().max, times(&["apart"])[0]);
        let fct = pauses.congested.flows.fct_ns.unwrap();
        let found = [fct.min, fct.p25, fct.p50, fct.p75, fct.max];
        let congested = times(&["F0", "F1", "bursts"]);
        assert_eq!(found, [0, 1, 3, 5, 7].map(|place| congested[place]));

        let (from, to) = window.unwrap_or((0, run.summary.emulated_ns));
        let queues = run.summary.port_queues.as_ref().unwrap();
        // F0 leaves sa, sb and sc by three ports, F1 by three, two of which it shares with F0; bursts by one of F1's.
        let ports = ["F0", "F1", "bursts", "apart"].map(|label| queues.labels[label].ports);
        assert_eq!((ports, queues.all.ports), ([3, 3, 1, 1], 5));
        let mean = |node: &str, port: u64| -> u64 {
            let table = run.table("queues.csv");
            let rows = table.with("kind", "egress");
            let rows = rows.filter(|row| row.text("node") == node && row.number("port") == port);
            let (mut since, mut bytes, mut sum) = (from, 0, 0);
            for (time, next) in rows.map(|row| (row.number("time_ns"), row.number("bytes"))) {
                let until = time.clamp(since, to);
                sum += bytes * (until - since);
                (since, bytes) = (until, next);
            }
            (sum + bytes * (to - since)) / (to - from)
        };
        // sc's port to r1 comes after its ports to sb and r0, sa's to sb after its ports to hosts.
        let found = [queues.labels["bursts"].mean, queues.switches["sa"].mean];
        for (found, expected) in found.into_iter().zip([mean("sc", 2), mean("sa", 2)]) {
            assert!(expected > 10_000 && found.abs_diff(expected) <= 1, "{found}, {expected}");
        }

        let tables = run.summary.flow_tables.unwrap();
        // At sc's port to r1 there are F1 and the bursts; F0 and F1 are paused at sa.
        let most = [tables.flow_in_port_tab, tables.congested_flow_tab, tables.pause_frame_tab];
        assert_eq!(most.map(|table| table.max), [7, 2, 2]);
        assert!(tables.flow_in_port_tab.sum_mean > 2.0 && tables.ports >= 4, "{tables:?}");
    }
    let without = run(&scenario, &[]);
    assert!(without.summary.port_queues.is_none() && without.summary.flow_tables.is_none());
    let pfc = run(&FIG01.replace("scheme = ", "# scheme = "), &[keys[1]]);
    assert!(pfc.summary.flow_pauses.is_none() && pfc.summary.port_queues.is_some());
}
