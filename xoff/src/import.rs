//! Scenarios from other programs' files.

pub mod hpcc;
mod remarks;
mod source;

pub use remarks::{Difference, Remarks};
pub use source::Source;
