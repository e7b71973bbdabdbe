//! Views of scenarios before they run, and of results after that.
//!
//! [`inspect`] describes a scenario's fabric, [`graph`] draws it, [`expectation`] compares results with `[[expect]]`, [`explain`]
//! finds why flows were slow, [`compare`] finds where two runs part, and a [`report`] draws runs and sweeps.

#![forbid(unsafe_code)]

pub mod checked;
pub mod commands;
pub mod compare;
pub mod expectation;
pub mod explain;
pub mod graph;
pub mod inspect;
pub mod report;
