use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::PauseLevel;
use units::BitsPerSecond;

use super::*;
use crate::PoolLevels;
use crate::folder::ResultsOptions;
use crate::manifest::Manifest;
use crate::measurements::Measurements;
use crate::queue::QueueKind;
use crate::report::TABLE_ROWS;
use crate::size_class::SizeClasses;
use crate::slowdown::Slowdown;
use crate::tables::{
    DeadlockRow, DropRow, FlowRow, FlowTraceRow, LinkDelayRow, PauseRow, QueueRow, TABLES,
};
use crate::{CaptureWire, DropTotals, FIRST_SOURCE_PORT, Style};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn sample(time: u64, node: &str, kind: QueueKind, bytes: u64) -> QueueRow<'_> {
    let (port, priority) = (None, None);
    QueueRow { time: Nanos(time), node, kind, port, priority, bytes: Bytes(bytes) }
}

fn pause(time: u64, event: PauseEvent) -> PauseRow<'static> {
    PauseRow {
        time: Nanos(time),
        node: "leaf0",
        port: 0,
        peer: "h1",
        peer_port: 0,
        priority: 3,
        event,
        level: PauseLevel::Queue,
        occupancy: Bytes(2),
        threshold: Bytes(1),
        shared_free: Bytes(3),
        state: None,
    }
}

fn all_tables() -> BTreeSet<&'static str> {
    TABLES.iter().map(|table| table.name).collect()
}

const WINDOW: Window = Window { from: Nanos(200), to: Nanos(950) };

fn run(folder: Option<&Path>) -> RunReport {
    let rate = BitsPerSecond(100_000_000_000);
    let wires = vec![CaptureWire { name: "leaf0->h1".into(), rate }];
    let tables = ["flows", "fct_by_size", "throughput", "pauses", "pause_time", "queues"];
    let others = ["counters", "occupancy", "drops", "deadlocks"];
    let options = ResultsOptions {
        wires,
        snap_bytes: 64,
        tables: tables.into_iter().chain(others).collect(),
        ..ResultsOptions::default()
    };
    let folder = folder.map(|folder| ResultsFolder::create(folder, &options).unwrap());
    let options = RecordOptions {
        flow_size_bins: vec![Bytes(1_000)],
        size_classes: SizeClasses::new(vec![Bytes(1_000)]),
        capacities: [("leaf0".into(), Bytes(1_000)), ("spine0".into(), Bytes(2_000))].into(),
        window: Some(WINDOW),
        throughput: Some(ThroughputMeter::new(Picos(1_000_000), vec!["incast".into()])),
        ..RecordOptions::default()
    };
    let mut record = Record::new(folder, options);
    for flow in 0..30 {
        record.flow_started(&FlowStart {
            flow,
            label: "incast",
            src: "h1",
            dst: "h0",
            standalone: None,
            source_port: FIRST_SOURCE_PORT,
            destination_port: None,
        });
        record.delivered(Picos(u64::from(flow) * 100_000), flow, 1_000).unwrap();
    }
    for node in ["leaf0", "leaf1", "spine0"] {
        let mut occupancy = Occupancy::new(Bytes(1_000), Some(WINDOW));
        if node == "leaf1" {
            let levels = PoolLevels { private: 1, shared: 2, headroom: 3, lossy: 4 };
            occupancy.observe(Picos(500_000), levels);
        }
        record.occupancy(node, occupancy, Picos(1_000_000));
    }
    for (time, until) in [(120, 5_000), (370, 370), (920, 5_000)] {
        let (time, binds, until) = (Nanos(time), Nanos(time), Nanos(until));
        let (node, by, port, priority) = ("h1", "leaf0", 0, 3);
        let received = PauseReceived { time, node, port, by, priority, binds, until, quanta: None };
        record.pause_received(&received).unwrap();
    }
    for flow in 0..30 {
        let fct = (flow != 17).then_some(Nanos(1_000 + u64::from(flow * 7 % 30) * 100));
        let (label, src, dst, priority) = ("incast", "h1", "h0", 3);
        let (bytes, start, ideal) = (Bytes(1_000), Nanos(0), Nanos(500));
        record
            .add(&FlowRow {
                flow,
                label,
                src,
                dst,
                priority,
                transport: "roce-rc",
                congestion_control: "none",
                bytes,
                start,
                fct,
                ideal,
                retransmitted_packets: 0,
                cnps: 1,
                long_lived: false,
                path: String::new(),
                congested: None,
            })
            .unwrap();
    }
    for row in [
        pause(100, PauseEvent::Pause),
        pause(200, PauseEvent::Refresh),
        pause(350, PauseEvent::Resume),
        pause(900, PauseEvent::Pause),
    ] {
        record.pause_frames(row.event, 1);
        record.add(&row).unwrap();
        record.capture(0, row.time, &[0; 60], None).unwrap();
    }
    for node in ["spine0", "leaf0", "leaf1"] {
        let most = if node == "spine0" { 500 } else { 900 };
        record.add(&sample(100, node, QueueKind::Buffer, most)).unwrap();
        record.add(&sample(100, node, QueueKind::Headroom, 100)).unwrap();
        record.add(&sample(400, node, QueueKind::Buffer, 0)).unwrap();
        record.add(&sample(400, node, QueueKind::Headroom, 0)).unwrap();
    }
    let manifest = Manifest::for_this_process();
    let description = RunDescription {
        scenario_toml: "name = \"incast\"\n",
        manifest: &manifest,
        fabric: "star of 2 hosts; memory datapath, virtual clock".into(),
        lossless: vec![3],
    };
    let mut drops = DropTotals::default();
    drops.add(DropReason::GlobalPause, 1);
    let scenario = "incast".into();
    let counted = Summary { scenario, emulated_ns: 1_000, drops, ..Summary::default() };
    record.finish(Picos(1_000_000), description, counted).unwrap()
}

