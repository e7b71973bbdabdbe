//! Runs on several threads, each of them a function of its scenario.

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

/// Why a run left no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user interrupted it.
    Interrupted,
    /// It failed, and why.
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

/// What is heard of a run.
#[derive(Debug)]
pub enum News {
    /// How far it is; now and then.
    UnderWay {
        /// How far.
        progress: Progress,
        /// Emulated time at which it ends at the latest.
        duration: Nanos,
    },
    /// It is over.
    Ended(Result<RunResult, Failure>),
}

/// Runs `runs` on `jobs` threads, in order, and hands what is heard of them to `heard` on this thread. After an
/// interruption no more runs start.
///
/// # Errors
/// The system's, when not even one thread can be started.
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
                    let mut tell = |news| {
                        // Nobody listens any more where the sweep has failed.
                        let _ = sender.send((run, news));
                    };
                    let one = || execute_one(sweep, run, folder, interrupted, &mut tell);
                    let result = catch_unwind(AssertUnwindSafe(one));
                    let result = result.unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
                    if sender.send((run, News::Ended(result))).is_err() {
                        return;
                    }
                }
            };
            match thread::Builder::new().spawn_scoped(scope, work) {
                Err(error) if job == 0 => return Err(error),
                // The threads that there are run all.
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

/// Runs a scenario once more, and names the first file in which the results differ from those in `folder`, if any.
///
/// # Errors
/// If it does not come to its end, or the files cannot be read.
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
    tell: &mut dyn FnMut(News),
) -> Result<RunResult, Failure> {
    // Another process may have run it meanwhile.
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
    // Found before the run takes its time.
    place.check_room().map_err(no_room)?;
    let duration = scenario.duration.to_nanos();
    let mut progress = |progress| tell(News::UnderWay { progress, duration });
    let mut watch = Watch { interrupted, progress: &mut progress };
    match run::run_whole(&scenario, Some(place.path()), Threads::ONE, &mut watch) {
        Err(run::Error::Run(RunError::Interrupted)) => return Err(Failure::Interrupted),
        // Where another process has run it meanwhile, that may have removed this one's half.
        Err(error) => return folder.result(&run.id).ok_or_else(|| failed(&error)),
        Ok(outcome) => {
            let arrival = place.appear(|_| folder.result(&run.id).is_some()).map_err(no_room)?;
            believe(folder, run, arrival, &outcome.report.summary)?;
        }
    }
    // What was written is what a later sweep will read.
    folder.result(&run.id).ok_or_else(|| gone(&folder.run_folder(&run.id)))
}

/// Whether a run that has appeared is right. It has appeared also if it cannot be believed, and shows why.
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
