//! Execution of runs on several threads; each run is a function of its scenario.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use emulation::engine::{Progress, RunError, Watch};
use emulation::run::{self, Threads};

use results::Summary;
use scenario::Scenario;
use units::Nanos;

use super::folder::{RunResult, SweepFolder, distrust};
use super::place::{self, Arrival};
use super::plan::Run;
use super::sweep_file::Sweep;

/// Reason why a run left no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user interrupted the run.
    Interrupted,
    /// The run failed, with the reason.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// Progress report of a run.
#[derive(Debug)]
pub enum News {
    /// Periodic progress of the run.
    UnderWay {
        /// Progress so far.
        progress: Progress,
        /// Emulated time at which the run ends at the latest.
        duration: Nanos,
    },
    /// End of the run.
    Ended(Result<RunResult, Failure>),
}

/// Executes `runs` on `jobs` threads, in order, and passes their progress reports to `heard` on this thread. After an
/// interruption no more runs start.
///
/// # Errors
/// The system's error, if not even one thread can be started.
pub fn execute(
    sweep: &Sweep,
    runs: &[&Run],
    folder: &SweepFolder,
    jobs: usize,
    interrupted: &AtomicBool,
    mut heard: impl FnMut(&Run, News),
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for job in 0..jobs.min(runs.len()) {
            let (sender, next) = (sender.clone(), &next);
            let work = move || {
                while !interrupted.load(Ordering::Relaxed)
                    && let Some(&run) = runs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let mut send = |news| {
                        // The receiver is gone if the sweep has failed.
                        let _ = sender.send((run, news));
                    };
                    let one = || execute_one(sweep, run, folder, interrupted, &mut send);
                    let result = catch_unwind(AssertUnwindSafe(one));
                    let result = result.unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
                    if sender.send((run, News::Ended(result))).is_err() {
                        return;
                    }
                }
            };
            match thread::Builder::new().spawn_scoped(scope, work) {
                Err(error) if job == 0 => return Err(error),
                // The threads that were started execute all runs.
                Err(_) => break,
                Ok(_) => {}
            }
        }
        drop(sender);
        for (run, news) in receiver {
            heard(run, news);
        }
        Ok(())
    })
}

/// Executes a scenario again, and returns the first file whose results differ from `folder`, if any.
///
/// # Errors
/// If the run does not complete, or the files cannot be read.
pub fn repeat(
    scenario: &Scenario,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<Option<String>, Failure> {
    let temp = tempfile::tempdir().map_err(|error| failed(&error))?;
    let again = temp.path().join("run");
    let mut watch = Watch { interrupted, progress: &mut |_| {} };
    match run::run_whole(scenario, Some(&again), Threads::ONE, &mut watch) {
        Err(run::Error::Run(RunError::Interrupted)) => Err(Failure::Interrupted),
        Err(error) => Err(failed(&error)),
        Ok(_) => place::first_difference(&again, folder).map_err(|error| failed(&error)),
    }
}

fn execute_one(
    sweep: &Sweep,
    run: &Run,
    folder: &SweepFolder,
    interrupted: &AtomicBool,
    send: &mut dyn FnMut(News),
) -> Result<RunResult, Failure> {
    // Another process may have executed the run meanwhile.
    if let Some(result) = folder.result(&run.id) {
        return Ok(result);
    }
    let (now, scenario) = sweep.run(run.index).map_err(|error| failed(&error))?;
    if now.id != run.id {
        let text = "a file that its scenario names was changed while the sweep ran";
        return Err(Failure::Failed(text.into()));
    }
    let place = folder.place(&run.id);
    let no_room = |error: io::Error| {
        let whole = folder.run_folder(&run.id);
        let text = format!("its results cannot appear as {}: {error}", whole.display());
        Failure::Failed(text)
    };
    // Checked before the run takes its time.
    place.check_room().map_err(no_room)?;
    let duration = scenario.duration.to_nanos();
    let mut progress = |progress| send(News::UnderWay { progress, duration });
    let mut watch = Watch { interrupted, progress: &mut progress };
    match run::run_whole(&scenario, Some(place.path()), Threads::ONE, &mut watch) {
        Err(run::Error::Run(RunError::Interrupted)) => return Err(Failure::Interrupted),
        // If another process has executed the run meanwhile, it may have removed this one's partial results.
        Err(error) => return folder.result(&run.id).ok_or_else(|| failed(&error)),
        Ok(outcome) => {
            let arrival = place.appear(|_| folder.result(&run.id).is_some()).map_err(no_room)?;
            believe(folder, run, arrival, &outcome.report.summary)?;
        }
    }
    // Read back as a later sweep will read it.
    folder.result(&run.id).ok_or_else(|| gone(&folder.run_folder(&run.id)))
}

/// Checks a run that has appeared. Even a run that is not trustworthy appears, and shows why.
fn believe(
    folder: &SweepFolder,
    run: &Run,
    arrival: Arrival,
    summary: &Summary,
) -> Result<(), Failure> {
    if let Some(why) = distrust(summary) {
        return Err(Failure::Failed(why));
    }
    let Arrival::Differs { file, host } = arrival else { return Ok(()) };
    let whole = folder.run_folder(&run.id);
    let text = format!(
        "{} was run on {host} at the same time, and its {file} is not what this machine makes of the run: \
         one of both computes wrong",
        whole.display()
    );
    Err(Failure::Failed(text))
}

fn failed(error: &dyn std::error::Error) -> Failure {
    Failure::Failed(error.to_string())
}

fn gone(place: &Path) -> Failure {
    Failure::Failed(format!("its results in {} cannot be read back", place.display()))
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for no reason");
    Failure::Failed(format!("xoff panicked: {text}"))
}

#[cfg(test)]
mod tests;