#[test]
fn the_summary_is_filled_in() {
    let RunReport { summary, buffer, worst_flows, fct_by_size, occupancy, .. } = run(None);
    assert_eq!((summary.flows_total, summary.flows_completed), (30, 29));
    let pauses = (summary.pause_frames, summary.pause_refresh_frames, summary.resume_frames);
    assert_eq!(pauses, (3, 1, 1));
    assert_eq!((summary.paused_ns, summary.pause_ordered_ns), (330, 250 + 100));
    assert!(summary.lossless);
    assert_eq!(summary.fct_ns.unwrap().max, 3_800);
    let buffer = buffer.unwrap();
    assert_eq!((buffer.switch.as_str(), buffer.capacity), ("leaf0", Bytes(1_000)));
    let full = BufferLevel { total: Bytes(900), headroom: Bytes(100) };
    assert!(buffer.chart.columns.iter().all(|column| *column == full), "from 100 to 400 ns");
    assert_eq!(worst_flows.len(), TABLE_ROWS);
    assert_eq!((worst_flows[0].flow, worst_flows[0].fct), (17, None));
    assert_eq!(worst_flows[1].fct, Some(Nanos(3_800)));
    assert!(worst_flows.is_sorted_by_key(super::worst_flows::rank));
    assert_eq!(fct_by_size.iter().map(|row| row.completed).collect::<Vec<_>>(), [29, 29]);
    let (leaf1, kind) = (&occupancy[3], QueueKind::Buffer);
    assert_eq!((leaf1.node.as_str(), leaf1.kind, leaf1.mean), ("leaf1", kind, Bytes(5)));
}

