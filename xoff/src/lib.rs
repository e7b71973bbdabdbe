//! The laboratory's commands: what a person calls.
//!
//! [`commands`] has one module for each of them. A [`sweep`] is many runs, [`reproduce`] has the sweeps of
//! papers, [`import`] reads the files of other programs, [`init`] has scenarios to begin with, [`inspect`] says what a
//! scenario will do before it runs, [`explain`] why a flow was slow, a [`report`] draws their results, `live` keeps
//! fabrics up, `selftest` tests the kernel below them.

pub mod commands;
pub mod init;
#[cfg(feature = "kernel")]
pub mod selftest;
