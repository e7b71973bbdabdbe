//! The laboratory's commands: what a person calls.
//!
//! [`commands`] has one module for each of them. A [`sweep`] is many runs, [`reproduce`] has the sweeps of
//! papers, [`import`] reads the files of other programs, [`inspect`] says what a scenario will do before it
//! runs, a [`report`] shows what they came to, `live` keeps fabrics up. A run's [`guardian`] and the binary's [`heap`] see to it that nothing is left behind.

pub mod commands;
pub mod graph;
pub mod guardian;
pub mod heap;
pub mod import;
pub mod inspect;
#[cfg(feature = "kernel")]
pub mod live;
pub mod report;
pub mod reproduce;
pub mod sweep;
