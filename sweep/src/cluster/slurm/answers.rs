//! Parsers for the output of Slurm's commands.

use std::path::Path;

use super::Submitted;

/// State of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// Number of the task in the array; `None` is the probe.
    pub task: Option<usize>,
    /// Its state.
    pub state: State,
    /// Slurm's name of the state, such as `OUT_OF_MEMORY`.
    pub name: String,
    /// Slurm's reason for the state, such as `Resources`; `None` if it gives none.
    pub reason: Option<String>,
}

/// Meaning of a Slurm state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waiting, or to be executed again.
    Waiting,
    /// Being executed.
    Running,
    /// Ended with exit code 0.
    Completed,
    /// Ended in another way.
    Failed,
}

impl State {
    /// Parses a name in `squeue --format=%T`. An unknown name is a state of a later Slurm: the task counts as not
    /// ended.
    pub fn from_name(name: &str) -> Self {
        match name {
            "RUNNING" | "COMPLETING" | "SIGNALING" | "STAGE_OUT" | "SUSPENDED" | "STOPPED" => {
                Self::Running
            }
            "COMPLETED" => Self::Completed,
            "BOOT_FAIL" | "CANCELLED" | "DEADLINE" | "FAILED" | "LAUNCH_FAILED" | "NODE_FAIL"
            | "OUT_OF_MEMORY" | "PREEMPTED" | "RECONFIG_FAIL" | "REVOKED" | "TIMEOUT" => {
                Self::Failed
            }
            _ => Self::Waiting,
        }
    }

    /// Returns true if the task has not ended.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Waiting | Self::Running)
    }
}

/// Parses lines of `squeue --array --format=%i|%T|%r`.
pub(super) fn states(text: &str, submitted: &Submitted) -> Vec<TaskState> {
    let line = |line: &str| {
        let mut fields = line.trim().splitn(3, '|');
        let (id, name, reason) = (fields.next()?, fields.next()?, fields.next()?);
        let (job, task) = id.split_once('_').map_or((id, None), |(job, task)| (job, Some(task)));
        let job: u64 = job.parse().ok()?;
        let task = match task {
            Some(task) if job == submitted.array => Some(task.parse().ok()?),
            None if job == submitted.probe => None,
            _ => return None,
        };
        let reason = (reason != "None").then(|| reason.to_owned());
        Some(TaskState { task, state: State::from_name(name), name: name.to_owned(), reason })
    };
    text.lines().filter_map(line).collect()
}

/// Returns true if an error of `squeue` means that the job is unknown or forgotten.
pub(super) fn is_unknown(error: &str) -> bool {
    error.contains("Invalid job id specified")
}

/// Parses the number in the answer of `sbatch --parsable`, `NUMBER[;CLUSTER]`.
pub(super) fn job_number(text: &str) -> Option<u64> {
    text.trim().split(';').next()?.parse().ok()
}

/// Returns the number of the job that executes a script, from lines `NUMBER|COMMAND`.
pub(super) fn job_of_script(text: &str, script: &Path) -> Option<u64> {
    let is_it = |line: &&str| {
        line.split_once('|').is_some_and(|(_, command)| Path::new(command.trim()) == script)
    };
    text.lines().find(is_it)?.split('|').next()?.trim().parse().ok()
}

/// Parses `ExitCode` and `BatchHost` of `scontrol --oneliner show job`.
pub(super) fn exit(text: &str) -> Option<(i32, String)> {
    let value = |key: &str| {
        text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    };
    let code = value("ExitCode")?.split(':').next()?.parse().ok()?;
    Some((code, value("BatchHost").unwrap_or("a node").to_owned()))
}

/// Parses `MaxArraySize` of `scontrol show config`. Indices are below it, so it is also the max number of tasks.
pub(super) fn max_array_size(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("MaxArraySize"))?;
    line.trim().strip_prefix('=')?.trim().parse().ok()
}

