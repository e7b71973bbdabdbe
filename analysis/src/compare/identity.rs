//! Identity of a side: its path, its place in a sweep, and the build that wrote it.

use std::path::Path;

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
}

impl Identity {
    /// Reads the identity of a side.
    pub fn read(path: &Path, side: &Side) -> Self {
        let path = path.display().to_string();
        let Some(run) = side.run() else { return Self { path, ..Self::default() } };
        Self {
            path,
            choices: origin::choices(&run.folder),
            seed: Some(run.summary.seed),
            build: Some(origin::build(&run.folder)),
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
        choices.iter().cloned().chain(seed).chain([build]).collect::<Vec<_>>().join(", ")
    }
}
