//! Selective repeat: only lost packets are sent again, and every flow completes with the right bytes.

use fabric_core::wire::Syndrome;
use fabric_core::wire::roce::Opcode;

use super::capture::CapturedFrame;
use super::one_switch::{flow, loss, star};
use super::{Run, Runner};

const SELECTIVE_REPEAT: &str = "host.transport.reliability=selective-repeat";
/// Packets of the flow whose packets are lost one by one.
const PACKETS: u64 = 20;
/// While few packets are in flight, and otherwise.
const RTO_LOW_NS: u64 = 100_000;
const RTO_HIGH_NS: u64 = 20_000_000;
/// A full packet at 8 Gbit/s: 1000 bytes of payload, 58 of headers, 16 of RETH, 24 around the frame.
const PACKET_NS: u64 = 1098;
/// From the first bit of a packet to the last bit of its answer: two wires of 1 us each way.
const ROUND_TRIP_NS: u64 = 2 * PACKET_NS + 2 * 86 + 4 * 1000;

/// h1 to h0 alone, 20 packets, each acknowledged, with some faults.
fn alone(run: Runner, settings: &[&str]) -> Run {
    let text = star(2, &flow("h1", "h0", PACKETS, 3));
    let run = run(&text, &[&["host.ack_interval=1", SELECTIVE_REPEAT], settings].concat());
    run.assert_sound();
    run
}

fn fct(run: &Run) -> u64 {
    run.flows().rows()[0].number("fct_ns")
}

fn ideal(run: &Run) -> u64 {
    run.flows().rows()[0].number("ideal_ns")
}

/// Selective NAKs that arrived at a switch or a host.
fn naks(run: &Run) -> usize {
    let frames = run.frames();
    let headers = frames.iter().filter_map(CapturedFrame::roce).filter_map(|packet| packet.aeth);
    headers.filter(|aeth| aeth.syndrome == Syndrome::SelectiveNak).count()
}

/// Each packet is a WRITE of its own, and the ideal time counts its RETH.
pub fn without_loss(run: Runner) {
    for (kilobytes, interval) in [(1, 1), (20, 1), (20, 4), (400, 7)] {
        let text = star(2, &flow("h1", "h0", kilobytes, 3));
        let run = run(&text, &[&format!("host.ack_interval={interval}"), SELECTIVE_REPEAT]);
        run.assert_sound();
        assert_eq!(fct(&run), ideal(&run), "{kilobytes} kB");
        assert_eq!(run.summary.retransmitted_packets, 0);
        let frames = run.frames();
        let data: Vec<_> = frames.iter().filter_map(CapturedFrame::data).collect();
        assert_eq!(data.len() as u64, 2 * kilobytes, "a frame for each packet and wire");
        for packet in data {
            assert_eq!((packet.opcode, packet.frame_length()), (Opcode::WriteOnly, 1074));
        }
    }
}

/// The next packet that arrives calls for a NAK: one packet is sent again, and no timer has a part in it. Nothing
/// follows the last packet that could reveal its loss.
pub fn each_data_packet_loss(run: Runner) {
    for lost in 1..=PACKETS {
        for wire in ["h1->s0", "s0->h0"] {
            let run = alone(run, &[&loss(wire, "data", &format!("nth = [{lost}]"))]);
            assert_eq!(run.summary.retransmitted_packets, 1, "packet {lost} on {wire}");
            let late = fct(&run) - ideal(&run);
            if lost == PACKETS {
                // The timer starts with the ACK of the packet before.
                let expected = RTO_LOW_NS - PACKET_NS + ROUND_TRIP_NS - PACKET_NS;
                assert!(late.abs_diff(expected) < 2 * PACKET_NS, "{late} and {expected}");
            } else {
                assert!(late < ROUND_TRIP_NS + PACKET_NS, "packet {lost} on {wire}: {late}");
            }
        }
    }
}

/// An ACK stands for all before it: a lost one costs nothing, unless it is the last one.
pub fn each_ack_loss(run: Runner) {
    for lost in 1..PACKETS {
        let run = alone(run, &[&loss("h0->s0", "ack", &format!("nth = [{lost}]"))]);
        assert_eq!(run.summary.retransmitted_packets, 0);
        assert_eq!(fct(&run), ideal(&run), "the ACK behind says the same");
    }
    let run = alone(run, &[&loss("s0->h1", "ack", &format!("nth = [{PACKETS}]"))]);
    assert_eq!(run.summary.retransmitted_packets, 1, "a duplicate is acknowledged again");
    assert!(fct(&run) > ideal(&run) + RTO_LOW_NS / 2);
    assert!(fct(&run) < ideal(&run) + RTO_LOW_NS + ROUND_TRIP_NS);
}

