//! Scenarios from other programs' files.
//!
//! # Adding a program
//!
//! A module like `ns3.rs`: a [`Source`] splits lines into words, and the resulting TOML is loaded like any other. A
//! descendant of the HPCC simulator has its `Traits` in `ns3/simulator.rs`, keys in `ns3/keys.rs` and switches in
//! `ns3/buffers.rs`. Not checked by the compiler: `Program` of the command, a seed in `fuzz/src/ns3.rs`, the table in
//! docs/import.md.

#![forbid(unsafe_code)]

pub mod ns3;
mod remarks;
mod source;

pub use remarks::{Difference, Remarks, Subject};
pub use source::Source;
