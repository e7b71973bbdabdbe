//! What a run leaves behind and what it shows a person.
//!
//! The engine feeds one [`Record`] with plain rows: flows, pauses, samples, drops, frames. The
//! record streams them into a [`ResultsFolder`] (if the user named one), keeps what the [`Summary`]
//! and the [`RunReport`] need, and at the end hands out both. Nothing here knows the scenario, the
//! topology or the engine; nothing here reads a clock.

mod buffer_series;
mod capture;
mod column;
mod csv;
mod drop;
mod error;
mod flow;
mod flow_statistics;
mod folder;
mod manifest;
mod pause;
mod pause_intervals;
mod queue;
mod record;
mod report;
mod slowdown;
mod staging;
mod summary;

pub use buffer_series::{BufferChart, BufferLevel, BufferSeries};
pub use capture::{CAPTURE_FILE, CaptureWire};
pub(crate) use column::section;
pub use column::{Column, columns_markdown};
pub(crate) use csv::Text as CsvText;
pub use drop::{DropRow, class_name};
pub use error::ResultsError;
pub use flow::FlowRow;
pub use flow_statistics::{FctSummary, FlowStatistics, SlowdownSummary};
pub use folder::{ResultFiles, ResultsFolder, ResultsOptions, SCENARIO_FILE};
pub use manifest::Manifest;
pub use pause::{PauseEvent, PauseRow};
pub use pause_intervals::{PauseIntervals, PauseTotal, PausedPeer};
pub use queue::{QueueKind, QueueRow};
pub use record::{Record, RunDescription};
pub use report::{CHART_COLUMNS, ReportedBuffer, ReportedFlow, RunReport, Style, TABLE_ROWS};
pub use slowdown::Slowdown;
pub use summary::{DropTotals, Summary};
