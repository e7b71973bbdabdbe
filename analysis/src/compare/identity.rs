//! Identity of a side: its path, its place in a sweep, and the build that wrote it.

use std::path::Path;

use results::{RunEnd, Summary, count, counted};
use serde::Serialize;

use super::side::Side;
use crate::report::origin::{self, Build};

/// Identity of a side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Path, as the user wrote it.
    pub path: String,
    /// Values of the axes and the seed of a sweep's run: `alpha 1/4, seed 2`.
    pub choices: Option<String>,
    /// Seed of a run.
    pub seed: Option<u64>,
    /// Version of xoff that wrote the run, with its build; `None` of a simulator's file.
    pub build: Option<Build>,
    /// Number of flows of a run that did not complete.
    pub unfinished: Option<u64>,
    /// Instant at which an interrupt or an error ended the run.
    pub interrupted_ns: Option<u64>,
}

impl Identity {
    /// Reads the identity of a side.
    pub fn read(path: &Path, side: &Side) -> Self {
        let path = path.display().to_string();
        let Some(run) = side.run() else { return Self { path, ..Self::default() } };
        let Summary { flows_total, flows_completed, ended, .. } = run.summary;
        let is_cut = matches!(ended, RunEnd::Interrupted | RunEnd::Failed);
        Self {
            path,
            choices: origin::choices(&run.folder),
            seed: Some(run.summary.seed),
            build: Some(origin::build(&run.folder)),
            unfinished: Some(flows_total.saturating_sub(flows_completed)),
            interrupted_ns: is_cut.then_some(run.summary.emulated_ns),
        }
    }

    /// Returns the identity without the path.
    pub fn about(&self) -> String {
        let Self { choices, seed, build, .. } = self;
        let seed = seed.filter(|_| choices.is_none()).map(|seed| format!("seed {seed}"));
        let build = match build {
            None => "a simulator's file".to_owned(),
            Some(build) => build.to_string(),
        };
        let until = self.interrupted_ns.map(|ns| format!("interrupted at {} ns", count(ns)));
        let unfinished = self.unfinished.filter(|flows| *flows > 0);
        let unfinished = unfinished.map(|flows| format!("{} unfinished", counted(flows, "flow")));
        let words =
            choices.iter().cloned().chain(seed).chain([build]).chain(unfinished).chain(until);
        words.collect::<Vec<_>>().join(", ")
    }
}
