//! A sweep as a job of a cluster's scheduler.
//!
//! [`deal`] distributes runs over tasks by how long runs take; [`JobFolder`] describes a job in the sweep's folder, which all
//! machines share; [`slurm`] submits it and asks about it; [`kubernetes`] writes it as a manifest. A task runs what it
//! was dealt and is not yet complete, so a job can be stopped, killed and submitted again at any time.

mod deal;
mod description;
mod inputs;
mod job;
pub mod kubernetes;
pub mod slurm;

pub use deal::{Limits, deal, estimate, part};
pub use description::{Description, Submitter, Witness};
pub use inputs::Inputs;
pub use job::{JobFolder, Report, RunFailure, Submitted, TaskRun};

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Why something about a job could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the job.
    #[error("cannot {action} {}: {source}; is the sweep's folder on a file system that this machine can reach?", path.display())]
    File {
        /// What was tried, such as "read".
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What a file of the job says is not what xoff writes.
    #[error("{} is damaged: {why}; remove the folder {} and submit again", path.display(), path.parent().unwrap_or(path).display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In what way.
        why: String,
    },
    /// A scheduler's command failed.
    #[error("{0}")]
    Scheduler(String),
}

impl Error {
    fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    fn damaged(path: &Path, why: &dyn Display) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }
}
