//! Slurm: its scripts, and its commands `sbatch`, `squeue`, `scontrol`, `sinfo` and `scancel`.
//!
//! A job of xoff is two Slurm jobs: a probe, which checks that a task sees the sweep's folder and can execute this
//! xoff, and an array of tasks, which waits for the probe's success. Accounting (`sacct`) is not required: the folder
//! shows which runs are complete.

mod answers;
mod script;

pub use answers::{State, TaskState};
pub use script::{Call, NO_EXECUTABLE, NOT_SHARED, Request, quoted};

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{Error, JobFolder, Submitted};

/// Max number of tasks in an array: Slurm's default of `MaxArraySize`.
const MAX_TASKS: usize = 1000;

/// Capacity of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Max number of tasks in an array.
    pub tasks: usize,
    /// Processors of the partition, if known.
    pub processors: Option<usize>,
}

/// Queries the capacity of the cluster.
///
/// # Errors
/// If Slurm is missing or does not answer.
pub fn capacity(partition: Option<&str>) -> Result<Capacity, Error> {
    let config = ask(Command::new("scontrol").args(["show", "config"]))?;
    let tasks = answers::max_array_size(&config).map_or(MAX_TASKS, |most| most.min(MAX_TASKS));
    let partitions = ask(Command::new("sinfo").args(["--all", "--noheader", "--format=%P|%C"]))?;
    let known = answers::partitions(&partitions);
    // Slurm accepts several partitions, and starts a task in the first that has room.
    for name in partition.iter().flat_map(|names| names.split(',')) {
        if !known.contains(&name) {
            let known = known.join(", ");
            let text = format!("the cluster has no partition `{name}`; `sinfo` lists {known}");
            return Err(Error::Scheduler(text));
        }
    }
    Ok(Capacity { tasks: tasks.max(1), processors: answers::processors(&partitions, partition) })
}

/// Submits the probe and the array of `tasks` tasks.
///
/// # Errors
/// The error of `sbatch`. Then nothing is left submitted.
pub fn submit(
    job: &JobFolder,
    call: &Call,
    request: &Request,
    tasks: usize,
) -> Result<Submitted, Error> {
    let [probe, array] = call.scripts(job, request, tasks);
    job.write_scripts(&probe, &array)?;
    let probe = number(&ask(sbatch(request, &[]).arg(job.probe_script()))?)?;
    let array = after(probe);
    let array = ask(sbatch(request, &array.each_ref().map(String::as_str)).arg(job.tasks_script()));
    match array.and_then(|answer| number(&answer)) {
        Ok(array) => Ok(Submitted { probe, array }),
        Err(error) => {
            cancel(&[probe])?;
            Err(error)
        }
    }
}

/// Returns options with which the array waits for the probe, and is cancelled if the probe fails.
fn after(probe: impl Display) -> [String; 2] {
    [format!("--dependency=afterok:{probe}"), "--kill-on-invalid-dep=yes".to_owned()]
}

/// Describes the submission for a person: both scripts, each with its command.
pub fn described(call: &Call, job: &JobFolder, request: &Request, tasks: usize) -> String {
    let [probe, array] = call.scripts(job, request, tasks);
    let line = |more: &[&str], script: &Path| {
        let command = sbatch(request, more);
        let words = command.get_args().map(|word| quoted(&word.to_string_lossy()));
        let words: Vec<String> = words.collect();
        format!("# sbatch {} {}", words.join(" "), quoted(&script.to_string_lossy()))
    };
    let after = after("PROBE");
    let after = after.each_ref().map(String::as_str);
    let (first, second) = (line(&[], &job.probe_script()), line(&after, &job.tasks_script()));
    format!("{first}\n{probe}\n{second}\n{array}")
}

/// Checks that Slurm would accept tasks with these resources. Nodes that are down or reserved are accepted, because
/// they come back.
///
/// # Errors
/// The error of `sbatch`.
pub fn check(request: &Request) -> Result<(), Error> {
    let output = run(sbatch(request, &["--test-only"]).arg("--wrap=true"))?;
    if output.status.success() || text(&output.stderr).contains("not available (down") {
        return Ok(());
    }
    Err(said("sbatch", &output))
}

