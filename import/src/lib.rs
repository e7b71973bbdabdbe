//! Scenarios from other programs' files.

pub mod ns3;
mod remarks;
mod source;

pub use remarks::{Difference, Remarks};
pub use source::Source;
