//! The folder that a run leaves behind.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use units::{Nanos, Picos};

use super::capture::{CAPTURE_FILE, Capture, CaptureWire};
use super::csv::{CsvTable, Row};
use super::deadlock::DeadlockRow;
use super::drop::DropRow;
use super::egress_queue::EgressQueueRow;
use super::error::ResultsError;
use super::fct_by_size::FctBySizeRow;
use super::flow::FlowRow;
use super::flow_trace::{FlowTrace, FlowTraceRow};
use super::hpcc::{HpccFiles, HpccOptions};
use super::link_delay::LinkDelayRow;
use super::manifest::Manifest;
use super::measurements::DistributionRow;
use super::occupancy::OccupancyRow;
use super::pause::PauseRow;
use super::pause_time::PauseTimeRow;
use super::queue::QueueRow;
use super::queue_pause::QueuePauseRow;
use super::staging::{self, Staging};
use super::summary::Summary;
use super::throughput::ThroughputRow;

/// The resolved scenario's name in the results folder.
pub const SCENARIO_FILE: &str = "scenario.resolved.toml";

/// Every file of a results folder, in the order of appearance.
const FILES: &[&str] = &[
    SCENARIO_FILE,
    FlowRow::FILE,
    FctBySizeRow::FILE,
    ThroughputRow::FILE,
    FlowTraceRow::FILE,
    PauseRow::FILE,
    PauseTimeRow::FILE,
    QueueRow::FILE,
    EgressQueueRow::FILE,
    QueuePauseRow::FILE,
    OccupancyRow::FILE,
    LinkDelayRow::FILE,
    DropRow::FILE,
    DeadlockRow::FILE,
    DistributionRow::FILE,
    HpccFiles::FILES[0],
    HpccFiles::FILES[1],
    HpccFiles::FILES[2],
    CAPTURE_FILE,
    Summary::FILE,
    Manifest::FILE,
];

/// What the folder holds that not every folder has.
#[derive(Clone, Debug, Default)]
pub struct ResultsOptions {
    /// The wires with an interface in the capture; none makes no capture.
    pub wires: Vec<CaptureWire>,
    /// How much of each captured frame to keep, in bytes; 0 keeps all.
    pub snap_bytes: u32,
    /// Whether there is a `throughput.csv`.
    pub throughput: bool,
    /// Most rows of `flow_trace.csv`, if there is one.
    pub flow_trace_rows: Option<u64>,
    /// What the HPCC simulator's files are written with; none makes none.
    pub hpcc: Option<HpccOptions>,
    /// Whether there is a `link_delay.csv`.
    pub link_delay: bool,
    /// Whether there is an `egress_queues.csv`.
    pub egress_queues: bool,
    /// Whether there is a `queue_pauses.csv`.
    pub queue_pauses: bool,
}

/// A results folder being written. Rows and frames stream to disk under temporary names; all files
/// appear at the end, and none of them if this is dropped before.
pub struct ResultsFolder {
    flows: CsvTable<File>,
    pauses: CsvTable<File>,
    queues: CsvTable<File>,
    egress_queues: Option<CsvTable<File>>,
    queue_pauses: Option<CsvTable<File>>,
    drops: CsvTable<File>,
    deadlocks: CsvTable<File>,
    throughput: Option<CsvTable<File>>,
    flow_trace: Option<FlowTrace<File>>,
    hpcc: Option<HpccFiles>,
    link_delay: Option<CsvTable<File>>,
    capture: Option<Capture<File>>,
    folder: PathBuf,
    staging: Staging,
}

/// The files of a finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFiles {
    /// The results folder.
    pub folder: PathBuf,
    /// Names of the files in it and their lengths in bytes.
    pub files: Vec<(&'static str, u64)>,
}