fn sbatch(request: &Request, more: &[&str]) -> Command {
    let mut sbatch = Command::new("sbatch");
    // sbatch also reads options from its environment, which override the script's options. On the command line the
    // user's options come last, so they win.
    let resources = request.resources();
    let resources = resources.into_iter().map(|(option, value)| format!("--{option}={value}"));
    sbatch.arg("--parsable").args(resources).args(&request.options).args(more);
    for variable in ["SBATCH_ARRAY_INX", "SBATCH_WAIT", "SBATCH_CLUSTERS", "SLURM_CLUSTERS"] {
        sbatch.env_remove(variable);
    }
    sbatch
}

fn number(answer: &str) -> Result<u64, Error> {
    let error = || Error::Scheduler(format!("`sbatch` answered {answer:?} instead of a number"));
    answers::job_number(answer).ok_or_else(error)
}

/// Returns the numbers of a job whose submission died before it could record them. A probe without an array is
/// cancelled.
///
/// # Errors
/// If Slurm does not answer.
pub fn find(job: &JobFolder) -> Result<Option<Submitted>, Error> {
    let listing =
        ask(Command::new("squeue").args(["--noheader", "--states=all", "--format=%F|%o"]))?;
    let number = |script: &Path| answers::job_of_script(&listing, script);
    let (probe, array) = (number(&job.probe_script()), number(&job.tasks_script()));
    if let (Some(probe), None) = (probe, array) {
        cancel(&[probe])?;
    }
    Ok(probe.zip(array).map(|(probe, array)| Submitted { probe, array }))
}

/// Cancels jobs. Jobs that have ended are not affected.
///
/// # Errors
/// The error of `scancel`.
pub fn cancel(jobs: &[u64]) -> Result<(), Error> {
    ask(Command::new("scancel").args(jobs.iter().map(u64::to_string))).map(drop)
}

/// Returns the states of the probe and of all tasks that Slurm still knows. It forgets jobs some minutes after their
/// end.
///
/// # Errors
/// If Slurm does not answer.
pub fn states(submitted: &Submitted) -> Result<Vec<TaskState>, Error> {
    let mut all = Vec::new();
    // An unknown job makes a query about several jobs fail as a whole.
    for job in [submitted.probe, submitted.array] {
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--array", "--states=all", "--format=%i|%T|%r"]);
        squeue.arg(format!("--jobs={job}"));
        let output = run(&mut squeue)?;
        if output.status.success() {
            all.extend(answers::states(&text(&output.stdout), submitted));
        } else if !answers::is_unknown(&text(&output.stderr)) {
            return Err(said("squeue", &output));
        }
    }
    Ok(all)
}

/// Returns the exit code of a job that has ended, and its machine, if Slurm still knows them.
pub fn exit_of(job: u64) -> Option<(i32, String)> {
    let mut scontrol = Command::new("scontrol");
    scontrol.args(["--oneliner", "show", "job", &job.to_string()]);
    answers::exit(&ask(&mut scontrol).ok()?)
}

fn ask(command: &mut Command) -> Result<String, Error> {
    let output = run(command)?;
    let program = command.get_program().to_string_lossy().into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(said(&program, &output)) }
}

fn run(command: &mut Command) -> Result<Output, Error> {
    command.stdin(Stdio::null()).output().map_err(|error| {
        let program = command.get_program().display();
        Error::Scheduler(match error.kind() {
            ErrorKind::NotFound => format!(
                "there is no `{program}` on this machine: --on slurm needs Slurm's commands; call it on a login node of the \
                 cluster, or leave --on out to run the sweep here"
            ),
            _ => format!("cannot run `{program}`: {error}"),
        })
    })
}

fn said(program: &str, output: &Output) -> Error {
    let said = text(&output.stderr);
    let prefix = format!("{program}: error: ");
    let lines = said.lines().map(|line| line.strip_prefix(&prefix).unwrap_or(line).trim());
    let said: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let said = if said.is_empty() { output.status.to_string() } else { said.join("; ") };
    Error::Scheduler(format!("`{program}` failed: {said}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_command_is_reported() {
        let mut command = Command::new("sh");
        let script = "echo 'sh: error: invalid partition specified: x' >&2; echo 'sh: error: failed' >&2; exit 1";
        let error = ask(command.args(["-c", script])).unwrap_err().to_string();
        assert_eq!(error, "`sh` failed: invalid partition specified: x; failed");
        let error = ask(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert_eq!(error, "`sh` failed: exit status: 3");
        let error = ask(&mut Command::new("xoff-no-such-program")).unwrap_err().to_string();
        assert!(error.starts_with("there is no `xoff-no-such-program` on this machine"), "{error}");
    }
}
