//! How a job on a cluster goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use results::counted;

use super::super::sweep_progress::SweepProgress;
use super::{CommandError, named};
use crate::cluster::slurm::{self, NO_EXECUTABLE, NOT_SHARED, State, TaskState};
use crate::cluster::{JobFolder, Submitted};
use crate::sweep::{Plan, SweepFolder, count_appeared};

/// How often Slurm is asked: at first, and at most as a share of the time that has passed.
const PERIOD: Duration = Duration::from_secs(1);
const LONGEST_PERIOD: Duration = Duration::from_secs(15);
const SHARE: u32 = 50;
/// How much of a log is read, in bytes from its end.
const LOG_END: usize = 4096;
/// How long an interrupt may wait.
const NAP: Duration = Duration::from_millis(100);

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Followed {
    /// No task is active any more.
    Ended,
    /// The user interrupted; the job goes on.
    Left,
    /// Tasks cannot do their work, and why. None has begun.
    Unable(String),
}

/// Follows a job until its end.
pub fn follow(
    plan: &Plan,
    folder: &SweepFolder,
    out: &Path,
    job: &JobFolder,
    submitted: &Submitted,
    interrupted: &AtomicBool,
) -> Result<Followed, CommandError> {
    let begun = now();
    let done = plan.runs.iter().filter(|run| folder.result(&run.id).is_some()).count();
    // Folders of other sweeps or builds.
    let others = count_appeared(out).saturating_sub(done);
    let mut progress = SweepProgress::new(plan.runs.len(), done);
    let mut silent = false;
    loop {
        match slurm::states(submitted) {
            Ok(states) => {
                silent = false;
                if let Some(why) = probe_failure(out, job, submitted, &states)? {
                    progress.finish();
                    return Ok(Followed::Unable(why));
                }
                if let Some(why) = impossible(&states) {
                    progress.finish();
                    return Ok(Followed::Unable(why));
                }
                let done = count_appeared(out).saturating_sub(others);
                progress.so_far(done, &summary(&states));
                if !states.iter().any(|it| it.state.is_active()) {
                    progress.finish();
                    return Ok(Followed::Ended);
                }
            }
            Err(error) if !silent => {
                silent = true;
                progress.aside(&format!("{error}; asking again"));
            }
            Err(_) => {}
        }
        let period = (begun.elapsed() / SHARE).clamp(PERIOD, LONGEST_PERIOD);
        let asked = now();
        while asked.elapsed() < period {
            if interrupted.load(Ordering::Relaxed) {
                progress.finish();
                return Ok(Followed::Left);
            }
            thread::sleep(NAP);
        }
    }
}

