//! Sweeps: one scenario over a matrix of settings and seeds.
//!
//! [`Sweep`] is a parsed sweep file; [`Plan`] has its runs, each of them checked and named by the input that determines
//! it; [`SweepFolder`] stores complete runs; [`execute()`] executes the others; [`tables`] are for people. A run's
//! results are a function of its resolved scenario, and tables are made from results alone: they do not depend on
//! interruptions or on the number of parallel runs.

#![forbid(unsafe_code)]

pub mod cluster;
pub mod commands;
mod execute;
mod folder;
mod keys;
#[cfg(any(test, feature = "made-up"))]
pub mod made_up;
mod place;
mod plan;
pub mod replace;
mod run_id;
mod student;
mod sweep_file;
pub mod tables;

#[cfg(test)]
mod tests;

pub use execute::{Failure, News, execute, repeat};
pub use folder::{CELLS_TABLE, RUNS, RUNS_TABLE, SWEEP_FILE};
pub use folder::{
    Claim, RunResult, RunState, SweepFolder, appeared, count_appeared, jobs, result_in,
};
pub use keys::json_schema;
pub use plan::{Plan, Run};
pub use run_id::RunId;
pub use student::interval;
pub use sweep_file::{Axis, Choice, Pattern, Sweep, SweepOptions};
pub use tables::Survey;
