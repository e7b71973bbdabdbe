//! Results of a run: files for programs and a report for people.
//!
//! The engine feeds one [`Record`] with plain facts as they happen: flows, deliveries, pauses decided and received,
//! samples, pool levels, drops, frames. The record streams rows into a [`ResultsFolder`] (if the user named one). It
//! keeps the data for the [`Summary`], the tables of the whole run and the [`RunReport`] in memory that does not grow
//! with the facts, and returns all of them at the end. This crate does not know the scenario, the topology, the switch
//! or the engine; of this project's crates it uses units, and the enums of
//! fabric-core whose names are values of columns. It reads no clock.

#![forbid(unsafe_code)]

mod active_flows;
mod buffer_series;
pub mod build;
mod capture;
mod column;
mod counter;
mod csv;
mod deadlock;
mod distribution;
mod documentation;
mod drop;
mod error;
mod fault;
mod fct_by_size;
mod fidelity;
mod flow_pause;
mod flow_queue;
mod flow_statistics;
mod flow_table;
mod flow_trace;
mod folder;
pub mod folder_lock;
mod hpcc;
mod level;
mod link_bytes;
mod link_delay;
mod manifest;
mod measurements;
mod metrics;
mod number;
mod occupancy;
mod parquet;
mod pause_intervals;
mod pause_time;
mod paused_peer;
mod port_queues;
mod port_state;
pub mod query;
mod queue;
mod queue_pause;
mod record;
mod report;
mod row;
mod share;
mod size_class;
mod slowdown;
mod staged_file;
mod staging;
mod summary;
mod table_file;
mod table_reader;
mod tables;
mod text_file;
mod throughput;
mod unfinished;
mod watchdog;
mod window;
mod wire_log;

pub use active_flows::{ActiveFlows, ActiveFlowsSummary};
pub use buffer_series::{BufferChart, BufferLevel, BufferSeries};
pub use capture::{CAPTURE_FILE, Capture, CaptureWire};
pub use column::{Column, ColumnType};
pub use counter::{Counter, PortCounters, QueueCounters};
pub use csv::Text as CsvText;
pub use deadlock::{DeadlockMember, DeadlockTotals, WaitCause};
pub use distribution::Distribution;
pub use documentation::{columns_markdown, section};
pub use drop::DropTotals;
pub use error::ResultsError;
pub use fault::FaultTotals;
pub use fct_by_size::GroupTimes;
pub use fidelity::{DeadlineCount, FidelitySummary, GOOD_LATENESS, Lateness, MIN_SLEEPS, is_good};
pub use flow_pause::{FlowPart, FlowPauseTotals, UnresumedFlow};
pub use flow_queue::FlowQueueTotals;
pub use flow_statistics::{FctSummary, FlowStatistics, LabelSummary, SlowdownSummary};
pub use flow_table::{FlowTable, FlowTables, FlowTablesRow, TableRows};
pub use folder::{ResultFiles, ResultsFolder, ResultsOptions, SCENARIO_FILE};
pub use hpcc::{
    DESTINATION_PORT, FCT_FILE, FIRST_SOURCE_PORT, FctLine, FlowStart, HpccNode, HpccOptions,
    PFC_FILE, PfcLine, QueueLengths, QueueSampling, Standalone, host_address, read_fct, read_pfc,
};
pub use link_bytes::LinkBytes;
pub use link_delay::LinkDelayRange;
pub use manifest::Manifest;
pub use measurements::{Measure, Measurements};
pub use metrics::{Metrics, Sample};
pub use number::Number;
pub use occupancy::{Occupancy, OccupancySummary, PoolLevels};
pub use pause_intervals::{Ordered, PauseTotal, PausedByLevel};
pub use pause_time::PauseReceived;
pub use paused_peer::PausedPeer;
pub use port_queues::{MeanQueue, PortQueues};
pub use port_state::PortStateTotals;
pub use queue::QueueKind;
pub use queue_pause::QueuePauseTotals;
pub use record::{Record, RecordOptions, Recorded, RunDescription};
pub use report::{
    CHART_COLUMNS, ReportedBuffer, ReportedDeadlock, ReportedFlow, RunReport, Style, TABLE_ROWS,
    count, counted, span,
};
pub use row::{Decimal, Field, Fields, Row, Sometimes, Value};
pub use size_class::{SizeClassSlowdown, SizeClassSummary, SizeClasses};
pub use slowdown::Slowdown;
pub use staged_file::StagedFile;
pub use summary::{RunEnd, Summary};
pub use table_file::{TableFile, TableFormat};
pub use table_reader::{TableError, TableReader, table_path};
pub use tables::*;
pub use throughput::ThroughputMeter;
pub use unfinished::{Keeper, appoint};
pub use watchdog::WatchdogTotals;
pub use window::{Window, WindowSummary};
pub use wire_log::{LoggedKind, NO_FLOW, NO_PRIORITY, WIRE_LOG_FILE, WireLogRecord, read_wire_log};
