//! Properties of every run: its tables agree with each other, with the summary and with the wires.

use std::collections::{BTreeMap, BTreeSet};

use fabric_core::wire::TcpSegment;
use fabric_core::wire::roce::{Ecn, Opcode};
use fabric_core::wire::tcp::{Direction, Flags};
use results::RunEnd;
use topology::{HostId, NodeKind};

use super::Run;
use super::backpressure::assert_paired;
use super::capture::CapturedFrame;
use super::counters::assert_counters;
use super::results::Table;

/// Asserts all of it, of a run that captures everything and follows its buffers.
pub fn assert_agreement(run: &Run) {
    assert_ended(run);
    assert_flows(run);
    assert_drops(run);
    assert_pauses(run);
    assert_buffers(run);
    assert_frames(run);
    assert_counters(run);
}

/// The run ended because all was done and the books balance, or else at a deadlock that was confirmed.
fn assert_ended(run: &Run) {
    let summary = &run.summary;
    match summary.ended {
        RunEnd::Drained => {
            assert_eq!(summary.books, Vec::<String>::new());
            assert_eq!(summary.flows_completed, summary.flows_total);
            if summary.queue_pauses.is_some() {
                assert_paired(run);
            }
        }
        RunEnd::Deadlock => assert!(summary.deadlock.at_end, "{summary:#?}"),
        RunEnd::Duration | RunEnd::Window | RunEnd::Interrupted | RunEnd::Failed => {
            panic!("it never ended: {summary:#?}")
        }
    }
    for cycle in run.deadlocks().rows() {
        let confirmed = !cycle.text("confirmed_ns").is_empty();
        assert!(!confirmed || cycle.text("end_ns").is_empty(), "it dissolved: {cycle:?}");
    }
}

fn assert_flows(run: &Run) {
    let (flows, summary) = (run.flows(), &run.summary);
    let completed: Vec<_> =
        flows.rows().iter().filter(|row| !row.text("fct_ns").is_empty()).collect();
    for row in &completed {
        assert!(row.number("fct_ns") >= row.number("ideal_ns"), "faster than its ideal: {row:?}");
    }
    assert_eq!(summary.flows_total, flows.rows().len() as u64);
    assert_eq!(summary.flows_completed, completed.len() as u64);
    let again: u64 = flows.numbers("retransmitted_packets").iter().sum();
    assert!(again <= summary.retransmitted_packets);
    if summary.ended == RunEnd::Drained {
        assert_eq!(again, summary.retransmitted_packets);
    }

    let by_size = run.table("fct_by_size.csv");
    let mut labels: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for row in flows.rows() {
        for label in ["", row.text("label")] {
            let counts = labels.entry(label).or_default();
            counts[0] += 1;
            counts[1] += u64::from(!row.text("fct_ns").is_empty());
        }
    }
    let mut binned: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for row in by_size.rows() {
        let counts = binned.entry(row.text("label")).or_default();
        counts[0] += row.number("flows");
        counts[1] += row.number("completed");
    }
    assert_eq!(binned, labels);
    let greatest = |table: &Table, column| {
        let texts = table.rows().iter().map(|row| row.text(column).to_owned());
        // Four decimals each, so that longer is greater.
        texts.max_by_key(|text| (text.len(), text.clone()))
    };
    assert_eq!(greatest(&by_size, "slowdown_max"), greatest(&flows, "slowdown"));
}

fn assert_drops(run: &Run) {
    let mut by_reason: BTreeMap<String, u64> = BTreeMap::new();
    for row in run.drops().rows() {
        *by_reason.entry(row.text("reason").to_owned()).or_default() += 1;
    }
    assert_eq!(by_reason, run.summary.drops.by_reason);
}

/// A switch's decisions, as intervals, agree with `pause_time.csv`, and its frames with the summary.
fn assert_pauses(run: &Run) {
    let (pauses, summary) = (run.pauses(), &run.summary);
    let mut by_port: BTreeMap<(String, u64, u64), Decisions> = BTreeMap::new();
    for row in pauses.rows() {
        let port = (row.text("node").to_owned(), row.number("port"), row.number("priority"));
        let decisions = by_port.entry(port).or_default();
        let now = row.number("time_ns");
        match row.text("event") {
            "xoff" => {
                decisions.pauses += 1;
                decisions.since.get_or_insert(now);
            }
            "xon" => decisions.close(now),
            // A queue's pause goes on after its port's.
            _ => _ = decisions.since.get_or_insert(now),
        }
    }
    let of_each = by_port.values_mut().map(|decisions| {
        decisions.close(summary.emulated_ns);
        (decisions.pauses, decisions.paused_ns)
    });
    let (number, ns) = of_each.fold((0, 0), |(number, ns), of| (number + of.0, ns + of.1));
    let table = run.table("pause_time.csv");
    let ordered = |column| table.numbers(column).iter().sum::<u64>();
    assert_eq!((ordered("ordered_pauses"), ordered("ordered_ns")), (number, ns));

    let count = |event| pauses.with("event", event).count() as u64;
    let frames = (count("xoff") + count("xoff-refresh"), count("xoff-refresh"), count("xon"));
    let counted = (summary.pause_frames, summary.pause_refresh_frames, summary.resume_frames);
    if pauses.with("level", "port").next().is_none() {
        assert_eq!(frames, counted, "a frame for each class");
    } else {
        let (pause, refresh, resume) = counted;
        assert!(frames.0 >= pause && frames.1 >= refresh && frames.2 >= resume);
    }
}

