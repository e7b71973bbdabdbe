//! The laboratory's commands for users.
//!
//! [`commands`] has one module per command. A [`sweep`] is many runs, [`reproduce`] has the sweeps of papers,
//! [`import`] converts files of other programs, and [`init`] has scenarios as starting points. [`inspect`] predicts a
//! scenario's behaviour before a run, [`explain`] finds the causes of slow flows, and a [`report`] charts results.
//! `live` runs live fabrics, and `selftest` tests the kernel below them. A run's [`guardian`] and the binary's [`heap`]
//! make sure that no leftovers remain.

pub mod cluster;
pub mod commands;
pub mod complaint;
pub mod expectation;
pub mod explain;
pub mod graph;
pub mod guardian;
pub mod heap;
pub mod import;
pub mod init;
pub mod inspect;
#[cfg(feature = "kernel")]
pub mod live;
mod replace;
pub mod report;
pub mod reproduce;
#[cfg(feature = "kernel")]
pub mod selftest;
pub mod sweep;
