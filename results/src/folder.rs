//! The folder that a run leaves behind.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use units::Nanos;

use super::capture::{CAPTURE_FILE, Capture, CaptureWire};
use super::column::Column;
use super::counter::CounterRow;
use super::deadlock::DeadlockRow;
use super::drop::DropRow;
use super::egress_queue::EgressQueueRow;
use super::error::ResultsError;
use super::fault::FaultRow;
use super::fct_by_size::FctBySizeRow;
use super::flow::FlowRow;
use super::flow_pause::FlowPauseRow;
use super::flow_queue::FlowQueuesRow;
use super::flow_trace::{FlowTrace, FlowTraceRow};
use super::held_flow::HeldFlowRow;
use super::hpcc::{HpccFiles, HpccOptions};
use super::link::LinkRow;
use super::link_delay::LinkDelayRow;
use super::link_priority::LinkPriorityRow;
use super::lossy_queue::LossyQueueRow;
use super::manifest::Manifest;
use super::measurements::DistributionRow;
use super::occupancy::OccupancyRow;
use super::pause::PauseRow;
use super::pause_time::PauseTimeRow;
use super::port_state::PortStateRow;
use super::queue::QueueRow;
use super::queue_pause::QueuePauseRow;
use super::rate::RateRow;
use super::row::Row;
use super::staged_file::StagedFile;
use super::staging::{self, Staging};
use super::summary::Summary;
use super::table::TABLES;
use super::table_file::{TableFile, TableFormat};
use super::throughput::ThroughputRow;
use super::watchdog::WatchdogRow;
use super::wire_log::{WIRE_LOG_FILE, WireLog, WireLogRecord};

/// The resolved scenario's name in the results folder.
pub const SCENARIO_FILE: &str = "scenario.resolved.toml";

/// Every file of a results folder with tables as CSV, in the order of appearance.
const FILES: &[&str] = &[
    SCENARIO_FILE,
    FlowRow::FILE,
    FctBySizeRow::FILE,
    ThroughputRow::FILE,
    FlowTraceRow::FILE,
    PauseRow::FILE,
    PauseTimeRow::FILE,
    PortStateRow::FILE,
    QueueRow::FILE,
    EgressQueueRow::FILE,
    FlowQueuesRow::FILE,
    LossyQueueRow::FILE,
    HeldFlowRow::FILE,
    QueuePauseRow::FILE,
    FlowPauseRow::FILE,
    RateRow::FILE,
    LinkRow::FILE,
    LinkPriorityRow::FILE,
    CounterRow::FILE,
    OccupancyRow::FILE,
    LinkDelayRow::FILE,
    DropRow::FILE,
    WatchdogRow::FILE,
    FaultRow::FILE,
    DeadlockRow::FILE,
    DistributionRow::FILE,
    HpccFiles::FILES[0],
    HpccFiles::FILES[1],
    HpccFiles::FILES[2],
    CAPTURE_FILE,
    WIRE_LOG_FILE,
    Summary::FILE,
    Manifest::FILE,
];

/// All files that may appear, with tables in every format.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    for file in FILES {
        if TABLES.iter().any(|table| table.file == *file) {
            files.extend(TableFormat::ALL.map(|format| format.file(file)));
        } else {
            files.push((*file).to_owned());
        }
    }
    files
}

/// Optional files of a results folder, and their settings.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a file")]
pub struct ResultsOptions {
    /// Wires to capture, one interface each. Empty: no capture.
    pub wires: Vec<CaptureWire>,
    /// Max bytes kept of each captured frame; 0 keeps all.
    pub snap_bytes: u32,
    /// True to write `throughput.csv`.
    pub throughput: bool,
    /// Max rows of `flow_trace.csv`. `None`: no such file.
    pub flow_trace_rows: Option<u64>,
    /// Options for HPCC-format files. `None`: no such files.
    pub hpcc: Option<HpccOptions>,
    /// True to write `link_delay.csv`.
    pub link_delay: bool,
    /// True to write `egress_queues.csv`.
    pub egress_queues: bool,
    /// True to write `queue_pauses.csv` and `flow_queues.csv`.
    pub queue_pauses: bool,
    /// Asks for a `flow_pauses.csv`.
    pub flow_pauses: bool,
    /// True to write `rates.csv`.
    pub rates: bool,
    /// True to write `lossy_queues.csv`.
    pub lossy_queues: bool,
    /// True to write `held_flows.csv`.
    pub held_flows: bool,
    /// True to write `port_states.csv`, and the column of states in `pauses.csv`.
    pub port_states: bool,
    /// True to write `watchdog.csv`.
    pub watchdog: bool,
    /// True to write `wire_log.bin`.
    pub wire_log: bool,
    /// Tables that are not written, whatever the other options, by their names without `.csv`.
    pub omitted: BTreeSet<&'static str>,
    /// The format of all tables.
    pub format: TableFormat,
}