#[derive(Default)]
struct Decisions {
    pauses: u64,
    paused_ns: u64,
    since: Option<u64>,
}

impl Decisions {
    fn close(&mut self, now: u64) {
        self.paused_ns += self.since.take().map_or(0, |since| now - since);
    }
}

/// Samples are at most the counters' max values, and levels followed event by event reach them exactly.
fn assert_buffers(run: &Run) {
    let (queues, occupancy) = (run.table("queues.csv"), run.table("occupancy.csv"));
    let maxima =
        [("buffer", &run.summary.buffer_max_bytes), ("headroom", &run.summary.headroom_max_bytes)];
    for (kind, of_switches) in maxima {
        for row in queues.with("kind", kind) {
            assert!(row.number("bytes") <= of_switches[row.text("node")], "{row:?}");
        }
        for row in occupancy.with("kind", kind) {
            assert_eq!(row.number("max_bytes"), of_switches[row.text("node")], "{row:?}");
        }
    }
}

/// The frames on all wires, by kind, agree with the counters of hosts and switches.
fn assert_frames(run: &Run) {
    let (frames, summary) = (run.frames(), &run.summary);
    assert_eq!(frames.len() as u64, summary.packet_hops);
    let pfc: Vec<_> = frames.iter().filter_map(CapturedFrame::pfc).collect();
    let resumes = pfc.iter().filter(|frame| frame.quanta.iter().all(|quanta| *quanta == 0)).count();
    // Frames that others supersede while they wait are never sent.
    assert!(pfc.len() as u64 <= summary.pause_frames + summary.resume_frames);
    assert!(resumes as u64 <= summary.resume_frames);
    if summary.ended != RunEnd::Drained {
        return;
    }
    let fabric = run.scenario.fabric();
    let at_hosts = |leaving: bool| {
        frames.iter().filter(move |frame| {
            let wire = fabric.wire(frame.wire);
            let end = if leaving { wire.from } else { wire.to };
            matches!(fabric.node(end).kind, NodeKind::Host(HostId(_)))
        })
    };
    // A SYN counts as data: it is sent again like data.
    let data =
        |leaving| at_hosts(leaving).filter(|frame| ecn_of_data(frame).is_some()).count() as u64;
    let connections: BTreeSet<_> = at_hosts(true)
        .filter_map(CapturedFrame::tcp)
        .filter(|segment| segment.flags.contains(Flags::SYN) && ecn_of_segment(segment).is_some())
        .map(|segment| (segment.ports.source, segment.ports.destination))
        .collect();
    let payload = run.scenario.host.payload.0;
    let packets: u64 =
        run.flows().numbers("bytes").iter().map(|bytes| bytes.div_ceil(payload)).sum();
    let opened = connections.len() as u64;
    assert_eq!(data(true), packets + opened + summary.retransmitted_packets);
    let is_packet = |frame: &&CapturedFrame| frame.roce().is_some() || frame.tcp().is_some();
    let all = |leaving| at_hosts(leaving).filter(is_packet).count() as u64;
    assert_eq!(all(true) - all(false), summary.drops.lost());
    let notifications = at_hosts(true)
        .filter(|frame| frame.roce().is_some_and(|packet| packet.opcode == Opcode::Cnp))
        .count();
    assert_eq!(notifications as u64, summary.cnps);
    let marked = at_hosts(false)
        .filter(|frame| ecn_of_data(frame) == Some(Ecn::CongestionExperienced))
        .count();
    assert!(marked as u64 <= summary.ecn_marked);
    if summary.drops.lost() == 0 {
        assert_eq!(marked as u64, summary.ecn_marked);
    }
}

/// The ECN field of a data packet, or of a segment of the end that sends data.
fn ecn_of_data(frame: &CapturedFrame) -> Option<Ecn> {
    match frame.tcp() {
        Some(segment) => ecn_of_segment(&segment),
        None => frame.data().map(|packet| packet.ecn),
    }
}

fn ecn_of_segment(segment: &TcpSegment) -> Option<Ecn> {
    let (_, direction) = segment.ports.connection()?;
    (direction == Direction::FromClient).then_some(segment.ecn)
}