#[test]
fn what_is_known_at_the_end_is_written() {
    let temp = tempfile::tempdir().unwrap();
    run(Some(temp.path()));
    let last = |name| {
        let text = fs::read_to_string(temp.path().join(name)).unwrap();
        text.lines().last().unwrap().to_owned()
    };
    assert_eq!(last("fct_by_size.csv").split(',').next(), Some("incast"));
    assert_eq!(last("throughput.csv"), "2000,29,1000,8000000000");
    assert_eq!(last("pause_time.csv"), "h1,0,3,leaf0,2,330,0.330000,250,2,350");
    assert_eq!(last("occupancy.csv"), "spine0,headroom,0,0,0,0,0,0");
}

#[test]
fn two_runs_leave_and_show_the_same() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let reports = [run(Some(first.path())), run(Some(second.path()))];
    let texts = reports.map(|mut report| {
        let files = report.files.take().unwrap();
        assert_eq!(files.files.len(), 14);
        report.render(Style::plain())
    });
    assert_eq!(texts[0], texts[1]);
    for entry in fs::read_dir(first.path()).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |folder: &Path| fs::read(folder.join(&name)).unwrap();
        assert!(read(first.path()) == read(second.path()), "{name:?} differs");
    }
}

fn cycle(number: u32, onset: u64, confirmed: Option<u64>) -> DeadlockRow<'static> {
    const MEMBERS: &[crate::DeadlockMember<'_>] = &[
        crate::DeadlockMember {
            wire: "a->b",
            priority: 3,
            cause: crate::WaitCause::Class(PauseLevel::Queue),
        },
        crate::DeadlockMember {
            wire: "b->a",
            priority: 5,
            cause: crate::WaitCause::Class(PauseLevel::Queue),
        },
    ];
    let (onset, confirmed) = (Nanos(onset), confirmed.map(Nanos));
    DeadlockRow {
        cycle: number,
        onset,
        confirmed,
        survives_refresh: false,
        end: None,
        members: MEMBERS,
    }
}

/// A record without a flow, and its report at 1 us.
fn finished(mut record: Record, fill: impl FnOnce(&mut Record)) -> RunReport {
    fill(&mut record);
    let (scenario_toml, manifest) = ("", &Manifest::for_this_process());
    let (fabric, lossless) = (String::new(), Vec::new());
    let description = RunDescription { scenario_toml, manifest, fabric, lossless };
    record.finish(Picos(1_000_000), description, Summary::default()).unwrap()
}

#[test]
fn the_first_confirmed_cycle_is_reported_and_all_are_counted() {
    let report = finished(Record::new(None, RecordOptions::default()), |record| {
        for row in [
            cycle(0, 5, None),
            cycle(1, 20, Some(90)),
            cycle(2, 10, Some(80)),
            cycle(3, 10, Some(70)),
            cycle(4, 30, Some(60)),
        ] {
            record.add(&row).unwrap();
        }
    });
    let totals = report.summary.deadlock;
    assert_eq!((totals.deadlocks, totals.undecided, totals.first_onset_ns), (4, 1, Some(10)));
    let first = report.first_deadlock.expect("four were confirmed");
    assert_eq!((first.onset, first.confirmed, first.end), (Nanos(10), Nanos(80), None));
    assert_eq!(
        (first.queues, first.priorities),
        (vec!["a->b".into(), "b->a".into()], [3, 5].into())
    );
}

