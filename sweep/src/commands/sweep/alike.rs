//! Failures of a job, one complaint for all that are alike.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::cluster::RunFailure;
use terminal::Complaint;

use crate::{Plan, Run};

/// Failures of tasks and runs by their message.
#[derive(Debug, Default)]
pub struct Alike {
    tasks: BTreeMap<String, Tasks>,
    /// Index and name of the first run, and the number of further runs.
    runs: BTreeMap<String, (usize, String, usize)>,
}

#[derive(Debug, Default)]
struct Tasks {
    /// Error that the tasks reported. `None` if they ended without one.
    error: Option<Complaint>,
    numbers: BTreeSet<usize>,
    hosts: BTreeSet<String>,
    /// Log of the task with the smallest number.
    log: Option<(usize, PathBuf)>,
}

impl Alike {
    /// Adds a task that failed and said why.
    pub fn reported(&mut self, task: usize, host: String, error: Complaint) {
        let tasks = self.tasks.entry(error.text().to_owned()).or_default();
        tasks.numbers.insert(task);
        tasks.hosts.insert(host);
        tasks.error = Some(error);
    }

    /// Adds a task that ended without a report, and a log to look at, if it says more.
    pub fn ended(&mut self, task: usize, how: &str, log: Option<PathBuf>) {
        let tasks = self.tasks.entry(how.to_owned()).or_default();
        tasks.numbers.insert(task);
        if let Some(log) = log
            && tasks.log.as_ref().is_none_or(|(first, _)| task < *first)
        {
            tasks.log = Some((task, log));
        }
    }

    /// Adds a run that failed. Its index is an index of `plan`, unless the sweep has changed.
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

    /// One for each kind of failure: those of tasks, then those of runs in their order.
    pub fn complaints(self) -> Vec<Complaint> {
        let tasks = self.tasks.into_iter().map(|(how, Tasks { error, numbers, hosts, log })| {
            let first = numbers.first().copied().unwrap_or_default();
            let named = format!("task {first}{}", and_more(numbers.len() - 1));
            match (error, hosts.into_iter().collect::<Vec<_>>().as_slice()) {
                (Some(error), [one]) => error.about(&format!("{named} on {one}")),
                (Some(error), [one, others @ ..]) => {
                    error.about(&format!("{named} on {one} and {} more", others.len()))
                }
                _ => {
                    let log = log.map(|(_, log)| format!("; see {}", log.display()));
                    Complaint::new(format!("{named} {how}{}", log.unwrap_or_default()))
                }
            }
        });
        let mut runs: Vec<_> = self.runs.into_iter().collect();
        runs.sort_by_key(|(_, (first, ..))| *first);
        let runs = runs.into_iter().map(|(why, (_, name, more))| {
            Complaint::new(format!("{name}{}: {why}", and_more(more)))
        });
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

    fn lines(alike: Alike) -> Vec<String> {
        alike.complaints().iter().map(|it| it.text().to_owned()).collect()
    }

    #[test]
    fn an_error_of_several_lines_keeps_them() {
        let mut alike = Alike::default();
        let place = [" --> a.toml:3:1", "  |", "3 | bufer = 1"];
        for task in [0, 1] {
            let error = Complaint::new("unknown key `bufer`").with_lines(place);
            alike.reported(task, "node0".into(), error);
        }
        let shown =
            "task 0 and 1 more on node0: unknown key `bufer`\n --> a.toml:3:1\n  |\n3 | bufer = 1";
        assert_eq!(lines(alike), [shown]);
    }

    #[test]
    fn tasks_that_failed_alike_have_one_line_whatever_their_machines_and_logs() {
        let mut alike = Alike::default();
        for task in [12, 3, 4] {
            let log = format!("jobs/1/task-{task}.log");
            alike.ended(task, "ended as FAILED: no", Some(log.into()));
            alike.reported(task + 100, format!("node{task}"), "xoff was replaced".into());
        }
        alike.reported(7, "node7".into(), "no room".into());
        assert_eq!(
            lines(alike),
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
            lines(alike),
            [
                "run 1 (switch.buffer=1MB seed=2) and 1 more: a file was changed",
                "run (switch.buffer=9MB seed=1) of the job: no",
            ]
        );
    }
}