impl ResultsFolder {
    /// Makes the folder, which may not yet exist, be empty or hold an earlier run of xoff.
    pub fn create(folder: &Path, options: &ResultsOptions) -> Result<Self, ResultsError> {
        let staging = Staging::claim(folder, FILES)?;
        let capture = if options.wires.is_empty() {
            None
        } else {
            let application = concat!("xoff ", env!("CARGO_PKG_VERSION"));
            let (file, path) = (staging.create(CAPTURE_FILE)?, staging.path(CAPTURE_FILE));
            Some(Capture::new(file, &path, application, &options.wires, options.snap_bytes)?)
        };
        let hpcc = options.hpcc.clone();
        let hpcc = hpcc.map(|options| HpccFiles::create(&staging, options)).transpose()?;
        Ok(Self {
            flows: table::<FlowRow>(&staging)?,
            pauses: table::<PauseRow>(&staging)?,
            queues: table::<QueueRow>(&staging)?,
            egress_queues: optional_table::<EgressQueueRow>(&staging, options.egress_queues)?,
            queue_pauses: optional_table::<QueuePauseRow>(&staging, options.queue_pauses)?,
            drops: table::<DropRow>(&staging)?,
            deadlocks: table::<DeadlockRow>(&staging)?,
            throughput: optional_table::<ThroughputRow>(&staging, options.throughput)?,
            flow_trace: options
                .flow_trace_rows
                .map(|most| Ok(FlowTrace::new(table::<FlowTraceRow>(&staging)?, most)))
                .transpose()?,
            hpcc,
            link_delay: optional_table::<LinkDelayRow>(&staging, options.link_delay)?,
            capture,
            folder: folder.to_owned(),
            staging,
        })
    }

    /// Removes what a run that died left of itself in `folder`, and the innermost `made` folders of this
    /// path if they are empty. An earlier run's results stay, and a folder that a run writes to now.
    pub fn clear_abandoned(folder: &Path, made: usize) -> Result<(), ResultsError> {
        staging::clear_abandoned(folder, made, FILES)
    }

    /// Adds a flow, once it is known whether it completed.
    pub fn flow(&mut self, row: &FlowRow) -> Result<(), ResultsError> {
        if let Some(files) = &mut self.hpcc {
            files.flow(row)?;
        }
        self.flows.row(row)
    }

    /// The HPCC simulator's files, until [`Self::close_hpcc`].
    pub(super) const fn hpcc(&mut self) -> Option<&mut HpccFiles> {
        self.hpcc.as_mut()
    }

    /// Ends these files with the run.
    pub(super) fn close_hpcc(&mut self, now: Picos) -> Result<(), ResultsError> {
        self.hpcc.take().map_or(Ok(()), |files| files.finish(now))
    }

    /// Adds a decision to pause, refresh or resume.
    pub fn pause(&mut self, row: &PauseRow) -> Result<(), ResultsError> {
        self.pauses.row(row)
    }

    /// Adds a sample of a counter that differs from the counter's last one (at first from 0).
    pub fn queue(&mut self, row: &QueueRow) -> Result<(), ResultsError> {
        self.queues.row(row)
    }

    /// Adds a sample of one queue of a priority that has several.
    ///
    /// # Panics
    /// Without [`ResultsOptions::egress_queues`].
    pub fn egress_queue(&mut self, row: &EgressQueueRow) -> Result<(), ResultsError> {
        let table = self.egress_queues.as_mut();
        table.expect("queues of a priority are sampled where it is asked for").row(row)
    }

    /// Adds a pause or resume of one queue.
    ///
    /// # Panics
    /// Without [`ResultsOptions::queue_pauses`].
    pub fn queue_pause(&mut self, row: &QueuePauseRow) -> Result<(), ResultsError> {
        self.queue_pauses.as_mut().expect("a scheme that pauses queues has the table").row(row)
    }

    /// Adds a frame that went no further.
    pub fn drop_event(&mut self, row: &DropRow) -> Result<(), ResultsError> {
        self.drops.row(row)
    }

    /// Adds a circle of waiting, once it has dissolved or the run has ended.
    pub fn deadlock(&mut self, row: &DeadlockRow) -> Result<(), ResultsError> {
        self.deadlocks.row(row)
    }

    /// Adds what a receiver got of a flow in an interval.
    ///
    /// # Panics
    /// Without [`ResultsOptions::throughput`].
    pub fn throughput(&mut self, row: &ThroughputRow) -> Result<(), ResultsError> {
        self.throughput.as_mut().expect("throughput is written where it is asked for").row(row)
    }

    /// Adds a change of what governs a flow's sender, if there is room for it.
    ///
    /// # Panics
    /// Without [`ResultsOptions::flow_trace_rows`].
    pub fn flow_trace(&mut self, row: &FlowTraceRow) -> Result<(), ResultsError> {
        self.flow_trace.as_mut().expect("flows are traced where it is asked for").row(row)
    }

    /// Files that end before the run does, and what to change.
    pub fn truncated(&self) -> Vec<String> {
        self.flow_trace.iter().filter_map(FlowTrace::truncated).collect()
    }

    /// Adds a measurement of a link.
    ///
    /// # Panics
    /// Without [`ResultsOptions::link_delay`].
    pub fn link_delay(&mut self, row: &LinkDelayRow) -> Result<(), ResultsError> {
        self.link_delay.as_mut().expect("links are measured where it is asked for").row(row)
    }