#[test]
fn a_record_follows_what_it_was_asked_to_follow() {
    let temp = tempfile::tempdir().unwrap();
    let host = |id| crate::HpccNode { id, is_switch: false, interfaces: vec![1] };
    let switch = crate::HpccNode { id: 2, is_switch: true, interfaces: vec![1, 2] };
    let sampling = crate::QueueSampling {
        start: Nanos(0),
        stop: None,
        interval: Nanos(500),
        dump_interval: Nanos(1000),
        before: Nanos(2000),
    };
    let hpcc = crate::HpccOptions {
        nodes: [("h0", host(0)), ("h1", host(1)), ("s0", switch)]
            .map(|(name, node)| (name.to_owned(), node))
            .into(),
        switches: vec!["s0".into()],
        destination_ports: BTreeMap::new(),
        time_offset: Nanos(0),
        sampling,
        hosts_by_id: false,
        every_pause: false,
    };
    let options =
        ResultsOptions { tables: all_tables(), hpcc: Some(hpcc), ..ResultsOptions::default() };
    let folder = ResultsFolder::create(temp.path(), &options).unwrap();
    let record = Record::new(Some(folder), RecordOptions::default());
    let report = finished(record, |record| {
        let mut lengths = crate::QueueLengths::new(2, sampling);
        assert_eq!(record.next_queue_dump(), Some(Picos(1)));
        record.queue_dump((Picos(1), false), &mut [&mut lengths]).unwrap();
        lengths.change(Picos(1), 1, 2048);
        record.queue_dump((Picos(1_000_000), true), &mut [&mut lengths]).unwrap();
        let (time, until, priority) = (Nanos(7), Nanos(700), 3);
        let (node, by, port) = ("h1", "s0", 0);
        let received =
            PauseReceived { time, node, port, by, priority, binds: time, until, quanta: None };
        record.pause_received(&received).unwrap();
        record.flow_started(&FlowStart {
            flow: 0,
            label: "",
            src: "h0",
            dst: "h1",
            standalone: None,
            source_port: FIRST_SOURCE_PORT,
            destination_port: None,
        });
        for delay in [900, 800] {
            let (link_delay, headroom) = (Some(Nanos(delay)), Bytes(delay * 10));
            let (time, node, peer, response) = (Nanos(7), "s0", "h0", None);
            let row = LinkDelayRow { time, node, port, peer, link_delay, response, headroom };
            record.add(&row).unwrap();
        }
        let (port, priority, bytes) = (None, None, Bytes(64));
        let reason = DropReason::LossyThreshold;
        let row = DropRow { time, node: "s0", port, priority, reason, bytes };
        record.add(&row).unwrap();
        record.add(&cycle(9, 5, None)).unwrap();
        let mut measured = Measurements::default();
        measured.record(crate::Measure::QueuesOff, 3, 40);
        measured.rows().iter().for_each(|row| record.add(row).unwrap());
    });
    let range = report.link_delays.expect("two exchanges");
    assert_eq!((range.exchanges, range.link_delay), (2, (Nanos(800), Nanos(900))));
    let read = |name: &str| fs::read_to_string(temp.path().join(name)).unwrap();
    assert_eq!(read("qlen.txt"), "time: 0\n2 1 1\n2 2 1\ntime: 1000\n2 1 3\n2 2 1 0 2\n");
    assert_eq!(read("pfc.txt"), "7 1 0 1 1\n");
    assert_eq!(read("link_delay.csv").lines().nth(1), Some("7,s0,0,h0,900,,9000"));
    assert_eq!(read("drops.csv").lines().nth(1), Some("7,s0,,,lossy-threshold,policy,64"));
    assert_eq!(read("deadlocks.csv").lines().nth(1), Some("9,5,,,a->b b->a,3 5,queue queue,0"));
    assert_eq!(read("distributions.csv").lines().nth(1), Some("queues-off,3,40,1.000000"));
}

/// From 200 to 950 ns: flows by their start, pauses by the time that lies in it.
#[test]
fn a_window_has_a_summary_of_its_own() {
    let report = run(None);
    let window = report.summary.window.expect("it was asked for");
    assert_eq!((window.from_ns, window.to_ns), (200, 950));
    // 120 to 370, and from 920 on.
    assert_eq!(window.paused_ns, 170 + 30);
    // Ordered at 100, until 350, and from 900 on.
    assert_eq!(window.pause_ordered_ns, 150 + 50);
    assert_eq!((window.flows.flows, report.summary.flows_total), (0, 30), "all start at 0");
}

