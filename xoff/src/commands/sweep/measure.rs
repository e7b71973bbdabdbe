//! How long runs take, measured before the first job of a sweep is submitted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scenario::DatapathKind;

use super::super::say;
use super::{CommandError, no_thread};
use crate::sweep::{self, News, Plan, Run, Survey, SweepFolder};

/// How many runs are measured at most.
const RUNS: usize = 8;
/// No more runs start, and those under way are stopped, after this time,
const ENOUGH: Duration = Duration::from_secs(10);
/// or after this one if none has ended: one result at least lets other machines compare theirs.
const AT_MOST: Duration = Duration::from_secs(30);

/// How long each run takes, as far as that is known. If no run is complete, runs some here, from all over the sweep, for some
/// seconds. Those that did not end count as long as the others, or as long as they took so far, whichever is more: how much of
/// its duration a run needs is not known before its end. Runs that need a kernel datapath are not
/// measured: this machine may not have it.
pub fn measure(
    plan: &Plan,
    survey: &Survey,
    folder: &SweepFolder,
    interrupted: &AtomicBool,
) -> Result<Vec<Option<Duration>>, CommandError> {
    let mut walls = survey.walls.clone();
    let needs_kernel = plan.runs.iter().any(|run| run.datapath == DatapathKind::Kernel);
    if survey.done() > 0 || needs_kernel {
        return Ok(walls);
    }
    let count = RUNS.min(plan.runs.len());
    // The middle of each of as many parts.
    let place = |number: usize| (2 * number + 1) * plan.runs.len() / (2 * count);
    let runs: Vec<&Run> = (0..count).map(|number| &plan.runs[place(number)]).collect();
    say(format_args!(
        "measuring how long runs take, on all processors here: {} s, or {} s if no run ends before",
        ENOUGH.as_secs(),
        AT_MOST.as_secs()
    ));
    let stop = AtomicBool::new(false);
    let begun = now();
    let mut begins: BTreeMap<usize, Instant> = BTreeMap::new();
    let mut ended: Vec<Duration> = Vec::new();
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    sweep::execute(&plan.sweep, &runs, folder, jobs, &stop, |run, news| {
        match news {
            News::UnderWay { .. } => {
                let begun = begins.entry(run.index).or_insert_with(now);
                walls[run.index] = Some(begun.elapsed());
            }
            News::Ended(Ok(result)) => {
                walls[run.index] = Some(result.wall);
                begins.remove(&run.index);
                ended.push(result.wall);
            }
            News::Ended(Err(_)) => {}
        }
        let (elapsed, is_enough) = (begun.elapsed(), !ended.is_empty());
        if interrupted.load(Ordering::Relaxed) || elapsed > AT_MOST || is_enough && elapsed > ENOUGH
        {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .map_err(|error| no_thread(&error))?;
    let count = u32::try_from(ended.len()).expect("few are measured").max(1);
    let mean = ended.iter().sum::<Duration>() / count;
    for run in begins.into_keys() {
        walls[run] = walls[run].map(|so_far| so_far.max(mean));
    }
    Ok(walls)
}

#[expect(clippy::disallowed_methods, reason = "how long runs take is in no result")]
fn now() -> Instant {
    Instant::now()
}