/// A results folder being written. Rows and frames stream to disk under temporary names. All files appear at the end;
/// if this is dropped before, no file appears.
pub struct ResultsFolder {
    flows: Option<TableFile<'static, StagedFile>>,
    pauses: Option<TableFile<'static, StagedFile>>,
    queues: Option<TableFile<'static, StagedFile>>,
    egress_queues: Option<TableFile<'static, StagedFile>>,
    queue_pauses: Option<TableFile<'static, StagedFile>>,
    flow_queues: Option<TableFile<'static, StagedFile>>,
    flow_pauses: Option<TableFile<'static, StagedFile>>,
    rates: Option<TableFile<'static, StagedFile>>,
    lossy_queues: Option<TableFile<'static, StagedFile>>,
    held_flows: Option<TableFile<'static, StagedFile>>,
    port_states: Option<TableFile<'static, StagedFile>>,
    watchdog: Option<TableFile<'static, StagedFile>>,
    drops: Option<TableFile<'static, StagedFile>>,
    deadlocks: Option<TableFile<'static, StagedFile>>,
    throughput: Option<TableFile<'static, StagedFile>>,
    flow_trace: Option<FlowTrace<StagedFile>>,
    hpcc: Option<HpccFiles>,
    link_delay: Option<TableFile<'static, StagedFile>>,
    capture: Option<Capture<StagedFile>>,
    wire_log: Option<WireLog>,
    omitted: BTreeSet<&'static str>,
    format: TableFormat,
    folder: PathBuf,
    staging: Staging,
}

/// The files of a finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFiles {
    /// The results folder.
    pub folder: PathBuf,
    /// Names of the files in it and their lengths in bytes.
    pub files: Vec<(String, u64)>,
}

impl ResultsFolder {
    /// Makes the folder, which may not yet exist, be empty or hold an earlier run of xoff.
    pub fn create(folder: &Path, options: &ResultsOptions) -> Result<Self, ResultsError> {
        let staging = Staging::claim(folder, files())?;
        let capture = if options.wires.is_empty() {
            None
        } else {
            let application = concat!("xoff ", env!("CARGO_PKG_VERSION"));
            let (file, path) = (staging.create(CAPTURE_FILE)?, staging.path(CAPTURE_FILE));
            Some(Capture::new(file, &path, application, &options.wires, options.snap_bytes)?)
        };
        let wire_log = options
            .wire_log
            .then(|| WireLog::new(staging.create(WIRE_LOG_FILE)?, &staging.path(WIRE_LOG_FILE)));
        let wire_log = wire_log.transpose()?;
        let tables =
            Tables { staging: &staging, omitted: &options.omitted, format: options.format };
        let mut flows = tables.open::<FlowRow>(true)?;
        // A disk without any room is found before the run.
        flows.as_mut().map_or(Ok(()), TableFile::flush)?;
        let hpcc = options.hpcc.clone();
        let hpcc = hpcc.map(|options| HpccFiles::create(&staging, options)).transpose()?;
        let flow_trace = tables.open::<FlowTraceRow>(options.flow_trace_rows.is_some())?;
        Ok(Self {
            flows,
            pauses: tables.open_with::<PauseRow>(true, PauseRow::columns(options.port_states))?,
            queues: tables.open::<QueueRow>(true)?,
            egress_queues: tables.open::<EgressQueueRow>(options.egress_queues)?,
            queue_pauses: tables.open::<QueuePauseRow>(options.queue_pauses)?,
            flow_queues: tables.open::<FlowQueuesRow>(options.queue_pauses)?,
            flow_pauses: tables.open::<FlowPauseRow>(options.flow_pauses)?,
            rates: tables.open::<RateRow>(options.rates)?,
            lossy_queues: tables.open::<LossyQueueRow>(options.lossy_queues)?,
            held_flows: tables.open::<HeldFlowRow>(options.held_flows)?,
            port_states: tables.open::<PortStateRow>(options.port_states)?,
            watchdog: tables.open::<WatchdogRow>(options.watchdog)?,
            drops: tables.open::<DropRow>(true)?,
            deadlocks: tables.open::<DeadlockRow>(true)?,
            throughput: tables.open::<ThroughputRow>(options.throughput)?,
            flow_trace: flow_trace
                .zip(options.flow_trace_rows)
                .map(|(table, most)| FlowTrace::new(table, most)),
            hpcc,
            link_delay: tables.open::<LinkDelayRow>(options.link_delay)?,
            omitted: options.omitted.clone(),
            format: options.format,
            capture,
            wire_log,
            folder: folder.to_owned(),
            staging,
        })
    }