#[test]
fn a_summary_counts_and_times_flows_of_each_label() {
    let summary = run(None).summary;
    let slowdown = summary.slowdown.expect("29 flows completed");
    assert_eq!((slowdown.p50, slowdown.p99), (Slowdown(48_000), Slowdown(76_000)));
    let incast = &summary.labels["incast"];
    assert_eq!((incast.flows, incast.completed, incast.slowdown), (30, 29, Some(slowdown)));
    assert_eq!((summary.deadlock, summary.emulated_ns), (DeadlockTotals::default(), 1_000));
}

#[test]
fn a_capture_has_the_frames_of_its_run() {
    let temp = tempfile::tempdir().unwrap();
    run(Some(temp.path()));
    let captured = fs::metadata(temp.path().join("capture.pcapng")).unwrap().len();
    assert!(captured > 4 * 60, "four frames: {captured}");
    let lines = |name: &str| fs::read_to_string(temp.path().join(name)).unwrap().lines().count();
    assert_eq!(["flows.csv", "pauses.csv", "queues.csv"].map(lines), [31, 5, 13]);
}

#[test]
fn a_trace_is_cut_at_its_bound_and_the_summary_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let options = ResultsOptions {
        tables: all_tables(),
        flow_trace_rows: Some(1),
        ..ResultsOptions::default()
    };
    let folder = ResultsFolder::create(temp.path(), &options).unwrap();
    let row = |time| FlowTraceRow {
        time: Nanos(time),
        flow: 4,
        rate: BitsPerSecond(100),
        window: Some(Bytes(7)),
        round_trip: None,
        congestion_millionths: Some(1),
        outstanding: Bytes(2),
    };
    let record = Record::new(Some(folder), RecordOptions::default());
    let report = finished(record, |record| {
        for time in [3, 5] {
            record.flow_trace(&row(time)).unwrap();
        }
    });
    let text = fs::read_to_string(temp.path().join("flow_trace.csv")).unwrap();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["3,4,100,7,,1,2"]);
    assert!(report.summary.truncated[0].starts_with("flow_trace.csv ends with its 1 row;"));
    assert_eq!(report.summary.truncated.len(), 1);
    let report = finished(Record::new(None, RecordOptions::default()), |record| {
        record.flow_trace(&row(3)).unwrap();
    });
    assert!(report.summary.truncated.is_empty(), "no file, nothing cut");
}

/// Only a run with a watchdog reports storms.
#[test]
fn storms_are_summed_up_where_there_is_a_watchdog() {
    let finish = |watchdog: bool, storms: u32| {
        let options = RecordOptions { watchdog, ..RecordOptions::default() };
        let mut record = Record::new(None, options);
        for _ in 0..storms {
            record.storm(&crate::watchdog::tests::row(), Nanos(1500)).unwrap();
        }
        let mut counted = Summary::default();
        counted.drops.add(DropReason::WatchdogEgress, 2);
        let description = RunDescription {
            scenario_toml: "",
            manifest: &Manifest::default(),
            fabric: "star of 4 hosts".into(),
            lossless: vec![4],
        };
        record.finish(Picos(1_500_000), description, counted).unwrap()
    };
    let report = finish(true, 2);
    assert!(report.summary.is_sound() && !report.summary.lossless);
    let totals = report.summary.watchdog.expect("there is a watchdog");
    assert_eq!((totals.storms, totals.restored, totals.storm_ns), (2, 0, 2000));
    let text = report.render(Style::plain());
    for line in [
        "2 storms detected, 0 over before the end, 2 us in sum",
        "dropped, for stormed ports: 4 packets (4 kB)",
        "dropped, from stormed ports: 6 packets (6 kB)",
        "sent in spite of pauses: 8 packets (8 kB)",
        "2 frames lost: 2 by watchdogs",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(finish(true, 0).render(Style::plain()).contains("no watchdog detected one"));
    let without = finish(false, 0);
    assert_eq!(without.summary.watchdog, None);
    assert!(!without.render(Style::plain()).contains("storm"));
}
