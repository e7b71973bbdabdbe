//! In-band telemetry: stamps agree with the wires.

use std::collections::BTreeMap;

use fabric_core::wire::telemetry::{Measured, RateCode};
use fabric_core::wire::{HopTelemetry, RocePacket, TelemetryFields};
use topology::NodeKind;
use units::{Bytes, Nanos};

use super::capture::CapturedFrame;
use super::{CAPTURE_ALL, Run, Runner};

/// Bytes around a frame on the wire, by default.
const OVERHEAD: u64 = 24;

/// Three hosts send to one over a link that takes a nanosecond for a byte, and pauses of the switch hold them up. No two
/// packets come to an idle port at once: the first of them would be sent before the other is taken.
const INCAST: &str = r#"
name = "stamped-incast"
[topology]
kind = "star"
hosts = 4
host_link = { rate = "8Gbps", delay = "500ns" }
[switch]
buffer = "1MB"
threshold = { kind = "static", xoff = "9kB", xon = "7kB" }
[host]
ack_interval = 1
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "one"
src = "h1"
dst = "h0"
bytes = "60001B"
[[flows]]
kind = "one"
src = "h2"
dst = "h0"
bytes = "60001B"
start = "3ns"
[[flows]]
kind = "one"
src = "h3"
dst = "h0"
bytes = "60001B"
start = "7ns"
"#;

/// From host to host over three switches, with a link of another rate between them.
const CHAIN: &str = r#"
name = "stamped-chain"
[topology]
kind = "custom"
switches = ["s0", "s1", "s2"]
hosts = ["h0", "h1"]
links = [
    { a = "h0", b = "s0", rate = "8Gbps", delay = "500ns" },
    { a = "s0", b = "s1", rate = "4Gbps", delay = "1us" },
    { a = "s1", b = "s2", rate = "8Gbps", delay = "1us" },
    { a = "s2", b = "h1", rate = "4Gbps", delay = "500ns" },
]
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "50kB"
"#;

/// A packet, wherever it is on its path.
type Identity = (u32, u32, u8, u32, u32);

fn identity(packet: &RocePacket) -> Identity {
    let RocePacket { source, destination, opcode, destination_qp, psn, .. } = *packet;
    (source, destination, opcode as u8, destination_qp, psn.value())
}

/// A frame that left a port.
struct Departure {
    start_ns: u64,
    /// Arrival at the switch, if it came from elsewhere.
    came_ns: Option<u64>,
    frame: CapturedFrame,
}

/// The last stamp of each packet, at the place where a switch put it, agrees with the captures of all wires at the
/// port.
pub fn stamps_report_what_the_wires_show(run: Runner) {
    let run = run(INCAST, &[CAPTURE_ALL, "host.telemetry_hops=3"]);
    run.assert_lossless();
    assert!(run.summary.pause_frames > 0);
    let (mut stamped, mut longest) = (0, 0);
    for departures in by_port(&run) {
        let rate = run.scenario.fabric().wire(departures[0].frame.wire).rate;
        let rate = RateCode::nearest(rate);
        let mut transmitted = 0;
        for (number, departure) in departures.iter().enumerate() {
            let Departure { start_ns, frame, .. } = departure;
            let packet = frame.roce();
            let telemetry = packet.and_then(|packet| packet.telemetry);
            if let Some(packet) = packet
                && telemetry.is_some_and(|telemetry| !telemetry.echo)
            {
                let waiting = departures[number + 1..].iter().filter(|later| {
                    let dscp = later.frame.roce().map(|later| later.dscp);
                    dscp == Some(packet.dscp) && later.came_ns.is_some_and(|came| came <= *start_ns)
                });
                let queue: u64 = waiting.map(|later| later.frame.length).sum();
                let at = Nanos(*start_ns);
                let (transmitted, queue) = (Bytes(transmitted), Bytes(queue));
                let expected = HopTelemetry::new(&Measured { rate, at, transmitted, queue });
                assert_eq!(frame.stamps(), [expected], "{packet} at {start_ns}");
                stamped += 1;
                longest = longest.max(queue.0);
            }
            transmitted += frame.length + OVERHEAD;
        }
    }
    assert_eq!(stamped, 3 * 61);
    assert!(longest > 5000, "a queue forms: {longest}");
}

