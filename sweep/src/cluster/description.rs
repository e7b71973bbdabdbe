//! The description of a job, which all its tasks read.

use std::collections::BTreeMap;

use results::{Manifest, build};
use serde::{Deserialize, Serialize};

/// The xoff process that submitted a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitter {
    /// Its version.
    pub version: String,
    /// Its build.
    pub build: String,
    /// Machine of the submission.
    pub host: String,
}

/// Description of a job, which all its tasks read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The xoff process that submitted the job.
    #[serde(flatten)]
    pub submitter: Submitter,
    /// Number of runs in all its tasks.
    pub runs: usize,
    /// A complete run that machines with other kinds of processors repeat, to compare the results.
    pub witness: Option<Witness>,
    /// Options of the submission that tasks depend on, such as `--time`, with their values.
    pub options: BTreeMap<String, String>,
}

/// A run whose results are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Index of the run.
    pub index: usize,
    /// Name of the run.
    pub run: String,
    /// Machine that executed the run.
    pub host: String,
    /// Processor of this machine.
    pub processor: String,
}

impl Submitter {
    /// Describes this process.
    pub fn for_this_process() -> Self {
        let Manifest { version, host, .. } = Manifest::for_this_process();
        Self { version, build: build::name().to_owned(), host }
    }

    /// Returns the version and the build as one word.
    pub fn version_and_build(&self) -> String {
        format!("{}-{}", self.version, self.build)
    }

    /// Returns the reason why this process may not execute tasks of the job; `None` if it may. All machines give an
    /// equal reason, so that a job with many tasks prints one line.
    pub fn refusal(&self) -> Option<String> {
        let own = Self::for_this_process();
        ((&self.version, &self.build) != (&own.version, &own.build)).then(|| {
            let (this, that) = (own.version_and_build(), self.version_and_build());
            format!(
                "xoff is {this}, and the job was submitted by {that}: xoff was replaced since then, or the machines have \
                 different ones; put {that} back on all of them and give the same command again, or submit again with \
                 {this}, which counts no run of {that} as complete"
            )
        })
    }
}

impl Description {
    /// Describes a job that this process submits.
    pub fn for_this_process(
        runs: usize,
        witness: Option<Witness>,
        options: BTreeMap<String, String>,
    ) -> Self {
        Self { submitter: Submitter::for_this_process(), runs, witness, options }
    }

    /// Returns the run to repeat on this machine before others, if another kind of processor executed it.
    pub fn foreign_witness(&self) -> Option<&Witness> {
        let processor = Manifest::for_this_process().processor;
        self.witness.as_ref().filter(|witness| witness.processor != processor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_of_another_kind_of_processor_is_repeated() {
        let own = Manifest::for_this_process().processor;
        let of = |processor: &str| {
            let witness = Witness {
                index: 0,
                run: "0123".into(),
                host: "login1".into(),
                processor: processor.into(),
            };
            Description::for_this_process(3, Some(witness), BTreeMap::new())
        };
        let other = of("another");
        assert_eq!(other.foreign_witness(), other.witness.as_ref());
        assert_eq!(of(&own).foreign_witness(), None);
    }

    #[test]
    fn another_build_does_not_execute_tasks_and_all_machines_give_one_reason() {
        let own = Submitter::for_this_process();
        assert_eq!(own.refusal(), None);
        let other = Submitter { build: "0123".into(), ..own.clone() };
        let why = other.refusal().unwrap();
        let that = format!("{}-0123", own.version);
        assert!(
            why.contains(&format!("the job was submitted by {that}: xoff was replaced")),
            "{why}"
        );
        assert!(why.contains(&format!("put {that} back on all of them")), "{why}");
        assert_eq!(Submitter { host: "login1".into(), ..other }.refusal(), Some(why));
    }
}
