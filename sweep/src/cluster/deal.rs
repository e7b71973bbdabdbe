//! Distribution of runs over tasks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use crate::{Plan, Run};

/// Target length of a task. It loses little to the seconds that a scheduler takes between two tasks. A killed task
/// loses only the runs under way.
const TASK: Duration = Duration::from_mins(5);
/// Min length of a task, when work is divided further to use idle processors.
const MIN_TASK: Duration = Duration::from_secs(10);
/// Estimate of a run if none has been measured.
const UNMEASURED: Duration = Duration::from_secs(1);

/// Limits of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Runs that a task executes in parallel; at least 1.
    pub runs_at_once: usize,
    /// Tasks that a job may have; at least 1.
    pub tasks: usize,
    /// Tasks that the cluster can execute in parallel, if known.
    pub tasks_at_once: Option<usize>,
    /// Time limit of a task.
    pub time: Option<Duration>,
}

/// Returns the expected duration of each of `runs`: the mean of the measured runs of its cell, else the mean of all
/// measured runs, else 1 s. `walls` has the measured times by the indices of runs.
pub fn estimate(plan: &Plan, runs: &[&Run], walls: &[Option<Duration>]) -> Vec<Duration> {
    let mean = |(count, sum): (u32, Duration)| (count > 0).then(|| sum / count);
    let mut cells: BTreeMap<&[usize], (u32, Duration)> = BTreeMap::new();
    let mut all = (0, Duration::ZERO);
    for (run, wall) in plan.runs.iter().zip(walls) {
        let Some(wall) = wall else { continue };
        for (count, sum) in [cells.entry(&run.choices).or_default(), &mut all] {
            *count += 1;
            *sum += *wall;
        }
    }
    let otherwise = mean(all).unwrap_or(UNMEASURED);
    let of_cell = |run: &&Run| cells.get(run.choices.as_slice()).copied().and_then(mean);
    runs.iter().map(|run| of_cell(run).unwrap_or(otherwise)).collect()
}

/// Deals runs to tasks, longest first, each to the task with the least work. Returns for each task the places of its
/// runs in `times`, longest first, and the expected duration of the longest task.
pub fn deal(times: &[Duration], limits: &Limits) -> (Vec<Vec<usize>>, Duration) {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&place| Reverse(times[place]));
    let mut tasks = vec![Vec::new(); task_count(times, limits)];
    let mut loads: BinaryHeap<Reverse<(Duration, usize)>> =
        (0..tasks.len()).map(|task| Reverse((Duration::ZERO, task))).collect();
    for place in order {
        let Some(Reverse((load, task))) = loads.pop() else { break };
        tasks[task].push(place);
        loads.push(Reverse((load + times[place], task)));
    }
    let longest = loads.into_iter().map(|Reverse((load, _))| load).max().unwrap_or_default();
    // A task is at least as long as the longest run, which cannot be divided.
    let longest_run = times.iter().max().copied().unwrap_or_default();
    (tasks, longest_run.max(longest / divisor(limits)))
}

fn task_count(times: &[Duration], limits: &Limits) -> usize {
    let total: Duration = times.iter().sum();
    let work = total / divisor(limits);
    let per = |length: Duration| work.as_nanos().div_ceil(length.as_nanos().max(1));
    let length = limits.time.map_or(TASK, |limit| TASK.min(limit / 2));
    let by_length = usize::try_from(per(length)).unwrap_or(usize::MAX);
    let count = match limits.tasks_at_once {
        None | Some(0) => by_length,
        // Whole rounds, so that no processor is idle in the last round.
        Some(at_once) if by_length > at_once => by_length.next_multiple_of(at_once),
        Some(at_once) => {
            let by_shortest = usize::try_from(per(MIN_TASK)).unwrap_or(usize::MAX);
            by_length.max(at_once.min(by_shortest))
        }
    };
    count.clamp(1, limits.tasks.min(times.len()).max(1))
}

fn divisor(limits: &Limits) -> u32 {
    u32::try_from(limits.runs_at_once).unwrap_or(u32::MAX).max(1)
}

