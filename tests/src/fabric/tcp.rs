//! TCP: only lost segments are sent again, and every flow completes with the right bytes, beside RoCEv2 or alone.

use std::collections::BTreeMap;

use fabric_core::wire::TcpSegment;
use fabric_core::wire::ipv4::FIRST_RTT;
use fabric_core::wire::tcp::Flags;

use super::capture::CapturedFrame;
use super::one_switch::{flow, loss, star};
use super::{Run, Runner};

/// A window that holds all of a flow, and no pace.
const PLAIN: &str = "host.transport={kind=\"tcp\",congestion_control=\"none\",minimum_rto=\"1ms\",\
                     initial_rto=\"1ms\"}";
/// With a probe of the tail.
const PROBING: &str = "host.transport={kind=\"tcp\",congestion_control=\"none\",minimum_rto=\"1ms\",\
                       initial_rto=\"1ms\",tail_loss_probe=true}";
const RTO_NS: u64 = 1_000_000;
/// Segments of the flow whose segments are lost one by one.
const SEGMENTS: u64 = 20;
/// A full segment at 8 Gbit/s: 1000 bytes of payload, 66 of headers, 24 around the frame.
const SEGMENT_NS: u64 = 1090;
/// From the first bit of a segment to the last bit of its ACK: two wires of 1 us each way.
const ROUND_TRIP_NS: u64 = 2 * SEGMENT_NS + 2 * 90 + 4 * 1000;

fn alone(run: Runner, settings: &[&str]) -> Run {
    let text = star(2, &flow("h1", "h0", SEGMENTS, 1));
    let run = run(&text, settings);
    run.assert_sound();
    run
}

fn late(run: &Run) -> u64 {
    let flows = run.flows();
    let row = &flows.rows()[0];
    row.number("fct_ns") - row.number("ideal_ns")
}

fn segments(run: &Run) -> Vec<TcpSegment> {
    run.frames().iter().filter_map(CapturedFrame::tcp).collect()
}

/// A lone flow takes its ideal time: handshake, data and the last ACK.
pub fn without_loss(run: Runner) {
    for kilobytes in [1, 20, 400] {
        let run = run(&star(2, &flow("h1", "h0", kilobytes, 1)), &[PLAIN]);
        run.assert_sound();
        assert_eq!((late(&run), run.summary.retransmitted_packets), (0, 0), "{kilobytes} kB");
        let segments = segments(&run);
        let opening = segments.iter().filter(|segment| segment.flags.contains(Flags::SYN));
        assert_eq!(opening.count(), 4, "SYN and its answer, on two wires");
        let data = segments.iter().filter(|segment| segment.payload_length > 0).count();
        assert_eq!(data as u64, 2 * kilobytes);
    }
}

/// SYN and data are marked until 6360 bytes of payload are sent, the capacity of a round trip at 8 Gbit/s; ACKs if
/// configured.
pub fn first_round_trip(run: Runner) {
    for acks in [false, true] {
        let marks = [
            "host.transport.first_rtt_marks=\"auto\"",
            &format!("host.transport.first_rtt_acks={acks}"),
        ];
        let run = alone(run, &[&[PLAIN][..], &marks].concat());
        let is_marked = |segment: &&TcpSegment| segment.dscp & FIRST_RTT != 0;
        let (data, answers): (Vec<TcpSegment>, Vec<_>) =
            segments(&run).iter().partition(|segment| segment.ports.destination >= 61_440);
        assert_eq!(ROUND_TRIP_NS.div_ceil(1000), 7);
        assert_eq!(data.iter().filter(is_marked).count(), 2 * (1 + 7), "on two wires");
        let marked = answers.iter().filter(is_marked).count();
        assert_eq!(marked, if acks { answers.len() } else { 0 });
    }
}

/// The ACKs of segments behind it report a lost segment: one is sent again, and no timer is involved. Nothing follows
/// the last one, and nothing goes before the SYN is answered. The first frame of data is the SYN.
pub fn each_segment_loss(run: Runner) {
    for lost in 1..=SEGMENTS + 1 {
        let run = alone(run, &[PLAIN, &loss("s0->h0", "data", &format!("nth = [{lost}]"))]);
        assert_eq!(run.summary.retransmitted_packets, 1, "frame {lost}");
        if lost == 1 || lost == SEGMENTS + 1 {
            assert!(late(&run).abs_diff(RTO_NS) < ROUND_TRIP_NS, "frame {lost}: {}", late(&run));
        } else {
            assert!(late(&run) < ROUND_TRIP_NS + SEGMENT_NS, "frame {lost}: {}", late(&run));
        }
    }
}

/// An ACK stands for all before it: a lost one costs nothing, unless it is the last one, or the answer to the SYN.
pub fn each_ack_loss(run: Runner) {
    for lost in 1..=SEGMENTS + 1 {
        let run = alone(run, &[PLAIN, &loss("s0->h1", "ack", &format!("nth = [{lost}]"))]);
        let again = u64::from(lost == 1 || lost == SEGMENTS + 1);
        assert_eq!(run.summary.retransmitted_packets, again, "frame {lost}");
        assert_eq!(late(&run) == 0, again == 0, "frame {lost}: {}", late(&run));
    }
}

/// A probe takes the place of the timeout.
pub fn tail_loss(run: Runner) {
    for lost in [SEGMENTS + 1, SEGMENTS] {
        let last = format!("nth = [{lost}, {}]", SEGMENTS + 1);
        let run = alone(run, &[PROBING, &loss("s0->h0", "data", &last)]);
        assert!(late(&run) < RTO_NS / 2, "{}", late(&run));
        assert_eq!(run.summary.retransmitted_packets, 2 + SEGMENTS - lost);
    }
}