    /// Removes the remains of a run that died from `folder`, and the innermost `made` folders of this path if they are
    /// empty. An earlier run's results stay, and so does a folder that a run is writing to.
    pub fn clear_abandoned(folder: &Path, made: usize) -> Result<(), ResultsError> {
        staging::clear_abandoned(folder, made, &files())
    }

    /// Adds a flow, once its outcome is known.
    pub fn flow(&mut self, row: &FlowRow) -> Result<(), ResultsError> {
        if let Some(files) = &mut self.hpcc {
            files.flow(row)?;
        }
        add(&mut self.flows, row)
    }

    /// The HPCC simulator's files, until [`Self::close_hpcc`].
    pub(super) const fn hpcc(&mut self) -> Option<&mut HpccFiles> {
        self.hpcc.as_mut()
    }

    /// Ends these files with the run.
    pub(super) fn close_hpcc(&mut self) -> Result<(), ResultsError> {
        self.hpcc.take().map_or(Ok(()), HpccFiles::finish)
    }

    /// Adds a decision to pause, refresh or resume.
    pub fn pause(&mut self, row: &PauseRow) -> Result<(), ResultsError> {
        add(&mut self.pauses, row)
    }

    /// Adds a sample of a counter that differs from the counter's last one (at first from 0).
    pub fn queue(&mut self, row: &QueueRow) -> Result<(), ResultsError> {
        add(&mut self.queues, row)
    }

    /// Adds a sample of one queue of a priority that has several.
    pub fn egress_queue(&mut self, row: &EgressQueueRow) -> Result<(), ResultsError> {
        add(&mut self.egress_queues, row)
    }

    /// Adds a pause or resume of one queue.
    pub fn queue_pause(&mut self, row: &QueuePauseRow) -> Result<(), ResultsError> {
        add(&mut self.queue_pauses, row)
    }

    /// Adds a pause or resume of one flow.
    pub fn flow_pause(&mut self, row: &FlowPauseRow) -> Result<(), ResultsError> {
        add(&mut self.flow_pauses, row)
    }

    /// Adds a rate that a switch sends to a neighbour.
    pub fn rate(&mut self, row: &RateRow) -> Result<(), ResultsError> {
        add(&mut self.rates, row)
    }

    /// Adds a sample of the distribution of flows over a port's queues.
    pub fn flow_queues(&mut self, row: &FlowQueuesRow) -> Result<(), ResultsError> {
        add(&mut self.flow_queues, row)
    }

    /// Adds a sample of a lossy egress queue.
    pub fn lossy_queue(&mut self, row: &LossyQueueRow) -> Result<(), ResultsError> {
        add(&mut self.lossy_queues, row)
    }

    /// Adds a flow that a pause of one queue holds.
    pub fn held_flow(&mut self, row: &HeldFlowRow) -> Result<(), ResultsError> {
        add(&mut self.held_flows, row)
    }

    /// Adds a change of the state of a port.
    pub fn port_state(&mut self, row: &PortStateRow) -> Result<(), ResultsError> {
        add(&mut self.port_states, row)
    }

    /// Adds a PFC storm, once it is over or the run has ended.
    pub fn storm(&mut self, row: &WatchdogRow) -> Result<(), ResultsError> {
        add(&mut self.watchdog, row)
    }

    /// Adds a frame that went no further.
    pub fn drop_event(&mut self, row: &DropRow) -> Result<(), ResultsError> {
        add(&mut self.drops, row)
    }

    /// Adds a cycle of waiting queues, once it has dissolved or the run has ended.
    pub fn deadlock(&mut self, row: &DeadlockRow) -> Result<(), ResultsError> {
        add(&mut self.deadlocks, row)
    }

    /// Adds the payload that a receiver got of a flow in an interval.
    pub fn throughput(&mut self, row: &ThroughputRow) -> Result<(), ResultsError> {
        add(&mut self.throughput, row)
    }