/// Returns the indices of part `part` of `parts` of `runs` runs. Parts differ in length by at most one run.
/// Neighbouring runs go to different parts in an aperiodic order, so that no part gets all runs with one value of an
/// axis.
pub fn part(runs: usize, part: usize, parts: usize) -> Vec<usize> {
    // The multiples of the golden ratio are spread evenly. A factor that is coprime to the number of runs gives each
    // run a different place.
    let mut factor = (runs as u128 * 618 / 1000).max(1);
    while gcd(factor, runs as u128) > 1 {
        factor += 1;
    }
    let all = runs.max(1) as u128;
    let of = |index: usize| (index as u128 * factor % all) * parts as u128 / all;
    (0..runs).filter(|&index| of(index) == part as u128).collect()
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made_up;

    const ONE: Limits = Limits { runs_at_once: 1, tasks: 1000, tasks_at_once: None, time: None };

    fn seconds(times: &[u64]) -> Vec<Duration> {
        times.iter().map(|&it| Duration::from_secs(it)).collect()
    }

    #[test]
    fn long_runs_are_dealt_first_and_the_least_loaded_task_gets_the_next() {
        let limits = Limits { tasks: 2, ..ONE };
        let (tasks, longest) = deal(&seconds(&[50, 100, 200, 60, 40]), &limits);
        assert_eq!(tasks, [vec![2, 4], vec![1, 3, 0]]);
        assert_eq!(longest, Duration::from_mins(4));
    }

    #[test]
    fn the_number_of_tasks_follows_from_times_and_limits() {
        let count = |runs: usize, secs: u64, limits: Limits| {
            deal(&seconds(&vec![secs; runs]), &limits).0.len()
        };
        for (runs, secs, limits, expected, why) in [
            (2000, 1, ONE, 7, "2000 s in tasks of 300 s"),
            (2000, 1, Limits { tasks_at_once: Some(2), ..ONE }, 8, "whole rounds"),
            (2000, 1, Limits { tasks_at_once: Some(100), ..ONE }, 100, "all processors work"),
            (2000, 1, Limits { tasks_at_once: Some(1000), ..ONE }, 200, "tasks of 10 s at least"),
            (2000, 1, Limits { runs_at_once: 4, ..ONE }, 2, "four runs at a time"),
            (2000, 1, Limits { time: Some(Duration::from_mins(1)), ..ONE }, 67, "half the limit"),
            (100_000, 10, ONE, 1000, "no more than the scheduler allows"),
            (3, 600, ONE, 3, "no more than runs"),
            (3, 0, ONE, 1, "runs that take no time"),
            (0, 0, ONE, 1, "no runs"),
        ] {
            assert_eq!(count(runs, secs, limits), expected, "{why}");
        }
    }

    #[test]
    fn the_longest_task_counts_runs_that_go_side_by_side() {
        let limits = Limits { runs_at_once: 2, tasks: 1, ..ONE };
        assert_eq!(deal(&seconds(&[10, 10, 10, 10]), &limits).1, Duration::from_secs(20));
        assert_eq!(deal(&seconds(&[30, 1]), &limits).1, Duration::from_secs(30));
    }

    #[test]
    fn a_run_takes_as_long_as_those_of_its_cell_or_as_all() {
        let plan = made_up::plan();
        let runs: Vec<_> = plan.runs.iter().collect();
        let at = |walls: [u64; 6]| {
            let walls = walls.map(|it| (it > 0).then(|| Duration::from_secs(it)));
            estimate(&plan, &runs, &walls)
        };
        assert_eq!(at([0; 6]), seconds(&[1; 6]));
        assert_eq!(at([2, 4, 0, 0, 0, 0]), seconds(&[3; 6]));
        assert_eq!(at([2, 4, 0, 0, 9, 0]), seconds(&[3, 3, 3, 9, 9, 9]));
    }

    #[test]
    fn no_part_has_all_runs_with_one_value_of_an_axis() {
        // 12 parts of an axis of 12 values with 50 seeds: dealt by remainder, each part would have a single value.
        for number in 0..12 {
            let values: std::collections::BTreeSet<usize> =
                part(600, number, 12).into_iter().map(|index| index % 12).collect();
            assert!(values.len() > 6, "{number}: {values:?}");
        }
    }

    proptest! {
        #[test]
        fn each_run_is_in_one_task(times in prop::collection::vec(0u64..500, 0..200), at_once in 0usize..50, runs_at_once in 1usize..5, tasks in 1usize..60) {
            let limits = Limits { runs_at_once, tasks, tasks_at_once: Some(at_once), time: None };
            let (dealt, _) = deal(&seconds(&times), &limits);
            prop_assert!(dealt.len() <= tasks);
            prop_assert!(times.is_empty() || dealt.iter().all(|task| !task.is_empty()));
            let mut all: Vec<usize> = dealt.into_iter().flatten().collect();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..times.len()));
        }

        #[test]
        fn each_run_is_in_one_part(runs in 0usize..3000, parts in 1usize..40) {
            let all: Vec<Vec<usize>> = (0..parts).map(|number| part(runs, number, parts)).collect();
            prop_assert!(all.iter().all(|part| part.len().abs_diff(runs / parts) <= 1));
            let mut all: Vec<usize> = all.into_iter().flatten().collect();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..runs));
        }
    }
}