    /// Writes a table that is known as a whole only at the run's end.
    pub fn whole<R: Row>(&self, rows: &[R]) -> Result<(), ResultsError> {
        let mut table = table::<R>(&self.staging)?;
        rows.iter().try_for_each(|row| table.row(row))?;
        table.finish()
    }

    /// Adds a frame to the capture. `wire` counts in the order of [`ResultsOptions::wires`].
    ///
    /// # Panics
    /// If there is no such wire.
    pub fn capture(&mut self, wire: u32, time: Nanos, frame: &[u8]) -> Result<(), ResultsError> {
        let capture = self.capture.as_mut().expect("a frame is captured only from a chosen wire");
        capture.frame(wire, time, frame)
    }

    /// Lets all files appear. The manifest's `tool` is filled in here.
    pub fn finish(
        self,
        scenario_toml: &str,
        manifest: &Manifest,
        summary: &Summary,
    ) -> Result<ResultFiles, ResultsError> {
        let tables = [self.flows, self.pauses, self.queues, self.drops, self.deadlocks];
        let flow_trace = self.flow_trace.map(FlowTrace::into_table);
        let optional = self.throughput.into_iter().chain(flow_trace);
        let optional =
            optional.chain(self.link_delay).chain(self.egress_queues).chain(self.queue_pauses);
        tables.into_iter().chain(optional).try_for_each(CsvTable::finish)?;
        if let Some(capture) = self.capture {
            capture.finish()?;
        }
        let manifest = Manifest { tool: Manifest::TOOL.into(), ..manifest.clone() };
        let mut manifest =
            serde_json::to_string_pretty(&manifest).expect("a manifest has string keys only");
        manifest.push('\n');
        write(&self.staging, SCENARIO_FILE, scenario_toml)?;
        write(&self.staging, Summary::FILE, &summary.to_json())?;
        write(&self.staging, Manifest::FILE, &manifest)?;
        let files = self.staging.publish()?;
        Ok(ResultFiles { folder: self.folder, files })
    }
}

impl ResultFiles {
    /// The capture, if the run made one.
    pub fn capture(&self) -> Option<PathBuf> {
        let made = self.files.iter().any(|(name, _)| *name == CAPTURE_FILE);
        made.then(|| self.folder.join(CAPTURE_FILE))
    }
}

fn table<R: Row>(staging: &Staging) -> Result<CsvTable<File>, ResultsError> {
    CsvTable::new::<R>(staging.create(R::FILE)?, &staging.path(R::FILE))
}

fn optional_table<R: Row>(
    staging: &Staging,
    wanted: bool,
) -> Result<Option<CsvTable<File>>, ResultsError> {
    wanted.then(|| table::<R>(staging)).transpose()
}

fn write(staging: &Staging, name: &str, text: &str) -> Result<(), ResultsError> {
    let written = staging.create(name)?.write_all(text.as_bytes());
    written.map_err(|source| ResultsError::Write { path: staging.path(name), source })
}

#[cfg(test)]
mod tests {
    use units::{BitsPerSecond, Bytes, Picos};

    use super::*;
    use crate::hpcc::{HpccNode, QueueSampling};
    use crate::occupancy::Occupancy;
    use crate::pause::PauseEvent;
    use std::fs;

    fn options() -> ResultsOptions {
        let rate = BitsPerSecond(100_000_000_000);
        let wires = vec![CaptureWire { name: "s0->h0".into(), rate }];
        ResultsOptions {
            wires,
            snap_bytes: 0,
            throughput: true,
            flow_trace_rows: Some(1),
            link_delay: true,
            egress_queues: true,
            queue_pauses: true,
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
            level: crate::pause::PauseLevel::Queue,
            occupancy: Bytes(9),
            threshold: Bytes(8),
            shared_free: Bytes(7),
        }
    }

    fn run(folder: &Path) -> ResultFiles {
        let mut results = ResultsFolder::create(folder, &options()).unwrap();
        for step in 0u32..1000 {
            let time = Nanos(u64::from(step) * 100);
            let kind = crate::QueueKind::Egress;
            let bytes = Bytes(u64::from(step / 10));
            let (port, priority) = (Some(0), Some(3));
            results.queue(&QueueRow { time, node: "s0", kind, port, priority, bytes }).unwrap();
            let event = if step % 2 == 0 { PauseEvent::Xoff } else { PauseEvent::Xon };
            results.pause(&pause(time, event)).unwrap();
            results.capture(0, time, &[step.to_le_bytes()[0]; 64]).unwrap();
            results.flow(&flow(step)).unwrap();
            let (start, bytes, rate) = (time, u64::from(step), BitsPerSecond(1));
            results.throughput(&ThroughputRow { start, flow: step, bytes, rate }).unwrap();
        }
        results.whole::<FctBySizeRow>(&[]).unwrap();
        results.whole::<PauseTimeRow>(&[]).unwrap();
        results.whole(&Occupancy::new(Bytes(1)).finish("s0", Picos::ZERO)).unwrap();
        results.whole::<DistributionRow>(&[]).unwrap();
        results.close_hpcc(Picos::ZERO).unwrap();
        let manifest = Manifest { seed: 1, ..Manifest::of_this_process() };
        results.finish("name = \"incast\"\n", &manifest, &Summary::default()).unwrap()
    }

