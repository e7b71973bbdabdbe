//! OFC: RESUMEs of flows that are lost, by themselves or with a link, and the rows of pauses of flows.

use std::collections::BTreeMap;

use super::{Run, Runner};

/// Two hosts send to a third.
const SETTINGS: &str = r#"
[switch]
buffer = "2MB"
threshold = { kind = "static", xoff = "75kB", xon = "45kB" }
scheme = { kind = "ofc", congested = "60kB" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
retransmission_timeout = "500us"
[[flows]]
kind = "incast"
bytes = "1MB"
"#;

/// Over one switch.
fn star() -> String {
    format!(
        "name = \"resumes\"\nduration = \"20ms\"\n[topology]\nkind = \"star\"\nhosts = 3\n\
         host_link = {{ rate = \"40Gbps\", delay = \"1us\" }}\n{SETTINGS}\
         senders = [\"h1\", \"h2\"]\nreceiver = \"h0\"\n"
    )
}

/// Over two switches.
fn two_switches() -> String {
    format!(
        "name = \"resumes\"\nduration = \"20ms\"\n[topology]\nkind = \"dumbbell\"\nleft = 2\nright = 2\n\
         host_link = {{ rate = \"40Gbps\", delay = \"1us\" }}\n\
         bottleneck = {{ rate = \"80Gbps\", delay = \"1us\" }}\n{SETTINGS}\
         senders = [\"h0\", \"h1\"]\nreceiver = \"h2\"\n"
    )
}

fn loss(wire: &str, number: u32) -> String {
    format!(
        "[[faults]]\nkind = \"loss\"\nwire = \"{wire}\"\nmatch = \"hop-control\"\nnth = [{number}]\n"
    )
}

fn down(link: &str, at: &str) -> String {
    format!("[[faults]]\nkind = \"down\"\nwire = \"{link}\"\nat = \"{at}\"\nfor = \"300us\"\n")
}

/// A flow that waits for a RESUME lost on a wire is reported, whether a NIC or a switch holds it. Repeated pauses
/// repair the loss.
pub fn a_lost_resume_is_named(run: Runner) {
    for (text, wire, number, node, by) in
        [(star(), "s0->h1", 2, "h1", "s0"), (two_switches(), "s1->s0", 3, "s0", "s1")]
    {
        let text = text + &loss(wire, number);
        let stands = run(&text, &[]);
        assert!(stands.summary.flows_completed < 2, "{wire}");
        let pauses = stands.summary.flow_pauses.as_ref().expect("OFC has them");
        assert!(!pauses.unresumed.is_empty(), "{wire}");
        for flow in &pauses.unresumed {
            assert_eq!((flow.node.as_str(), flow.by.as_str()), (node, by));
            let row = stands.flows();
            let row = row.only("flow", &flow.flow.to_string());
            assert!(row.text("fct_ns").is_empty());
        }
        let said = stands.summary.unfinished.as_deref().unwrap_or_default();
        let first = format!(
            "waiting for a RESUME that was lost: flow {} at {node}",
            pauses.unresumed[0].flow
        );
        assert!(said.contains(&first), "{said}");

        let repeated = run(&text, &["switch.scheme.repeat=20us"]);
        assert_eq!(repeated.summary.flows_completed, 2, "{wire}");
        assert!(repeated.summary.flow_pauses.expect("OFC has them").unresumed.is_empty());
    }
}

/// A link that goes down ends the pauses sent through it, at a NIC and at a switch: all flows complete.
pub fn a_link_that_goes_down_ends_pauses(run: Runner) {
    for (text, link, at) in [(star(), "h1-s0", "50us"), (two_switches(), "s0-s1", "60us")] {
        let run = run(&(text + &down(link, at)), &[]);
        assert_eq!(run.summary.flows_completed, 2, "{link}");
        assert_eq!(run.summary.unfinished, None, "{link}");
    }
}

/// PAUSEs and RESUMEs of each (switch, port, flow) alternate, PAUSEs at the threshold of congestion or above, RESUMEs at X_on or
/// below, and all are counted.
pub fn pauses_of_flows_have_rows(run: Runner) {
    let run = run(&two_switches(), &[]);
    run.assert_lossless();
    let mut is_paused = BTreeMap::new();
    let table = run.table("flow_pauses.csv");
    for row in table.rows() {
        let place = ["node", "port", "priority", "name"].map(|column| row.text(column).to_owned());
        let (pauses, occupancy) = (row.text("event") == "xoff", row.number("occupancy_bytes"));
        assert_ne!(
            is_paused.insert(place, pauses).unwrap_or(false),
            pauses,
            "at {}",
            row.number("time_ns")
        );
        let (at, expected) =
            if pauses { (60_000, occupancy >= 60_000) } else { (45_000, occupancy <= 45_000) };
        assert_eq!(row.number("threshold_bytes"), at);
        assert!(expected, "{occupancy}");
        assert!(["0", "1"].contains(&row.text("flow")));
    }
    assert!(is_paused.values().all(|paused| !paused), "all is resumed at the end");
    let totals = run.summary.flow_pauses.as_ref().expect("OFC has them");
    assert_eq!(table.with("event", "xoff").count() as u64, totals.flows);
    assert!(totals.flows > 0 && pausing(&run).len() > 1, "{:?}", pausing(&run));
}

/// The switches that pause flows.
fn pausing(run: &Run) -> Vec<String> {
    let table = run.table("flow_pauses.csv");
    let mut nodes: Vec<String> =
        table.rows().iter().map(|row| row.text("node").to_owned()).collect();
    nodes.sort();
    nodes.dedup();
    nodes
}
