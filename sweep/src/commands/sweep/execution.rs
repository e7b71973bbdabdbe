//! Runs of a sweep that this process executes, and their progress.

use std::sync::atomic::AtomicBool;

use super::super::sweep_progress::SweepProgress;
use super::{CommandError, named, no_thread};
use crate::cluster::RunFailure;
use crate::{Failure, News, Run, Sweep, SweepFolder};

/// Outcome of runs.
#[derive(Debug, Default)]
pub struct Executed {
    /// Number of runs that have results.
    pub ended: usize,
    /// Runs that failed.
    pub failures: Vec<RunFailure>,
    /// True if the user interrupted the runs before all had ended.
    pub interrupted: bool,
}

/// Executes runs and shows their progress. `completed` is called after each run that has its results.
pub fn run(
    sweep: &Sweep,
    waiting: &[&Run],
    folder: &SweepFolder,
    jobs: usize,
    interrupted: &AtomicBool,
    progress: &mut SweepProgress,
    mut completed: impl FnMut(&mut SweepProgress),
) -> Result<Executed, CommandError> {
    let mut executed = Executed::default();
    crate::execute(sweep, waiting, folder, jobs, interrupted, |run, news| {
        let what = || sweep.describe(&run.choices, run.seed);
        match news {
            News::UnderWay { progress: so_far, duration } => {
                progress.under_way(run.index, duration, so_far, |line| named(run, &what(), line));
            }
            News::Ended(Ok(_)) => {
                progress.ended(run.index, &what());
                executed.ended += 1;
                completed(progress);
            }
            News::Ended(Err(Failure::Failed(why))) => {
                progress.failed(run.index, &named(run, &what(), &why));
                let (index, settings) = (run.index, what());
                executed.failures.push(RunFailure { index, settings, why });
            }
            News::Ended(Err(Failure::Interrupted)) => {}
        }
    })
    .map_err(|error| no_thread(&error))?;
    executed.interrupted = executed.ended + executed.failures.len() < waiting.len();
    Ok(executed)
}