    /// Adds a change of a flow's sender, if there is room for it.
    pub fn flow_trace(&mut self, row: &FlowTraceRow) -> Result<(), ResultsError> {
        self.flow_trace.as_mut().map_or(Ok(()), |trace| trace.row(row))
    }

    /// Messages about files that end before the run does, with the remedy.
    pub fn truncated(&self) -> Vec<String> {
        self.flow_trace.iter().filter_map(FlowTrace::truncated).collect()
    }

    /// Adds a measurement of a link.
    pub fn link_delay(&mut self, row: &LinkDelayRow) -> Result<(), ResultsError> {
        add(&mut self.link_delay, row)
    }

    /// Writes a table that is known as a whole only at the run's end.
    pub fn whole<R: Row>(&self, rows: &[R]) -> Result<(), ResultsError> {
        let tables = Tables { staging: &self.staging, omitted: &self.omitted, format: self.format };
        let Some(mut table) = tables.open::<R>(true)? else { return Ok(()) };
        rows.iter().try_for_each(|row| table.row(row))?;
        table.finish()
    }

    /// Adds a frame to the capture, with a comment if there is one. `wire` counts in the order of
    /// [`ResultsOptions::wires`].
    ///
    /// # Panics
    /// If `wire` is out of range.
    pub fn capture(
        &mut self,
        wire: u32,
        time: Nanos,
        frame: &[u8],
        comment: Option<&str>,
    ) -> Result<(), ResultsError> {
        let capture = self.capture.as_mut().expect("a frame is captured only from a chosen wire");
        capture.frame(wire, time, frame, comment)
    }

    /// Adds frames that were put on wires, or flows.
    ///
    /// # Panics
    /// Without [`ResultsOptions::wire_log`].
    pub fn wire_log<'a>(
        &mut self,
        records: impl Iterator<Item = &'a WireLogRecord>,
    ) -> Result<(), ResultsError> {
        self.wire_log.as_mut().expect("wires are logged where it is asked for").records(records)
    }

    /// Lets all files appear. The manifest's `tool` and `tables` are filled in here.
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
        let optional = optional
            .chain(self.flow_queues)
            .chain(self.flow_pauses)
            .chain(self.rates)
            .chain(self.lossy_queues)
            .chain(self.held_flows)
            .chain(self.port_states)
            .chain(self.watchdog);
        tables.into_iter().flatten().chain(optional).try_for_each(TableFile::finish)?;
        if let Some(capture) = self.capture {
            capture.finish()?;
        }
        if let Some(log) = self.wire_log {
            log.finish()?;
        }
        let (tool, tables) = (Manifest::TOOL.into(), self.format);
        let manifest = Manifest { tool, tables, ..manifest.clone() };
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
        let made = self.files.iter().any(|(name, _)| name == CAPTURE_FILE);
        made.then(|| self.folder.join(CAPTURE_FILE))
    }
}

/// Opens the tables of a folder that are not left out.
struct Tables<'a> {
    staging: &'a Staging,
    omitted: &'a BTreeSet<&'static str>,
    format: TableFormat,
}

impl Tables<'_> {
    /// A table that is `wanted` otherwise, if it is not left out.
    fn open<R: Row>(
        &self,
        wanted: bool,
    ) -> Result<Option<TableFile<'static, StagedFile>>, ResultsError> {
        self.open_with::<R>(wanted, R::COLUMNS)
    }

    /// Opens a table with these columns.
    fn open_with<R: Row>(
        &self,
        wanted: bool,
        columns: &'static [Column<'static>],
    ) -> Result<Option<TableFile<'static, StagedFile>>, ResultsError> {
        let name = R::FILE.strip_suffix(".csv").unwrap_or(R::FILE);
        if !wanted || self.omitted.contains(name) {
            return Ok(None);
        }
        let name = self.format.file(R::FILE);
        let (file, path) = (self.staging.create(&name)?, self.staging.path(&name));
        TableFile::new::<R>(self.format, file, &path, columns).map(Some)
    }
}

/// Adds a row, if the table is written.
fn add<R: Row>(
    table: &mut Option<TableFile<'static, StagedFile>>,
    row: &R,
) -> Result<(), ResultsError> {
    table.as_mut().map_or(Ok(()), |table| table.row(row))
}

fn write(staging: &Staging, name: &str, text: &str) -> Result<(), ResultsError> {
    let written = staging.create(name)?.write_all(text.as_bytes());
    written.map_err(|source| ResultsError::Write { path: staging.path(name), source })
}

#[cfg(test)]
mod tests;
