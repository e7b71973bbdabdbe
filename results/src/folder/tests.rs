use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{PauseEvent, PauseLevel};
use fabric_core::port_state::{PortState, StateCause};
use units::{BitsPerSecond, Bytes, Picos};

use super::*;
use crate::hpcc::{HpccNode, QueueSampling};
use crate::occupancy::Occupancy;
use crate::table_reader::TableReader;
use crate::tables::{
    DeadlockRow, DropRow, EgressQueueRow, FaultRow, FlowQueuesRow, FlowRow, FlowTraceRow,
    HeldFlowRow, LinkDelayRow, LinkRow, LossyQueueRow, OccupancyRow, PauseRow, PortStateRow,
    QueueRow, ThroughputRow, WatchdogRow,
};
use std::fs;
use std::thread;
use std::time::Duration;

fn options() -> ResultsOptions {
    let rate = BitsPerSecond(100_000_000_000);
    let wires = vec![CaptureWire { name: "s0->h0".into(), rate }];
    ResultsOptions {
        wires,
        snap_bytes: 0,
        tables: TABLES.iter().map(|table| table.name).collect(),
        format: TableFormat::Csv,
        port_states: true,
        flow_trace_rows: Some(1),
        wire_log: true,
        hpcc: Some(hpcc()),
    }
}

fn hpcc() -> HpccOptions {
    let host = |id| HpccNode { id, is_switch: false, interfaces: vec![1] };
    let nodes = [("h0", host(0)), ("h1", host(1))];
    HpccOptions {
        nodes: nodes.map(|(name, node)| (name.to_owned(), node)).into(),
        switches: Vec::new(),
        destination_ports: std::collections::BTreeMap::new(),
        time_offset: Nanos(0),
        sampling: QueueSampling {
            start: Nanos(0),
            stop: None,
            interval: Nanos(100),
            dump_interval: Nanos(100),
            before: Nanos(1000),
        },
        hosts_by_id: false,
        every_pause: false,
    }
}

fn flow(number: u32) -> FlowRow<'static> {
    FlowRow {
        flow: number,
        label: "incast",
        src: "h1",
        dst: "h0",
        priority: 3,
        transport: "roce-rc",
        congestion_control: "none",
        bytes: Bytes(1_000_000),
        start: Nanos(0),
        fct: Some(Nanos(120_000 + u64::from(number))),
        ideal: Nanos(90_000),
        retransmitted_packets: 0,
        cnps: 0,
        long_lived: false,
        path: String::new(),
        congested: None,
    }
}

fn pause(time: Nanos, event: PauseEvent) -> PauseRow<'static> {
    PauseRow {
        time,
        node: "s0",
        port: 1,
        peer: "h1",
        peer_port: 0,
        priority: 3,
        event,
        level: PauseLevel::Queue,
        occupancy: Bytes(9),
        threshold: Bytes(8),
        shared_free: Bytes(7),
        state: Some(PortState::Normal),
    }
}

fn run(folder: &Path) -> ResultFiles {
    run_with(folder, &options())
}

fn run_with(folder: &Path, options: &ResultsOptions) -> ResultFiles {
    let mut results = ResultsFolder::create(folder, options).unwrap();
    for step in 0u32..1000 {
        let time = Nanos(u64::from(step) * 100);
        let kind = crate::QueueKind::Egress;
        let bytes = Bytes(u64::from(step / 10));
        let (port, priority) = (Some(0), Some(3));
        results.write(&QueueRow { time, node: "s0", kind, port, priority, bytes }).unwrap();
        let event = if step % 2 == 0 { PauseEvent::Pause } else { PauseEvent::Resume };
        results.write(&pause(time, event)).unwrap();
        results.capture(0, time, &[step.to_le_bytes()[0]; 64], None).unwrap();
        results.write(&flow(step)).unwrap();
        let (start, bytes, rate) = (time, u64::from(step), BitsPerSecond(1));
        results.write(&ThroughputRow { start, flow: step, bytes, rate }).unwrap();
    }
    results.write(&crate::watchdog::tests::row()).unwrap();
    for row in Occupancy::new(Bytes(1), None).finish("s0", Picos::ZERO) {
        results.write(&row).unwrap();
    }
    results.close_hpcc().unwrap();
    let manifest = Manifest { seed: 1, ..Manifest::for_this_process() };
    results.finish("name = \"incast\"\n", &manifest, &Summary::default()).unwrap()
}

#[test]
fn two_runs_leave_the_same_bytes() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = run(first.path());
    assert_eq!(files.files, run(second.path()).files);
    let names = super::files(&[TableFormat::Csv]);
    assert!(files.files.iter().map(|(name, _)| name).eq(&names));
    for name in names {
        let read = |folder: &tempfile::TempDir| fs::read(folder.path().join(&name)).unwrap();
        assert!(read(&first) == read(&second), "{name} differs");
    }
    assert_eq!(files.capture(), Some(first.path().join(CAPTURE_FILE)));
}

