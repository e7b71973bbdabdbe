use super::*;
use crate::results::folder::ResultsOptions;
use crate::results::summary::DropTotals;
use crate::results::{CaptureWire, Style};
use fabric_core::drop_reason::DropClass;
use fabric_core::flow_control::Level;
use fabric_core::units::BitsPerSecond;
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
        level: Level::Queue,
        occupancy: Bytes(2),
        threshold: Bytes(1),
        shared_free: Bytes(3),
    }
}

fn run(folder: Option<&Path>) -> RunReport {
    let rate = BitsPerSecond(100_000_000_000);
    let wires = vec![CaptureWire { name: "leaf0->h1".into(), rate }];
    let (throughput, link_delay) = (true, false);
    let options = ResultsOptions { wires, snap_bytes: 64, throughput, link_delay, hpcc: None };
    let folder = folder.map(|folder| ResultsFolder::create(folder, &options).unwrap());
    let switches = ["leaf0", "leaf1", "spine0"].map(str::to_owned);
    let options = RecordOptions {
        flow_size_bins: vec![Bytes(1_000)],
        followed_switches: switches.into(),
        buffer: Bytes(1_000),
        throughput: Some(ThroughputMeter::new(Picos(1_000_000), vec!["incast".into()])),
    };
    let mut record = Record::new(folder, options);
    for flow in 0..30 {
        record.flow_started(&FlowStart { flow, label: "incast", src: "h1", dst: "h0" });
        record.delivered(Picos(u64::from(flow) * 100_000), flow, 1_000).unwrap();
    }
    record.pools(1, Picos(500_000), PoolLevels { private: 1, shared: 2, headroom: 3 });
    for (time, until) in [(120, 5_000), (370, 370), (920, 5_000)] {
        let (time, binds, until) = (Nanos(time), Nanos(time), Nanos(until));
        let (node, by, port, priority) = ("h1", "leaf0", 0, 3);
        let received = PauseReceived { time, node, port, by, priority, binds, until };
        record.pause_received(&received).unwrap();
    }
    for flow in 0..30 {
        let fct = (flow != 17).then_some(Nanos(1_000 + u64::from(flow * 7 % 30) * 100));
        let (label, src, dst, priority) = ("incast", "h1", "h0", 3);
        let (bytes, start, ideal) = (Bytes(1_000), Nanos(0), Nanos(500));
        let (retransmitted_packets, cnps) = (0, 1);
        record
            .flow(&FlowRow {
                flow,
                label,
                src,
                dst,
                priority,
                bytes,
                start,
                fct,
                ideal,
                retransmitted_packets,
                cnps,
                long_lived: false,
            })
            .unwrap();
    }
    for row in [
        pause(100, PauseEvent::Xoff),
        pause(200, PauseEvent::XoffRefresh),
        pause(350, PauseEvent::Xon),
        pause(900, PauseEvent::Xoff),
    ] {
        record.pause_frame(row.event);
        record.pause(&row).unwrap();
        record.capture(0, row.time, &[0; 60]).unwrap();
    }
    for node in ["spine0", "leaf0", "leaf1"] {
        let most = if node == "spine0" { 500 } else { 900 };
        record.queue(&sample(100, node, QueueKind::Buffer, most)).unwrap();
        record.queue(&sample(100, node, QueueKind::Headroom, 100)).unwrap();
        record.queue(&sample(400, node, QueueKind::Buffer, 0)).unwrap();
        record.queue(&sample(400, node, QueueKind::Headroom, 0)).unwrap();
    }
    let manifest = Manifest::of_this_process();
    let description = RunDescription {
        scenario_toml: "name = \"incast\"\n",
        manifest: &manifest,
        fabric: "star of 2 hosts; memory datapath, virtual clock".into(),
        lossless: vec![3],
    };
    let mut drops = DropTotals::default();
    drops.add("global-pause", DropClass::Ignored, 1);
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
    assert!(worst_flows.is_sorted_by_key(rank));
    assert_eq!(fct_by_size.iter().map(|row| row.completed).collect::<Vec<_>>(), [29, 29]);
    let (leaf1, kind) = (&occupancy[3], QueueKind::Buffer);
    assert_eq!((leaf1.node.as_str(), leaf1.kind, leaf1.mean), ("leaf1", kind, Bytes(3)));
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
        assert_eq!(files.files.len(), 13);
        report.render(Style::plain())
    });
    assert_eq!(texts[0], texts[1]);
    for entry in fs::read_dir(first.path()).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |folder: &Path| fs::read(folder.join(&name)).unwrap();
        assert!(read(first.path()) == read(second.path()), "{name:?} differs");
    }
}