/// Departures of each switch port, in order.
fn by_port(run: &Run) -> Vec<Vec<Departure>> {
    let fabric = run.scenario.fabric();
    let mut frames = run.frames();
    frames.sort_by_key(|frame| frame.start_ns);
    let mut came: BTreeMap<Identity, u64> = BTreeMap::new();
    for frame in &frames {
        if let (NodeKind::Switch(_), Some(packet)) = (fabric.ends(frame.wire).to, frame.roce()) {
            came.insert(identity(&packet), frame.arrival_ns);
        }
    }
    let mut ports: BTreeMap<u32, Vec<Departure>> = BTreeMap::new();
    for frame in frames {
        if let NodeKind::Switch(_) = fabric.ends(frame.wire).from {
            let came_ns = frame.roce().and_then(|packet| came.get(&identity(&packet)).copied());
            let departure = Departure { start_ns: frame.start_ns, came_ns, frame };
            ports.entry(frame.wire.0).or_default().push(departure);
        }
    }
    ports.into_values().collect()
}

/// With room for all hops, for some, and for one: every stamp that fits is there, and missing stamps are indicated.
pub fn each_hop_stamps_until_the_room_is_used_up(run: Runner) {
    for room in [1u8, 2, 3, 8] {
        let hops = format!("host.telemetry_hops={room}");
        let run = run(CHAIN, &[CAPTURE_ALL, &hops]);
        run.assert_lossless();
        let rates = [4u64, 8, 4].map(|gigabits| gigabits * 1_000_000_000);
        let fabric = run.scenario.fabric();
        let (mut data, mut answers) = (0, 0);
        // What the receiver has seen, by PSN.
        let mut received: BTreeMap<u32, Vec<HopTelemetry>> = BTreeMap::new();
        for frame in run.frames() {
            let Some(packet) = frame.roce() else { continue };
            let to_host = matches!(fabric.ends(frame.wire).to, NodeKind::Host(_));
            let telemetry = packet.telemetry.expect("all packets of this run have telemetry");
            let stamps = frame.stamps();
            assert_eq!(telemetry.room, room);
            if packet.opcode.has_payload() {
                assert!(!telemetry.echo);
                if to_host {
                    let there: Vec<u64> = stamps.iter().map(|stamp| stamp.rate().0).collect();
                    assert_eq!(there, rates[..usize::from(room.min(3))]);
                    assert_eq!(telemetry.exceeded, room < 3);
                    received.insert(packet.psn.value(), stamps.to_vec());
                    data += 1;
                }
            } else {
                // On every wire of the way back.
                let expected =
                    TelemetryFields { room, hops: room.min(3), echo: true, exceeded: room < 3 };
                assert_eq!(telemetry, expected);
                assert_eq!(stamps, received[&packet.psn.value()], "{packet}");
                answers += 1;
            }
        }
        assert_eq!((data, answers), (50, 4 * 13));
    }
}

/// Losses, and answers to packets out of order.
pub const LOSSY: &str = r#"
name = "stamped-losses"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
host_link = { rate = "100Gbps", delay = "600ns" }
fabric_link = { rate = "97Gbps", delay = "1us" }
[switch]
buffer = "1MB"
flow_queues = [{ priority = 3, queues = 4 }]
ecn = { kmin = "5kB", kmax = "50kB", pmax = 0.5 }
[host]
payload = "3072B"
[[faults]]
kind = "loss"
wire = "leaf0->spine0"
match = "data"
nth = [3, 9]
[[faults]]
kind = "loss"
wire = "leaf1->spine1"
match = "ack"
nth = [2]
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3", "h4", "h5"]
receiver = "h0"
bytes = "100kB"
[[flows]]
kind = "one"
src = "h0"
dst = "h5"
bytes = "100kB"
"#;

/// Packets as long as they can be, with losses, marks and several queues.
pub fn losses_and_long_packets(run: Runner) -> Run {
    let run = run(LOSSY, &[CAPTURE_ALL, "host.telemetry_hops=8"]);
    run.assert_complete();
    let longest = run.frames().iter().map(|frame| frame.length).max();
    assert_eq!(longest, Some(14 + 20 + 8 + 12 + 16 + 3072 + 4 + 72));
    run
}