#[test]
fn what_is_not_asked_for_is_not_there_and_an_earlier_one_goes() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path());
    let results = ResultsFolder::create(temp.path(), &ResultsOptions::default()).unwrap();
    let files = results.finish("", &Manifest::default(), &Summary::default()).unwrap();
    assert_eq!(files.capture(), None);
    assert!(!temp.path().join(CAPTURE_FILE).exists());
    assert!(!temp.path().join(ThroughputRow::FILE).exists());
    ResultsFolder::create(temp.path(), &ResultsOptions::default()).unwrap();
}

#[test]
fn an_aborted_run_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("out");
    let mut results = ResultsFolder::create(&folder, &options()).unwrap();
    results.write(&flow(0)).unwrap();
    drop(results);
    assert!(!folder.exists());
}

/// Each of these rows differs from the others of its table.
#[test]
fn a_row_of_each_kind_is_in_its_file() {
    let temp = tempfile::tempdir().unwrap();
    let mut results = ResultsFolder::create(temp.path(), &options()).unwrap();
    results.write(&flow(41)).unwrap();
    results.hpcc().unwrap().flow(&flow(41)).unwrap();
    results.write(&pause(Nanos(42), PauseEvent::Pause)).unwrap();
    let (time, node, bytes) = (Nanos(43), "s0", Bytes(9));
    let kind = crate::QueueKind::Buffer;
    let (port, priority) = (None, None);
    results.write(&QueueRow { time, node, kind, port, priority, bytes }).unwrap();
    let (time, reason) = (Nanos(44), DropReason::HeadroomExhausted);
    results.write(&DropRow { time, node, port, priority, bytes, reason }).unwrap();
    let (confirmed, end, members) = (None, Some(Nanos(47)), &[]);
    let cycle = DeadlockRow {
        cycle: 45,
        onset: Nanos(46),
        confirmed,
        survives_refresh: true,
        end,
        members,
    };
    results.write(&cycle).unwrap();
    let (start, rate) = (Nanos(48), BitsPerSecond(49));
    results.write(&ThroughputRow { start, flow: 50, bytes: 51, rate }).unwrap();
    let (time, peer, headroom) = (Nanos(52), "h0", Bytes(53));
    let (port, link_delay, response) = (2, Some(Nanos(54)), Some(Nanos(55)));
    let link = LinkDelayRow { time, node, port, peer, link_delay, response, headroom };
    results.write(&link).unwrap();
    let (time, priority, queue) = (Nanos(57), 3, 58);
    let queue = EgressQueueRow { time, node, port, priority, queue, bytes };
    results.write(&queue).unwrap();
    let [flows, queues, paused, pausing, activations, collisions] = [61, 62, 63, 64, 65, 66];
    let row =
        FlowQueuesRow { time, node, port, flows, queues, paused, pausing, activations, collisions };
    results.write(&row).unwrap();
    let row = LossyQueueRow {
        time: Nanos(71),
        node,
        port,
        priority: 3,
        queue: 72,
        bytes,
        threshold: Some(Bytes(73)),
        longest_wait: Some(Nanos(74)),
        congested_thousandths: 75,
    };
    results.write(&row).unwrap();
    let held = HeldFlowRow { time: Nanos(67), node, port, by: "s2", queue: 68, flow: 69 };
    results.write(&held).unwrap();
    let (time, priority, cause) = (Nanos(70), Some(3), StateCause::Pause);
    results.write(&PortStateRow { time, node, port, priority, cause }).unwrap();
    results.write(&crate::watchdog::tests::row()).unwrap();
    for row in Occupancy::new(Bytes(1), None).finish("s1", Picos::ZERO) {
        results.write(&row).unwrap();
    }
    results.capture(0, Nanos(56), &[0x5a; 60], None).unwrap();
    results.close_hpcc().unwrap();
    let files = results.finish("name = \"x\"\n", &Manifest::default(), &Summary::default());
    assert_eq!(files.unwrap().folder, temp.path());
    let read = |name: &str| fs::read(temp.path().join(name)).unwrap();
    let text = |name: &str| String::from_utf8(read(name)).unwrap();
    for (name, start) in [
        (FlowRow::FILE, "41,incast,h1,h0,3,"),
        (PauseRow::FILE, "42,s0,1,h1,3,xoff,"),
        (QueueRow::FILE, "43,s0,buffer,,,9"),
        (HeldFlowRow::FILE, "67,s0,2,s2,68,69"),
        (PortStateRow::FILE, "70,s0,2,3,normal,pause"),
        (DropRow::FILE, "44,s0,,,headroom-exhausted,policy,9"),
        (WatchdogRow::FILE, "500,,leaf0,3,h3,4,drop,1,1000,"),
        (DeadlockRow::FILE, "45,46,,47,"),
        (ThroughputRow::FILE, "48,50,51,49"),
        (LinkDelayRow::FILE, "52,s0,2,h0,54,55,53"),
        (EgressQueueRow::FILE, "57,s0,2,3,58,9"),
        (FlowQueuesRow::FILE, "57,s0,2,61,62,63,64,65,66"),
        (LossyQueueRow::FILE, "71,s0,2,3,72,9,73,74,0.075"),
        (OccupancyRow::FILE, "s1,buffer,0,"),
        (SCENARIO_FILE, "name = \"x\""),
    ] {
        assert!(text(name).lines().any(|line| line.starts_with(start)), "{name}: {}", text(name));
    }
    assert!(read(CAPTURE_FILE).windows(60).any(|bytes| bytes == [0x5a; 60]));
    assert_eq!(text(Summary::FILE), Summary::default().to_json());
    assert!(text(HpccFiles::FILES[0]).contains(" 1000000 0 120041 90000\n"));
}

