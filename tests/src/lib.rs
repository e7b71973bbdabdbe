//! Helpers of tests and benchmarks that cross crates.

pub mod any_scenario;
pub mod command;
pub mod fabric;
pub mod faults;
pub mod generated;
pub mod live;
pub mod slurm;
pub mod sweep;
pub mod switch;
