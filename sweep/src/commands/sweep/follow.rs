//! Progress of a job on a cluster.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::sweep_progress::SweepProgress;
use super::CommandError;
use super::alike::Alike;
use crate::cluster::slurm::{self, NO_EXECUTABLE, NOT_SHARED, State, TaskState};
use crate::cluster::{JobFolder, Submitted};
use terminal::Complaint;

use crate::{Plan, Run, SweepFolder, appeared};

/// Min period of Slurm queries. The period grows with the time that has passed, as 1 / [`SHARE`] of it.
const PERIOD: Duration = Duration::from_secs(1);
const MAX_PERIOD: Duration = Duration::from_secs(15);
const SHARE: u32 = 50;
/// Max length of a log's end that is read, in bytes.
const LOG_END: usize = 4096;
/// Max delay of an interrupt.
const NAP: Duration = Duration::from_millis(100);

/// Outcome of following a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Followed {
    /// All tasks have ended.
    Ended,
    /// The user interrupted the wait; the job goes on.
    Left,
    /// Tasks cannot run, with the reason. None has begun.
    Unable(Complaint),
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
    // Run folders without results stay as they are until their runs are executed again.
    let before: BTreeSet<OsString> = appeared(out).collect();
    let is_done = |run: &&Run| folder.result(&run.id).is_some();
    let (complete, waiting): (Vec<&Run>, Vec<&Run>) = plan.runs.iter().partition(is_done);
    let done = complete.len();
    let names = waiting.iter().map(|run| OsString::from(run.id.to_string()));
    let waiting: BTreeSet<OsString> = names.filter(|name| !before.contains(name)).collect();
    let mut progress = SweepProgress::for_job(plan.runs.len(), done);
    let mut failed = 0;
    let mut shown = BTreeSet::new();
    loop {
        let (over, answer) = match slurm::states(submitted) {
            Ok(states) => {
                if let Some(why) = probe_failure(out, job, submitted, &states)?
                    .or_else(|| impossible(&states).map(Complaint::new))
                {
                    progress.finish();
                    return Ok(Followed::Unable(why));
                }
                let now_failed = states.iter().filter(|it| it.state == State::Failed).count();
                if now_failed > failed {
                    failed = now_failed;
                    let errors = job.reports()?.into_iter().filter_map(|(_, report)| report.error);
                    errors
                        .filter(|error| shown.insert(error.text().to_owned()))
                        .for_each(|error| progress.aside(error.text()));
                }
                (!states.iter().any(|it| it.state.is_active()), summary(&states))
            }
            Err(error) => (false, format!("{error}; asking again")),
        };
        progress.so_far(done + appeared(out).filter(|it| waiting.contains(it)).count(), &answer);
        if over {
            progress.finish();
            return Ok(Followed::Ended);
        }
        let period = (begun.elapsed() / SHARE).clamp(PERIOD, MAX_PERIOD);
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

/// Describes the number of tasks per state: `tasks: 2 running, 5 waiting (Resources), 3 ended`.
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
        (running, format!("{running} running")),
        (waiting, format!("{waiting} waiting{reason}")),
        (completed, format!("{completed} ended")),
        (failed, format!("{failed} failed")),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    let tasks = (!parts.is_empty()).then(|| format!("tasks: {}", parts.join(", ")));
    let all: Vec<String> = probe.into_iter().chain(tasks).collect();
    all.join("; ")
}

/// Returns the reason why Slurm will never start the probe, if there is one. Many clusters accept such jobs and let
/// them wait.
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

/// Returns the reason why the probe failed, if it failed by itself.
fn probe_failure(
    out: &Path,
    job: &JobFolder,
    submitted: &Submitted,
    states: &[TaskState],
) -> Result<Option<Complaint>, CommandError> {
    let probe = states.iter().find(|it| it.task.is_none());
    let failed = probe.is_some_and(|it| it.state == State::Failed && it.name != "CANCELLED");
    if !failed {
        return Ok(None);
    }
    if let Some(report) = job.report_of("probe")?
        && let Some(error) = report.error
    {
        return Ok(Some(error.about(&format!("a task on {} cannot run the sweep", report.host))));
    }
    let number = submitted.probe;
    let out = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
    let out = out.display();
    let why = match slurm::exit_of(number) {
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
    };
    Ok(Some(why.into()))
}

