//! Go-back-N: whatever is lost, every flow completes with the right bytes.

use std::collections::BTreeMap;

use super::capture::wire_named;
use super::one_switch::{flow, loss, star};
use super::{Run, Runner};

/// Packets of the flow whose packets are lost one by one.
const PACKETS: u64 = 20;
const TIMEOUT_NS: u64 = 20_000_000;

/// h1 to h0 alone, 20 packets, each acknowledged, with one fault.
fn alone(run: Runner, fault: &str) -> Run {
    let run = run(&star(2, &flow("h1", "h0", PACKETS, 3)), &["host.ack_interval=1", fault]);
    run.assert_sound();
    assert_retransmissions_are_seen(&run);
    run
}

fn fct(run: &Run) -> u64 {
    run.flows().rows()[0].number("fct_ns")
}

fn ideal(run: &Run) -> u64 {
    run.flows().rows()[0].number("ideal_ns")
}

/// Packets that arrived at the first switch or were lost before are the flows' packets plus the retransmissions that
/// the results count.
fn assert_retransmissions_are_seen(run: &Run) {
    let mut first = BTreeMap::new();
    let mut again = 0;
    for frame in run.frames() {
        let Some(data) = frame.data().filter(|_| from_host(run, frame.wire)) else { continue };
        let times = first.entry((data.destination_qp, data.psn.value())).or_insert(0u64);
        again += u64::from(*times > 0);
        *times += 1;
    }
    // What is lost on the first wire is not in the capture: it is either a first or a repeated sending.
    let lost = run.summary.drops.injected;
    let counted = run.summary.retransmitted_packets;
    assert!((again..=again + lost).contains(&counted), "{counted} counted, {again} captured");
    let by_flow: u64 = run.flows().numbers("retransmitted_packets").iter().sum();
    assert_eq!(by_flow, counted);
}

fn from_host(run: &Run, wire: topology::WireId) -> bool {
    run.scenario.fabric().wire(wire).name.starts_with('h')
}

/// One data packet is lost on the second wire. The next one that arrives triggers a NAK. When the NAK arrives, the
/// sender has sent for a round trip, and sends all of it again.
pub fn single_data_loss(run: Runner) {
    for lost in [1, 2, 10, PACKETS - 1] {
        let run = alone(run, &loss("s0->h0", "data", &format!("nth = [{lost}]")));
        // The NAK arrives a round trip after the packet behind the gap was sent; at 8 Gbit/s that is that
        // packet over two wires and the NAK over two, with 1 us of delay each.
        let round_trip_ns = 2 * 1082 + 2 * 86 + 4 * 1000;
        let sent_meanwhile = round_trip_ns / 1082 + 1;
        let left = PACKETS - lost;
        let again = run.summary.retransmitted_packets;
        assert!(again.abs_diff(1 + left.min(sent_meanwhile)) <= 1, "packet {lost}: {again} again");
        assert!(fct(&run) > ideal(&run) && fct(&run) < ideal(&run) + TIMEOUT_NS / 2);
    }
}

/// Nothing follows the last packet that could reveal its loss: the timer does, and one packet is sent again.
pub fn last_packet_loss(run: Runner) {
    for wire in ["h1->s0", "s0->h0"] {
        let run = alone(run, &loss(wire, "data", &format!("nth = [{PACKETS}]")));
        assert_eq!(run.summary.retransmitted_packets, 1);
        // The timer restarts with the ACK of the packet before.
        let expected = TIMEOUT_NS + ideal(&run);
        assert!(fct(&run).abs_diff(expected) < 10_000, "{} and {expected}", fct(&run));
    }
}

/// An ACK stands for all before it: a lost one costs nothing, unless it is the last one.
pub fn single_ack_loss(run: Runner) {
    for lost in [1, 2, PACKETS - 1] {
        let run = alone(run, &loss("h0->s0", "ack", &format!("nth = [{lost}]")));
        assert_eq!(run.summary.retransmitted_packets, 0);
        assert_eq!(fct(&run), ideal(&run), "the ACK behind says the same");
    }
    let run = alone(run, &loss("s0->h1", "ack", &format!("nth = [{PACKETS}]")));
    assert_eq!(run.summary.retransmitted_packets, 1, "a duplicate is acknowledged again");
    assert!(fct(&run) > TIMEOUT_NS);
}

