//! Wall times of runs, measured before the first job of a sweep is submitted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scenario::DatapathKind;

use super::super::say;
use super::{CommandError, no_thread};
use crate::{News, Plan, Run, Survey, SweepFolder};

/// Max number of runs that are measured.
const RUNS: usize = 8;
/// Time after which no more runs start, and the remaining ones are stopped, if at least one has ended.
const ENOUGH: Duration = Duration::from_secs(10);
/// Time after which the measurement stops even if no run has ended. One result lets other machines compare theirs.
const AT_MOST: Duration = Duration::from_secs(30);

/// Times of runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Wall time of each run by its index; `None` if it is not known.
    pub walls: Vec<Option<Duration>>,
    /// Number of runs that did not end during the measurement: their times are lower bounds.
    pub cut: usize,
}

/// Measures the wall times of runs. If no run is complete, executes some here for some seconds, spread over the sweep.
/// Only whole runs are measured: a run may end long before its duration, when its flows have drained, so its share of
/// the duration does not predict the remaining time. Runs that need a kernel datapath are not measured, because this
/// machine may not have it.
pub fn measure(
    plan: &Plan,
    survey: &Survey,
    folder: &SweepFolder,
    interrupted: &AtomicBool,
) -> Result<Measured, CommandError> {
    let mut walls = survey.walls.clone();
    let needs_kernel = plan.runs.iter().any(|run| run.datapath == DatapathKind::Kernel);
    if survey.done() > 0 || needs_kernel {
        return Ok(Measured { walls, cut: 0 });
    }
    let count = RUNS.min(plan.runs.len());
    // The middle of each of `count` equal parts.
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
    crate::execute(&plan.sweep, &runs, folder, jobs, &stop, |run, news| {
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
    Ok(Measured::new(walls, &begins.into_keys().collect::<Vec<_>>(), &ended))
}

impl Measured {
    /// Computes the times. A run that did not end counts as the mean of the ended runs, or as its time so far if that
    /// is longer.
    fn new(mut walls: Vec<Option<Duration>>, cut: &[usize], ended: &[Duration]) -> Self {
        let count = u32::try_from(ended.len()).expect("few are measured").max(1);
        let mean = ended.iter().sum::<Duration>() / count;
        for &run in cut {
            walls[run] = walls[run].map(|so_far| so_far.max(mean));
        }
        Self { walls, cut: cut.len() }
    }
}

#[expect(clippy::disallowed_methods, reason = "how long runs take is in no result")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_did_not_end_takes_as_long_as_the_others_at_least() {
        let walls = |seconds: [u64; 4]| seconds.map(|it| (it > 0).then(|| Duration::from_secs(it)));
        let of = |seconds, cut: &[usize], ended: &[u64]| {
            let ended: Vec<Duration> = ended.iter().copied().map(Duration::from_secs).collect();
            Measured::new(walls(seconds).to_vec(), cut, &ended)
        };
        let expected = |seconds, cut| Measured { walls: walls(seconds).to_vec(), cut };
        // Two runs ended after 2 s and 4 s; one was stopped after 1 s, and one after 10 s.
        assert_eq!(of([2, 4, 1, 10], &[2, 3], &[2, 4]), expected([2, 4, 3, 10], 2));
        assert_eq!(of([30, 0, 30, 0], &[0, 2], &[]), expected([30, 0, 30, 0], 2), "none ended");
        assert_eq!(of([2, 0, 0, 0], &[], &[2]), expected([2, 0, 0, 0], 0));
    }
}