    #[test]
    fn two_runs_leave_the_same_bytes() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let files = run(first.path());
        assert_eq!(files.files, run(second.path()).files);
        assert_eq!(files.files.iter().map(|(name, _)| *name).collect::<Vec<_>>(), FILES);
        for name in FILES {
            let read = |folder: &tempfile::TempDir| fs::read(folder.path().join(name)).unwrap();
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
        results.flow(&flow(0)).unwrap();
        drop(results);
        assert!(!folder.exists());
    }

    /// Each of these rows differs from the others of its table.
    #[test]
    fn a_row_of_each_kind_is_in_its_file() {
        let temp = tempfile::tempdir().unwrap();
        let mut results = ResultsFolder::create(temp.path(), &options()).unwrap();
        results.flow(&flow(41)).unwrap();
        results.pause(&pause(Nanos(42), PauseEvent::Xoff)).unwrap();
        let (time, node, bytes) = (Nanos(43), "s0", Bytes(9));
        let kind = crate::QueueKind::Buffer;
        let (port, priority) = (None, None);
        results.queue(&QueueRow { time, node, kind, port, priority, bytes }).unwrap();
        let (time, reason) = (Nanos(44), "headroom-exhausted");
        let class = crate::drop::DropClass::Policy;
        results.drop_event(&DropRow { time, node, port, priority, reason, class, bytes }).unwrap();
        let (confirmed, end, members) = (None, Some(Nanos(47)), &[]);
        let circle = DeadlockRow {
            circle: 45,
            onset: Nanos(46),
            confirmed,
            survives_refresh: true,
            end,
            members,
        };
        results.deadlock(&circle).unwrap();
        let (start, rate) = (Nanos(48), BitsPerSecond(49));
        results.throughput(&ThroughputRow { start, flow: 50, bytes: 51, rate }).unwrap();
        let (time, peer, headroom) = (Nanos(52), "h0", Bytes(53));
        let (port, link_delay, response) = (2, Some(Nanos(54)), Some(Nanos(55)));
        let link = LinkDelayRow { time, node, port, peer, link_delay, response, headroom };
        results.link_delay(&link).unwrap();
        let (time, priority, queue) = (Nanos(57), 3, 58);
        let queue = EgressQueueRow { time, node, port, priority, queue, bytes };
        results.egress_queue(&queue).unwrap();
        results.whole(&Occupancy::new(Bytes(1)).finish("s1", Picos::ZERO)).unwrap();
        results.capture(0, Nanos(56), &[0x5a; 60]).unwrap();
        results.close_hpcc(Picos::ZERO).unwrap();
        let files = results.finish("name = \"x\"\n", &Manifest::default(), &Summary::default());
        assert_eq!(files.unwrap().folder, temp.path());
        let read = |name: &str| fs::read(temp.path().join(name)).unwrap();
        let text = |name: &str| String::from_utf8(read(name)).unwrap();
        for (name, start) in [
            (FlowRow::FILE, "41,incast,h1,h0,3,"),
            (PauseRow::FILE, "42,s0,1,h1,3,xoff,"),
            (QueueRow::FILE, "43,s0,buffer,,,9"),
            (DropRow::FILE, "44,s0,,,headroom-exhausted,policy,9"),
            (DeadlockRow::FILE, "45,46,,47,"),
            (ThroughputRow::FILE, "48,50,51,49"),
            (LinkDelayRow::FILE, "52,s0,2,h0,54,55,53"),
            (EgressQueueRow::FILE, "57,s0,2,3,58,9"),
            (OccupancyRow::FILE, "s1,buffer,0,"),
            (SCENARIO_FILE, "name = \"x\""),
        ] {
            assert!(
                text(name).lines().any(|line| line.starts_with(start)),
                "{name}: {}",
                text(name)
            );
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
        ResultsFolder::clear_abandoned(temp.path(), 0).unwrap();
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}
