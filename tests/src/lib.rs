//! What tests and benchmarks that cross crates share.

pub mod command;
pub mod fabric;
pub mod switch;
