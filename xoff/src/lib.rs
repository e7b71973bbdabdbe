//! The laboratory: scenario, topology, engine, datapaths, results.
//!
//! [`scenario`] parses a file, [`topology`] makes a fabric of it and [`workload`] flows, [`build`] configures nodes, a
//! [`datapath`] carries frames, the [`engine`] runs, [`results`] remembers, and [`run`] joins these; a [`sweep`] is many
//! runs, and [`reproduce`] has the sweeps of papers.

pub mod build;
pub mod commands;
pub mod datapath;
pub mod engine;
pub mod guardian;
pub mod heap;
pub mod import;
pub mod inspect;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod scenario;
pub mod sweep;
pub mod topology;
pub mod workload;