/// Failures of a job that has ended: one for all tasks or runs that failed in the same way.
pub fn failures(
    plan: &Plan,
    out: &Path,
    job: &JobFolder,
    submitted: &Submitted,
) -> Result<Vec<Complaint>, CommandError> {
    // If Slurm does not answer, the tasks' own reports remain.
    let states = slurm::states(submitted).unwrap_or_default();
    let reports = job.reports()?;
    let of_probe = reports.iter().find(|(task, _)| task == "probe");
    let of_probe = match of_probe.and_then(|(_, report)| report.error.as_ref()) {
        Some(error) => Some(error.clone().about("the probe")),
        None => probe_failure(out, job, submitted, &states)?,
    };
    if let Some(why) = of_probe {
        // No task has begun: Slurm or xoff stopped them all.
        return Ok(vec![why]);
    }
    let mut alike = Alike::default();
    let mut reported = BTreeSet::new();
    for (task, report) in reports {
        let Ok(task) = task.parse::<usize>() else { continue };
        reported.insert(task);
        if let Some(error) = report.error {
            alike.reported(task, report.host, error);
        }
        for failure in report.failures {
            alike.run(plan, failure);
        }
    }
    for state in states.iter().filter(|it| it.state == State::Failed) {
        if let Some(task) = state.task.filter(|task| !reported.contains(task)) {
            let (what, log) = match state.name.as_str() {
                "OUT_OF_MEMORY" => ("it needs more memory: give --memory".to_owned(), None),
                "TIMEOUT" | "DEADLINE" => ("its time limit was over: give --time".to_owned(), None),
                "CANCELLED" | "PREEMPTED" | "NODE_FAIL" | "BOOT_FAIL" => {
                    ("it was stopped".to_owned(), None)
                }
                _ => {
                    let log = job.path().join(format!("task-{task}.log"));
                    (last_words(&log), Some(log))
                }
            };
            alike.ended(task, &format!("ended as {}: {what}", state.name), log);
        }
    }
    Ok(alike.complaints())
}

/// Returns the last line of a task's log, which gives the reason of its end, and advice. The text is equal for all
/// tasks that failed in the same way.
fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LOG_END)..]);
    let lines = || text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last = lines().next().unwrap_or("its log is empty");
    // The log of a refused command line ends with a hint about the help.
    let is_refusal = last.contains("try '--help'");
    let last = lines().find(|line| is_refusal && line.starts_with("error: ")).unwrap_or(last);
    // The shell prefixes the path of its script, which contains the task's number.
    let last = match last.split_once("slurm_script: ") {
        Some((_, said)) => {
            said.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(": ")
        }
        None => last,
    };
    let advice = if text.contains("memory limit") { "; give tasks more with --memory" } else { "" };
    format!("{last}{advice}")
}

#[expect(clippy::disallowed_methods, reason = "when Slurm is asked is in no result")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_of_tasks_that_failed_in_the_same_way_are_the_same() {
        let temp = tempfile::tempdir().unwrap();
        let log = temp.path().join("task-0.log");
        let said = |text: &str| {
            fs::write(&log, text).unwrap();
            last_words(&log)
        };
        assert_eq!(
            said(
                "3 of 9 runs: seed=1\n/var/spool/slurmd/job00012/slurm_script: 12: exec: /opt/xoff: Exec format error\n"
            ),
            "exec: /opt/xoff: Exec format error"
        );
        // Output of a build without jobs.
        let refused = "error: unexpected argument '--job' found\n\nUsage: xoff sweep <FILE>\n\nFor more information, try '--help'.\n";
        assert_eq!(said(refused), "error: unexpected argument '--job' found");
        assert_eq!(
            said("error: memory limit\n\nkilled\n"),
            "killed; give tasks more with --memory"
        );
        assert_eq!(said(""), "its log is empty");
    }

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
        assert_eq!(summary(&states), "tasks: 1 running, 2 waiting (Resources), 1 failed");
        assert_eq!(summary(&[]), "");
        let waiting =
            [task(None, State::Waiting, Some("Priority")), task(Some(0), State::Waiting, None)];
        assert_eq!(summary(&waiting), "the probe waits (Priority); tasks: 1 waiting");
        assert_eq!(impossible(&waiting), None);
        let never = [task(None, State::Waiting, Some("PartitionConfig"))];
        assert!(impossible(&never).expect("it is").contains("(PartitionConfig)"));
    }
}
