//! A sweep as a job of a cluster's scheduler.
//!
//! `deal` distributes runs over tasks by their expected durations. [`JobFolder`] describes a job in the sweep's
//! folder, which all machines share. [`slurm`] submits a job and queries its state; [`kubernetes`] writes it as a
//! manifest. A task executes its runs that are not yet complete, so a job can be stopped, killed and submitted again at
//! any time.
//!
//! The run folders in `runs/` are the only evidence of complete runs. A scheduler is queried only for active tasks, so
//! its forgotten jobs do no harm. Tasks hold no lock, because a lock on NFS may be visible to one machine only; two
//! submissions meet at the creation of `jobs/N`.
//!
//! # Adding a scheduler
//!
//! A module beside `slurm.rs`, a variant of `Scheduler` in `cluster_arguments.rs`, a command beside that of Slurm,
//! docs/cluster.md, and a folder beside `tests/tests/cluster/`.

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

/// Error of an operation on a job.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the job.
    #[error("cannot {action} {}: {source}; is the sweep's folder on a file system that this machine can reach?", path.display())]
    File {
        /// Action that failed, such as "read".
        action: &'static str,
        /// File or folder of the action.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file of the job does not have the content that xoff writes.
    #[error("{} is damaged: {why}; remove the folder {} and submit again", path.display(), path.parent().unwrap_or(path).display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
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
