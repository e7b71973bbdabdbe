//! Failures of a job, a line for all that are alike.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::cluster::RunFailure;
use crate::{Plan, Run};

/// Failures of tasks and of runs by what there is to say of them.
#[derive(Debug, Default)]
pub struct Alike {
    tasks: BTreeMap<String, Tasks>,
    /// The first run by its index, and how many more there are.
    runs: BTreeMap<String, (usize, String, usize)>,
}

#[derive(Debug, Default)]
struct Tasks {
    numbers: BTreeSet<usize>,
    hosts: BTreeSet<String>,
    /// The log of the task with the smallest number.
    log: Option<(usize, PathBuf)>,
}

impl Alike {
    /// Adds a task that failed, on which machine, if that is known, and a log to look at, if it says more.
    pub fn task(&mut self, task: usize, host: Option<String>, what: &str, log: Option<PathBuf>) {
        let tasks = self.tasks.entry(what.to_owned()).or_default();
        tasks.numbers.insert(task);
        tasks.hosts.extend(host);
        if let Some(log) = log
            && tasks.log.as_ref().is_none_or(|(first, _)| task < *first)
        {
            tasks.log = Some((task, log));
        }
    }

    /// Adds a run that failed. Its index is that of `plan`, if the sweep is what it was.
    pub fn run(&mut self, plan: &Plan, failure: RunFailure) {
        let RunFailure { index, settings, why } = failure;
        let is_there = |run: &&Run| plan.sweep.describe(&run.choices, run.seed) == settings;
        let name = match plan.runs.get(index).filter(|run| is_there(run)) {
            Some(run) => format!("run {} ({settings})", run.index),
            None => format!("run ({settings}) of the job"),
        };
        match self.runs.get_mut(&why) {
            None => drop(self.runs.insert(why, (index, name, 0))),
            Some((first, of_first, more)) => {
                *more += 1;
                if index < *first {
                    (*first, *of_first) = (index, name);
                }
            }
        }
    }

    /// A line for each kind of failure: those of tasks, then those of runs in their order.
    pub fn lines(self) -> Vec<String> {
        let tasks = self.tasks.into_iter().map(|(what, Tasks { numbers, hosts, log })| {
            let first = numbers.first().copied().unwrap_or_default();
            let hosts = match hosts.into_iter().collect::<Vec<_>>().as_slice() {
                [] => String::new(),
                [one] => format!(" on {one}:"),
                [one, others @ ..] => format!(" on {one} and {} more:", others.len()),
            };
            let log = log.map(|(_, log)| format!("; see {}", log.display())).unwrap_or_default();
            format!("task {first}{}{hosts} {what}{log}", and_more(numbers.len() - 1))
        });
        let mut runs: Vec<_> = self.runs.into_iter().collect();
        runs.sort_by_key(|(_, (first, ..))| *first);
        let runs = runs
            .into_iter()
            .map(|(why, (_, name, more))| format!("{name}{}: {why}", and_more(more)));
        tasks.chain(runs).collect()
    }
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn tasks_that_failed_alike_have_one_line_whatever_their_machines_and_logs() {
        let mut alike = Alike::default();
        for task in [12, 3, 4] {
            let log = format!("jobs/1/task-{task}.log");
            alike.task(task, None, "ended as FAILED: no", Some(log.into()));
            alike.task(task + 100, Some(format!("node{task}")), "xoff was replaced", None);
        }
        alike.task(7, Some("node7".into()), "no room", None);
        assert_eq!(
            alike.lines(),
            [
                "task 3 and 2 more ended as FAILED: no; see jobs/1/task-3.log",
                "task 7 on node7: no room",
                "task 103 and 2 more on node12 and 2 more: xoff was replaced",
            ]
        );
    }

    #[test]
    fn runs_that_failed_alike_have_one_line_and_are_named_by_their_settings() {
        let plan = made_up::plan();
        let failure = |index, settings: &str, why: &str| RunFailure {
            index,
            settings: settings.into(),
            why: why.into(),
        };
        let mut alike = Alike::default();
        alike.run(&plan, failure(5, "switch.buffer=2MB seed=3", "a file was changed"));
        alike.run(&plan, failure(1, "switch.buffer=1MB seed=2", "a file was changed"));
        // The sweep had other values when the job was submitted.
        alike.run(&plan, failure(4, "switch.buffer=9MB seed=1", "no"));
        assert_eq!(
            alike.lines(),
            [
                "run 1 (switch.buffer=1MB seed=2) and 1 more: a file was changed",
                "run (switch.buffer=9MB seed=1) of the job: no",
            ]
        );
    }
}
