//! Scenarios from other programs' files.

pub mod hpcc;
mod source;

pub use source::Source;