/// How many tasks are in which state: `2 running, 5 waiting (Resources), 3 ended`.
pub fn summary(states: &[TaskState]) -> String {
    let tasks = states.iter().filter(|it| it.task.is_some());
    let count = |state: State| tasks.clone().filter(|it| it.state == state).count();
    let (waiting, running) = (count(State::Waiting), count(State::Running));
    let (completed, failed) = (count(State::Completed), count(State::Failed));
    let mut reason = tasks.clone().filter(|it| it.state == State::Waiting);
    let reason = reason.find_map(|it| it.reason.as_deref());
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let probe = states.iter().find(|it| it.task.is_none() && it.state.is_active());
    let probe = probe.map(|it| {
        let reason = it.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        match it.state {
            State::Running => "the probe runs".to_owned(),
            _ => format!("the probe waits{reason}"),
        }
    });
    let parts = [
        (usize::from(probe.is_some()), probe.unwrap_or_default()),
        (running, format!("{} running", counted(running as u64, "task"))),
        (waiting, format!("{waiting} waiting{reason}")),
        (completed, format!("{completed} ended")),
        (failed, format!("{failed} failed")),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    parts.join(", ")
}

/// Why Slurm will never start the probe, if so. Many clusters take such jobs and let them wait.
fn impossible(states: &[TaskState]) -> Option<String> {
    let probe = states.iter().find(|it| it.task.is_none() && it.state == State::Waiting)?;
    let reason = probe.reason.as_deref()?;
    let never = ["BadConstraints", "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit"]
        .contains(&reason);
    never.then(|| {
        format!(
            "Slurm cannot start tasks: no node of the partition has what they ask for, or it is over the partition's limits \
             ({reason}); ask for less with --cpus, --memory or --time, or name another partition. The job was cancelled"
        )
    })
}

/// Why the probe failed, if it did by itself.
fn probe_failure(
    out: &Path,
    job: &JobFolder,
    submitted: &Submitted,
    states: &[TaskState],
) -> Result<Option<String>, CommandError> {
    let probe = states.iter().find(|it| it.task.is_none());
    let failed = probe.is_some_and(|it| it.state == State::Failed && it.name != "CANCELLED");
    if !failed {
        return Ok(None);
    }
    if let Some(error) = job.report_of("probe")?.and_then(|report| report.error) {
        return Ok(Some(error));
    }
    let number = submitted.probe;
    let out = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
    let out = out.display();
    Ok(Some(match slurm::exit_of(number) {
        Some((NOT_SHARED, node)) => format!(
            "{node} does not see {out}: the results' folder must be on a file system that all machines of the cluster share; \
             name another one with --out"
        ),
        Some((NO_EXECUTABLE, node)) => format!(
            "{node} cannot execute {}: install xoff on a file system that all machines of the cluster share",
            std::env::current_exe().unwrap_or_default().display()
        ),
        Some((code, node)) => format!(
            "a task on {node} cannot run the sweep: the probe, Slurm's job {number}, ended with exit code {code} before it could \
             report; see that {out} can be written there, and `scontrol show job {number}`"
        ),
        None => {
            let name = probe.map_or("FAILED", |it| it.name.as_str());
            format!("the probe, Slurm's job {number}, ended as {name}; see `sacct --jobs={number}`")
        }
    }))
}

/// What went wrong in a job that has ended, a line each.
pub fn failures(
    plan: &Plan,
    out: &Path,
    job: &JobFolder,
    submitted: &Submitted,
) -> Result<Vec<String>, CommandError> {
    // Without an answer of Slurm, there is what tasks reported.
    let states = slurm::states(submitted).unwrap_or_default();
    let reports = job.reports()?;
    let mut lines = Vec::new();
    if !reports.iter().any(|(task, _)| task == "probe") {
        lines.extend(probe_failure(out, job, submitted, &states)?);
    }
    let mut reported = Vec::new();
    for (task, report) in reports {
        let who = if task == "probe" { "the probe".to_owned() } else { format!("task {task}") };
        lines.extend(report.error.map(|why| format!("{who} on {}: {why}", report.host)));
        for failure in report.failures {
            let run = plan.runs.get(failure.index);
            let what = run.map(|run| plan.sweep.describe(&run.choices, run.seed));
            lines.push(match run {
                Some(run) => named(run, &what.unwrap_or_default(), &failure.why),
                None => format!("run {}: {}", failure.index, failure.why),
            });
        }
        reported.extend(task.parse::<usize>().ok());
    }
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for state in states.iter().filter(|it| it.state == State::Failed) {
        if let Some(task) = state.task.filter(|task| !reported.contains(task)) {
            by_name.entry(&state.name).or_default().push(task);
        }
    }
    for (name, tasks) in by_name {
        let first = tasks[0];
        let more =
            if tasks.len() > 1 { format!(" and {} more", tasks.len() - 1) } else { String::new() };
        let log = job.path().join(format!("task-{first}.log"));
        let advice = match name {
            "OUT_OF_MEMORY" => "it needs more memory: give --memory".to_owned(),
            "TIMEOUT" | "DEADLINE" => "its time limit was over: give --time".to_owned(),
            "CANCELLED" | "PREEMPTED" | "NODE_FAIL" | "BOOT_FAIL" => "it was stopped".to_owned(),
            _ => last_words(&log),
        };
        lines.push(format!("task {first}{more} ended as {name}: {advice}"));
    }
    Ok(lines)
}

/// What the log of a task says at its end, and what to do about it.
fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LOG_END)..]);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let advice = if text.contains("memory limit") { "give tasks more with --memory; " } else { "" };
    let said = last.map(|line| format!("{line}; ")).unwrap_or_default();
    format!("{said}{advice}see {}", log.display())
}

#[expect(clippy::disallowed_methods, reason = "when Slurm is asked is in no result")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_tasks_by_state() {
        let task = |task, state, reason: Option<&str>| TaskState {
            task,
            state,
            name: String::new(),
            reason: reason.map(str::to_owned),
        };
        let states = [
            task(None, State::Completed, None),
            task(Some(0), State::Running, None),
            task(Some(1), State::Waiting, Some("Resources")),
            task(Some(2), State::Waiting, Some("Resources")),
            task(Some(3), State::Failed, None),
        ];
        assert_eq!(summary(&states), "1 task running, 2 waiting (Resources), 1 failed");
        assert_eq!(summary(&[]), "");
        let waiting =
            [task(None, State::Waiting, Some("Priority")), task(Some(0), State::Waiting, None)];
        assert_eq!(summary(&waiting), "the probe waits (Priority), 1 waiting");
        assert_eq!(impossible(&waiting), None);
        let never = [task(None, State::Waiting, Some("PartitionConfig"))];
        assert!(impossible(&never).expect("it is").contains("(PartitionConfig)"));
    }
}