#[test]
fn what_a_dead_run_left_can_be_cleared() {
    let temp = tempfile::tempdir().unwrap();
    let results = ResultsFolder::create(temp.path(), &options()).unwrap();
    let busy = ResultsFolder::clear_abandoned(temp.path(), 0);
    assert!(matches!(busy, Err(ResultsError::Busy(_))));
    drop(results);
    // What was appearing when it died.
    fs::create_dir(temp.path().join(".xoff-partial")).unwrap();
    fs::write(temp.path().join(FlowRow::FILE), "").unwrap();
    let lock = fs::File::open(temp.path()).unwrap();
    lock.lock().unwrap();
    let dying = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        drop(lock);
    });
    ResultsFolder::clear_abandoned(temp.path(), 0).unwrap();
    dying.join().unwrap();
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}

/// Rows of a table that is left out go nowhere.
#[test]
fn what_is_left_out_is_not_there() {
    let temp = tempfile::tempdir().unwrap();
    let mut options = options();
    options
        .tables
        .retain(|table| !["flows", "queues", "flow_trace", "links", "faults"].contains(table));
    let mut results = ResultsFolder::create(temp.path(), &options).unwrap();
    results.write(&flow(41)).unwrap();
    results.write(&pause(Nanos(42), PauseEvent::Pause)).unwrap();
    results.close_hpcc().unwrap();
    let files = results.finish("", &Manifest::default(), &Summary::default()).unwrap().files;
    let has = |name: &str| files.iter().any(|(file, _)| *file == name);
    let gone = [FlowRow::FILE, QueueRow::FILE, FlowTraceRow::FILE, LinkRow::FILE, FaultRow::FILE];
    assert!(gone.into_iter().all(|name| !has(name)), "{files:?}");
    assert!(has(PauseRow::FILE) && has(DropRow::FILE) && has(Summary::FILE), "{files:?}");
}

/// Columns and rows, numbers with decimal places as the nearest float.
fn read(folder: &Path, file: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut table = TableReader::open(folder, file).unwrap();
    let columns: Vec<String> = table.columns().iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    while table.advance().unwrap() {
        let same = |field: &str| match field.parse::<f64>() {
            Ok(number) if field.contains('.') => number.to_string(),
            _ => field.to_owned(),
        };
        rows.push(table.row().iter().map(same).collect());
    }
    (columns, rows)
}

#[test]
fn tables_have_the_same_rows_in_every_format() {
    let [csv, parquet] = TableFormat::ALL.map(|format| {
        let temp = tempfile::tempdir().unwrap();
        run_with(temp.path(), &ResultsOptions { format, ..options() });
        temp
    });
    let mut rows = 0;
    for table in TABLES {
        let name = TableFormat::Parquet.file(table.file);
        assert!(parquet.path().join(&name).exists() && !csv.path().join(&name).exists(), "{name}");
        assert!(!parquet.path().join(table.file).exists(), "{name}");
        let here = read(parquet.path(), table.file);
        assert_eq!(here, read(csv.path(), table.file), "{name}");
        rows += here.1.len();
    }
    assert!(rows > 4000, "{rows}");
    for (folder, format) in [(&csv, TableFormat::Csv), (&parquet, TableFormat::Parquet)] {
        assert_eq!(Manifest::from_run(folder.path()).unwrap().tables, format);
    }
}

#[test]
fn a_run_in_another_format_replaces_all_of_an_earlier_one() {
    let temp = tempfile::tempdir().unwrap();
    for format in [TableFormat::Parquet, TableFormat::Csv, TableFormat::Parquet] {
        run_with(temp.path(), &ResultsOptions { format, ..options() });
        let names = fs::read_dir(temp.path()).unwrap();
        let endings = names.map(|entry| entry.unwrap().path().extension().unwrap().to_owned());
        let tables = endings.filter(|it| TableFormat::ALL.iter().any(|format| it == format.name()));
        assert!(tables.collect::<BTreeSet<_>>().iter().eq([format.name()]), "{format}");
    }
}