/// A gap is reported once: if the NAK is lost the timer ends the wait, and all from the gap on is sent again.
pub fn nak_loss(run: Runner) {
    let lost = r#"faults=[
        { kind = "loss", wire = "s0->h0", match = "data", nth = [5] },
        { kind = "loss", wire = "h0->s0", match = "nak", nth = [1] },
    ]"#;
    let run = alone(run, lost);
    assert_eq!(run.summary.retransmitted_packets, PACKETS - 4);
    assert!(fct(&run) > TIMEOUT_NS);
}

/// CNPs are advice: lost CNPs are neither repeated nor missed.
pub fn cnp_loss(run: Runner) {
    let flows = flow("h1", "h0", 300, 3) + &flow("h2", "h0", 300, 3);
    let settings = [
        "host.transport.congestion_control=dcqcn",
        "switch.ecn={ kmin = \"5kB\", kmax = \"50kB\", pmax = 0.5 }",
    ];
    let fault = loss("s0->h1", "cnp", "nth = [1, 3]");
    let run = run(&star(3, &flows), &[&settings[..], &[&fault]].concat());
    run.assert_sound();
    run.assert_drops_only("injected-loss");
    assert_eq!(run.summary.drops.injected, 2);
    assert_eq!(run.summary.retransmitted_packets, 0);
    let received: u64 = run.flows().numbers("cnps").iter().sum();
    assert_eq!(received, run.summary.cnps - 2);
    assert!(run.flows().only("label", "h1").number("cnps") > 0);
}

/// Every wire loses frames of every kind, PAUSE and RESUME too, at this rate.
pub fn random_loss(run: Runner, rate: &str) {
    let hosts: String = ["h1", "h2", "h3"].map(|host| flow(host, "h0", 800, 3)).concat();
    let text = star(4, &(hosts + &flow("h0", "h1", 800, 4)));
    let settings = ["switch.lossless=[3, 4]", "switch.pause_quanta=2000"];
    let fault = loss("*", "all", &format!("rate = {rate}"));
    let run = run(&text, &[&settings[..], &[&fault]].concat());
    run.assert_complete();
    let drops = &run.summary.drops;
    assert!(drops.injected > 0);
    assert_eq!(run.is_sound(), drops.policy == 0);
    assert_eq!(drops.policy, drops.by_reason.get("headroom-exhausted").copied().unwrap_or(0));
    assert_eq!(drops.lost(), drops.injected + drops.policy, "{drops:?}");
    let table = run.drops();
    assert_eq!(
        table.rows().len() as u64,
        drops.lost(),
        "a row for each frame that went no further"
    );
    assert!(table.rows().iter().all(|row| (60..=1074).contains(&row.number("bytes"))));
    assert_eq!(table.with("class", "injected").count() as u64, drops.injected);
    assert_ne!(run.summary.retransmitted_packets, 0);
    assert_retransmissions_are_seen(&run);
}

/// A wire that loses everything: the flow never completes, and the run reports it.
pub fn total_loss(run: Runner) {
    let text = star(2, &flow("h1", "h0", PACKETS, 3));
    let run = run(&text, &[&loss("h1->s0", "data", "rate = 1.0"), "duration=50ms"]);
    assert!(!run.is_sound());
    assert_eq!(run.summary.flows_completed, 0);
    assert!(run.flows().rows()[0].text("fct_ns").is_empty());
    let uplink = wire_named(run.scenario.fabric(), "h1->s0");
    assert!(run.frames().iter().all(|frame| frame.wire != uplink));
    // Two timeouts: the first transmission, and two retransmissions of all packets.
    assert_eq!(run.summary.drops.injected, 3 * PACKETS);
}