/// Frames of data and ACKs are lost at random.
pub fn random_loss(run: Runner, rate: &str) {
    let flows = [flow("h1", "h0", 2000, 1), flow("h2", "h0", 1000, 1), flow("h3", "h0", 1, 1)];
    let text = star(4, &flows.concat());
    for control in ["cubic", "dctcp", "timely"] {
        let transport = format!(
            "host.transport={{kind=\"tcp\",congestion_control=\"{control}\",minimum_rto=\"1ms\"}}"
        );
        let fault = |wire: &str, class: &str| {
            format!("{{ kind = \"loss\", wire = \"{wire}\", match = \"{class}\", rate = {rate} }}")
        };
        let faults = format!("faults=[{}, {}]", fault("s0->h0", "data"), fault("h0->s0", "ack"));
        let ecn = "switch.ecn={priorities=[1],kmin=\"20kB\",kmax=\"20kB\",pmax=1}";
        let run = run(&text, &[&transport, &faults, ecn, "duration=20s"]);
        run.assert_sound();
        assert_eq!(run.summary.flows_completed, 3, "{control}");
        assert_ne!(run.summary.retransmitted_packets, 0);
    }
}

/// Lossy TCP beside lossless RoCEv2, through one congested port: TCP loses and repairs, RoCEv2 pauses and loses
/// nothing, and each flow has the transport that it names.
pub fn beside_roce(run: Runner) {
    let tcp =
        "transport = { kind = \"tcp\", congestion_control = \"cubic\", minimum_rto = \"1ms\" }\n";
    let flows = [
        flow("h1", "h0", 1000, 1) + tcp,
        flow("h2", "h0", 1000, 1) + tcp,
        flow("h1", "h0", 500, 3),
        flow("h3", "h0", 500, 3),
    ];
    let settings = ["switch.buffer=300kB", "switch.lossy={kind=\"dt\",alpha=\"1/4\"}"];
    let run = run(&star(4, &flows.concat()), &settings);
    run.assert_sound();
    assert_eq!(run.summary.flows_completed, 4);
    assert_ne!(run.summary.pause_frames, 0);
    assert_ne!(run.summary.drops.policy, 0);
    for row in run.flows().rows() {
        let lossless = row.number("priority") == 3;
        assert_eq!(row.number("retransmitted_packets") == 0, lossless, "{row:?}");
    }
    let mut protocols: BTreeMap<u8, [bool; 2]> = BTreeMap::new();
    for frame in run.frames() {
        if let Some(packet) = frame.data() {
            protocols.entry(packet.dscp >> 3).or_default()[0] = true;
        }
        if let Some(segment) = frame.tcp().filter(|segment| segment.payload_length > 0) {
            protocols.entry(segment.dscp >> 3).or_default()[1] = true;
        }
    }
    assert_eq!(protocols, BTreeMap::from([(1, [false, true]), (3, [true, false])]));
}

/// Data segments bring stamps of the switch, and ACKs without SACK blocks bring them back. Frames are 12 bytes longer
/// than without, by room for one stamp in place of padding.
pub fn telemetry(run: Runner) {
    let text = star(3, &(flow("h1", "h0", 2000, 1) + &flow("h2", "h0", 2000, 1)));
    for control in ["powertcp", "hpcc"] {
        let transport = format!(
            "host.transport={{kind=\"tcp\",congestion_control=\"{control}\",minimum_rto=\"1ms\"}}"
        );
        let lost = loss("s0->h0", "data", "nth = [500]");
        let run = run(&text, &[&transport, &lost, "switch.buffer=16MB"]);
        run.assert_sound();
        assert_eq!(run.summary.flows_completed, 2, "{control}");
        assert_eq!(run.summary.retransmitted_packets, 1, "{control}");
        let [mut echoes, mut stamped] = [0; 2];
        for frame in run.frames() {
            let Some(segment) = frame.tcp() else { continue };
            let stamps = frame.stamps().len();
            let Some(fields) = segment.telemetry else {
                let sacks = !segment.sack.as_slice().is_empty();
                assert!(segment.syn.is_some() || sacks, "{segment}");
                continue;
            };
            assert_eq!(
                (fields.room, usize::from(fields.hops), fields.exceeded),
                (1, stamps, false)
            );
            if fields.echo {
                assert_eq!((segment.payload_length, stamps, segment.frame_length()), (0, 1, 78));
                echoes += 1;
            } else {
                assert_eq!(segment.frame_length(), 1078);
                stamped += stamps;
            }
        }
        assert!(echoes > 0 && stamped > 0, "{control}: {echoes} echoes, {stamped} stamps");
    }
}

/// Marks come back as ECE, and the window falls: DCTCP keeps the queue near its threshold.
pub fn marks(run: Runner) {
    let text = star(3, &(flow("h1", "h0", 2000, 1) + &flow("h2", "h0", 2000, 1)));
    let dctcp = "host.transport={kind=\"tcp\",congestion_control=\"dctcp\",minimum_rto=\"1ms\"}";
    let ecn = "switch.ecn={priorities=[1],kmin=\"20kB\",kmax=\"20kB\",pmax=1,mark_at=\"dequeue\"}";
    let run = run(&text, &[dctcp, ecn, "switch.buffer=16MB"]);
    run.assert_lossless();
    assert_ne!(run.summary.ecn_marked, 0);
    let segments = segments(&run);
    let with =
        |flags: Flags| segments.iter().filter(|segment| segment.flags.contains(flags)).count();
    assert_ne!(with(Flags::ECE | Flags::ACK), 0);
    assert_ne!(with(Flags::CWR | Flags::ACK), 0);
    assert_eq!(run.summary.retransmitted_packets, 0);
}
