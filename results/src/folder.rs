//! The folder that a run leaves behind.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use units::Nanos;

use super::capture::{CAPTURE_FILE, Capture, CaptureWire};
use super::error::ResultsError;
use super::flow_trace::TraceLimit;
use super::hpcc::{HpccFiles, HpccOptions};
use super::manifest::Manifest;
use super::row::Row;
use super::staged_file::StagedFile;
use super::staging::{self, Staging};
use super::summary::Summary;
use super::table_file::{TableFile, TableFormat};
use super::tables::{FlowTraceRow, PauseRow, TABLES, Table};
use super::wire_log::{WIRE_LOG_FILE, WireLog, WireLogRecord};

/// The resolved scenario's name in the results folder.
pub const SCENARIO_FILE: &str = "scenario.resolved.toml";

/// Every file of a results folder with tables in these formats, in the order of appearance.
fn files(formats: &[TableFormat]) -> Vec<String> {
    let table = |table: &Table| formats.iter().map(|format| format.file(table.file));
    let tables = TABLES.iter().flat_map(table);
    let before = [SCENARIO_FILE.to_owned()];
    let after = [CAPTURE_FILE, WIRE_LOG_FILE, Summary::FILE, Manifest::FILE];
    let after = HpccFiles::FILES.into_iter().chain(after).map(str::to_owned);
    before.into_iter().chain(tables).chain(after).collect()
}

/// Files of a results folder, and their settings.
#[derive(Clone, Debug, Default)]
pub struct ResultsOptions {
    /// Names of the tables to write.
    pub tables: BTreeSet<&'static str>,
    /// The format of all tables.
    pub format: TableFormat,
    /// True to write the column of states in `pauses.csv`.
    pub port_states: bool,
    /// Max rows of `flow_trace.csv`. `None`: any number.
    pub flow_trace_rows: Option<u64>,
    /// Wires to capture, one interface each. Empty: no capture.
    pub wires: Vec<CaptureWire>,
    /// Max bytes kept of each captured frame; 0 keeps all.
    pub snap_bytes: u32,
    /// Options for HPCC-format files. `None`: no such files.
    pub hpcc: Option<HpccOptions>,
    /// True to write `wire_log.bin`.
    pub wire_log: bool,
}

/// A results folder being written. Rows and frames stream to disk under temporary names. All files appear at the end;
/// if this is dropped before, no file appears.
pub struct ResultsFolder {
    /// The tables that are written, by their places in [`TABLES`].
    tables: [Option<TableFile<'static, StagedFile>>; TABLES.len()],
    flow_trace: TraceLimit,
    hpcc: Option<HpccFiles>,
    capture: Option<Capture<StagedFile>>,
    wire_log: Option<WireLog>,
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
        let staging = Staging::claim(folder, files(&TableFormat::ALL))?;
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
        let mut tables = [const { None }; TABLES.len()];
        for (file, table) in tables.iter_mut().zip(TABLES) {
            if options.tables.contains(table.name) {
                *file = Some(open(&staging, table, options)?);
            }
        }
        // A disk without any room is found before the run.
        tables.iter_mut().flatten().next().map_or(Ok(()), TableFile::flush)?;
        let hpcc = options.hpcc.clone();
        let is_traced = tables[const { Table::index::<FlowTraceRow>() }].is_some();
        Ok(Self {
            tables,
            flow_trace: TraceLimit::new(options.flow_trace_rows.filter(|_| is_traced)),
            hpcc: hpcc.map(|options| HpccFiles::create(&staging, options)).transpose()?,
            capture,
            wire_log,
            format: options.format,
            folder: folder.to_owned(),
            staging,
        })
    }

    /// Removes the remains of a run that died from `folder`, and the innermost `made` folders of this path if they are
    /// empty. An earlier run's results stay. Waits up to a second for a run that is writing to the folder, and then fails.
    pub fn clear_abandoned(folder: &Path, made: usize) -> Result<(), ResultsError> {
        staging::clear_abandoned(folder, made, &files(&TableFormat::ALL))
    }

    /// Adds a row to its table, if that is written.
    #[inline]
    pub fn write<R: Row>(&mut self, row: &R) -> Result<(), ResultsError> {
        let table = &mut self.tables[const { Table::index::<R>() }];
        table.as_mut().map_or(Ok(()), |table| table.row(row))
    }

    /// Adds a change of a flow's sender, if there is room for it.
    pub fn flow_trace(&mut self, row: &FlowTraceRow) -> Result<(), ResultsError> {
        if self.flow_trace.admit(row) { self.write(row) } else { Ok(()) }
    }

    /// Messages about files that end before the run does, with the remedy.
    pub fn truncated(&self) -> Vec<String> {
        self.flow_trace.truncated(self.format).into_iter().collect()
    }

    /// The HPCC simulator's files, until [`Self::close_hpcc`].
    pub(super) const fn hpcc(&mut self) -> Option<&mut HpccFiles> {
        self.hpcc.as_mut()
    }

    /// Ends these files with the run.
    pub(super) fn close_hpcc(&mut self) -> Result<(), ResultsError> {
        self.hpcc.take().map_or(Ok(()), HpccFiles::finish)
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
        self.tables.into_iter().flatten().try_for_each(TableFile::finish)?;
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

fn open(
    staging: &Staging,
    table: &Table,
    options: &ResultsOptions,
) -> Result<TableFile<'static, StagedFile>, ResultsError> {
    let columns = match table.file {
        PauseRow::FILE => PauseRow::columns(options.port_states),
        _ => table.columns,
    };
    let name = options.format.file(table.file);
    let (file, path) = (staging.create(&name)?, staging.path(&name));
    TableFile::new(options.format, file, &path, table.about, columns)
}

fn write(staging: &Staging, name: &str, text: &str) -> Result<(), ResultsError> {
    let written = staging.create(name)?.write_all(text.as_bytes());
    written.map_err(|source| ResultsError::Write { path: staging.path(name), source })
}

#[cfg(test)]
mod tests;