/// Each NAK alone reports its packet. The NAK behind it makes that packet look lost, too: a lost NAK costs one packet,
/// and no timeout.
pub fn each_nak_loss(run: Runner) {
    let data = r#"{ kind = "loss", wire = "s0->h0", match = "data", nth = [5] }"#;
    let whole = alone(run, &[&format!("faults=[{data}]")]);
    let reports = naks(&whole) / 2;
    assert!(reports > 3, "a NAK for each packet that comes before the repair: {reports}");
    for lost in 1..=reports {
        let nak = format!(r#"{{ kind = "loss", wire = "h0->s0", match = "nak", nth = [{lost}] }}"#);
        let run = alone(run, &[&format!("faults=[{data}, {nak}]")]);
        let again = run.summary.retransmitted_packets;
        assert_eq!(again, 1 + u64::from(lost < reports), "NAK {lost} of {reports}");
        assert!(fct(&run) < ideal(&run) + ROUND_TRIP_NS + 3 * PACKET_NS, "NAK {lost}");
    }
}

/// Without any NAK the timer ends the wait; the ACK of the one packet that it sends again covers the others.
pub fn all_naks_lost(run: Runner) {
    let lost = r#"faults=[
        { kind = "loss", wire = "s0->h0", match = "data", nth = [5] },
        { kind = "loss", wire = "h0->s0", match = "nak", rate = 1.0 },
    ]"#;
    let run = alone(run, &[lost]);
    assert_eq!(run.summary.retransmitted_packets, 1);
    assert!(fct(&run) > RTO_HIGH_NS && fct(&run) < RTO_HIGH_NS + ideal(&run) + ROUND_TRIP_NS);
}

/// A lost tail takes one timeout, the long one, not one for each packet.
pub fn tail_loss(run: Runner) {
    let run = alone(run, &[&loss("s0->h0", "data", "nth = [16, 17, 18, 19, 20]")]);
    assert_eq!(run.summary.retransmitted_packets, 5);
    assert!(fct(&run) > RTO_HIGH_NS && fct(&run) < RTO_HIGH_NS + ideal(&run) + 6 * ROUND_TRIP_NS);
}

/// Data packets are lost on every wire at this rate: only lost packets, including lost retransmissions, are sent again.
pub fn random_data_loss(run: Runner, rate: &str) {
    let hosts: String = ["h1", "h2", "h3"].map(|host| flow(host, "h0", 800, 3)).concat();
    let text = star(4, &(hosts + &flow("h0", "h1", 800, 4)));
    let fault = loss("*", "data", &format!("rate = {rate}"));
    let run = run(&text, &["switch.lossless=[3, 4]", SELECTIVE_REPEAT, &fault]);
    run.assert_sound();
    run.assert_drops_only("injected-loss");
    assert!(run.summary.drops.injected > 0);
    assert_eq!(run.summary.retransmitted_packets, run.summary.drops.injected);
}

/// Every wire loses frames of every kind, PAUSE and RESUME too, at this rate.
pub fn random_loss(run: Runner, rate: &str) {
    let hosts: String = ["h1", "h2", "h3"].map(|host| flow(host, "h0", 800, 3)).concat();
    let text = star(4, &(hosts + &flow("h0", "h1", 800, 4)));
    let settings = ["switch.lossless=[3, 4]", "switch.pause_quanta=2000", SELECTIVE_REPEAT];
    let fault = loss("*", "all", &format!("rate = {rate}"));
    let run = run(&text, &[&settings[..], &[&fault]].concat());
    run.assert_complete();
    let drops = &run.summary.drops;
    assert!(drops.injected > 0);
    assert_eq!(drops.policy, drops.by_reason.get("headroom-exhausted").copied().unwrap_or(0));
    let lost = drops.injected + drops.policy;
    assert_eq!(drops.lost(), lost, "{drops:?}");
    let again = run.summary.retransmitted_packets;
    assert!((1..=2 * lost).contains(&again), "{again} packets again for {lost} lost frames");
}
