//! Results of a run: files for programs and a report for people.
//!
//! The engine feeds one [`Record`] with plain facts as they happen: flows, deliveries, pauses decided and received,
//! samples, pool levels, drops, frames. The record streams rows into a [`ResultsFolder`] (if the user named one). It
//! keeps the data for the [`Summary`], the tables of the whole run and the [`RunReport`] in memory that does not grow
//! with the facts, and returns all of them at the end. This crate does not know the scenario, the topology, the switch
//! or the engine; of this project's crates it depends only on units. It reads no clock.

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
mod egress_queue;
mod error;
mod fault;
mod fct_by_size;
mod fidelity;
mod flow;
mod flow_pause;
mod flow_queue;
mod flow_statistics;
mod flow_table;
mod flow_trace;
mod folder;
pub mod folder_lock;
mod held_flow;
mod hpcc;
mod level;
mod link;
mod link_bytes;
mod link_delay;
mod link_priority;
mod lossy_queue;
mod manifest;
mod measurements;
mod occupancy;
mod parquet;
mod pause;
mod pause_intervals;
mod pause_time;
mod paused_peer;
mod port_queues;
mod port_state;
mod queue;
mod queue_pause;
mod rate;
mod record;
mod report;
mod row;
mod share;
mod size_class;
mod slowdown;
mod staged_file;
mod staging;
mod summary;
mod table;
mod table_file;
mod table_reader;
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
pub use counter::{Counter, CounterRow, PortCounters, QueueCounters};
pub use csv::Text as CsvText;
pub use deadlock::{DeadlockMember, DeadlockRow, DeadlockTotals, WaitCause};
pub use distribution::Distribution;
pub use documentation::{columns_markdown, section};
pub use drop::{DropClass, DropRow, DropTotals};
pub use egress_queue::EgressQueueRow;
pub use error::ResultsError;
pub use fault::{FaultRow, FaultTotals};
pub use fct_by_size::{FctBySizeRow, GroupTimes};
pub use fidelity::{
    DeadlineCount, FidelitySummary, GOOD_LATENESS, LEAST_SLEEPS, Lateness, is_good,
};
pub use flow::FlowRow;
pub use flow_pause::{FlowPart, FlowPauseRow, FlowPauseTotals, UnresumedFlow};
pub use flow_queue::{FlowQueueTotals, FlowQueuesRow};
pub use flow_statistics::{FctSummary, FlowStatistics, LabelSummary, SlowdownSummary};
pub use flow_table::{FlowTable, FlowTables, FlowTablesRow, TableRows};
pub use flow_trace::FlowTraceRow;
pub use folder::{ResultFiles, ResultsFolder, ResultsOptions, SCENARIO_FILE};
pub use held_flow::HeldFlowRow;
pub use hpcc::{DESTINATION_PORT, FlowStart, HpccNode, HpccOptions, QueueLengths, QueueSampling};
pub use link::LinkRow;
pub use link_bytes::LinkBytes;
pub use link_delay::{LinkDelayRange, LinkDelayRow};
pub use link_priority::LinkPriorityRow;
pub use lossy_queue::LossyQueueRow;
pub use manifest::Manifest;
pub use measurements::{DistributionRow, Measure, Measurements};
pub use occupancy::{Occupancy, OccupancyRow, OccupancySummary, PoolLevels};
pub use pause::{PauseEvent, PauseLevel, PauseRow};
pub use pause_intervals::{Ordered, PauseTotal, PausedByLevel};
pub use pause_time::{PauseReceived, PauseTimeRow};
pub use paused_peer::PausedPeer;
pub use port_queues::{MeanQueue, PortQueues};
pub use port_state::{PortState, PortStateRow, PortStateTotals, StateCause};
pub use queue::{QueueKind, QueueRow};
pub use queue_pause::{QueuePauseRow, QueuePauseTotals};
pub use rate::RateRow;
pub use record::{Record, RecordOptions, RunDescription};
pub use report::{
    CHART_COLUMNS, ReportedBuffer, ReportedDeadlock, ReportedFlow, RunReport, Style, TABLE_ROWS,
    count, counted, span,
};
pub use row::{Decimal, Field, Fields, Row};
pub use size_class::{SizeClassSlowdown, SizeClassSummary, SizeClasses};
pub use slowdown::Slowdown;
pub use staged_file::StagedFile;
pub use summary::{RunEnd, Summary};
pub use table::{TABLES, Table};
pub use table_file::{TableFile, TableFormat};
pub use table_reader::{TableError, TableReader, table_path};
pub use throughput::{ThroughputMeter, ThroughputRow};
pub use unfinished::{Keeper, appoint};
pub use watchdog::{StormTraffic, WatchdogRow, WatchdogTotals};
pub use window::{Window, WindowSummary};
pub use wire_log::{LoggedKind, NO_FLOW, NO_PRIORITY, WIRE_LOG_FILE, WireLogRecord, read_wire_log};