/// Returns the number of usable processors of a partition, of several partitions separated by commas, or of the default
/// partition, from lines `NAME|ALLOCATED/IDLE/OTHER/TOTAL`.
pub(super) fn processors(text: &str, partition: Option<&str>) -> Option<usize> {
    let line = |line: &str| {
        let (name, counts) = line.trim().split_once('|')?;
        let is_it = match partition {
            Some(wanted) => wanted.split(',').any(|it| it == name.trim_end_matches('*')),
            None => name.ends_with('*'),
        };
        let counts: Option<Vec<usize>> =
            counts.split('/').map(|count| count.parse().ok()).collect();
        match counts?[..] {
            [allocated, idle, ..] if is_it => Some(allocated + idle),
            _ => None,
        }
    };
    let mut found = text.lines().filter_map(line).peekable();
    found.peek()?;
    Some(found.sum())
}

/// Returns the names of partitions in these lines.
pub(super) fn partitions(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.trim().split_once('|'));
    let mut names: Vec<&str> = names.map(|(name, _)| name.trim_end_matches('*')).collect();
    // A partition with nodes of several kinds has several lines.
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_the_job() {
        let submitted = Submitted { probe: 11, array: 12 };
        let text = "11|COMPLETED|None\n12_0|RUNNING|None\n12_10|PENDING|Resources\n12_3|OUT_OF_MEMORY|OutOfMemory\n\
                    13_0|RUNNING|None\nnonsense\n";
        let states = states(text, &submitted);
        let short: Vec<_> =
            states.iter().map(|it| (it.task, it.state, it.reason.as_deref())).collect();
        assert_eq!(
            short,
            [
                (None, State::Completed, None),
                (Some(0), State::Running, None),
                (Some(10), State::Waiting, Some("Resources")),
                (Some(3), State::Failed, Some("OutOfMemory")),
            ]
        );
        assert_eq!(states[3].name, "OUT_OF_MEMORY");
        assert!(
            State::from_name("REQUEUED").is_active() && State::from_name("A_LATER_ONE").is_active()
        );
        assert!(!State::from_name("PREEMPTED").is_active());
    }

    #[test]
    fn numbers_are_found_in_what_commands_print() {
        assert_eq!(job_number("4711\n"), Some(4711));
        assert_eq!(job_number("4711;cluster\n"), Some(4711));
        assert_eq!(job_number("Submitted"), None);
        let config = "MaxArraySize            = 1001\nMaxBatchRequeue         = 5\n";
        assert_eq!(max_array_size(config), Some(1001));
        assert_eq!(max_array_size(""), None);
        let job = "JobId=3 JobState=FAILED Requeue=1 ExitCode=66:0 BatchHost=node7 NumNodes=1";
        assert_eq!(exit(job), Some((66, "node7".into())));
        assert_eq!(exit("JobId=3"), None);
        let jobs = "7|/nfs/a/jobs/1/probe.sh\n8|/nfs/a/jobs/1/tasks.sh\n9|(null)\n";
        assert_eq!(job_of_script(jobs, Path::new("/nfs/a/jobs/1/tasks.sh")), Some(8));
        assert_eq!(job_of_script(jobs, Path::new("/nfs/a/jobs/2/tasks.sh")), None);
        assert!(is_unknown("slurm_load_jobs error: Invalid job id specified"));
        assert!(!is_unknown("slurm_load_jobs error: Unable to contact slurm controller"));
    }

    #[test]
    fn processors_are_those_of_the_partition() {
        let text = "debug*|1/7/4/12\nlong|0/64/0/64\nlong|2/0/0/2\n";
        assert_eq!(processors(text, None), Some(8), "the default; those out of order do not count");
        assert_eq!(processors(text, Some("debug")), Some(8));
        assert_eq!(processors(text, Some("long")), Some(66));
        assert_eq!(processors(text, Some("debug,long")), Some(74));
        assert_eq!(processors(text, Some("lon")), None);
        assert_eq!(partitions(text), ["debug", "long"]);
    }
}
