//! The folder of a job, `jobs/N` in the sweep's folder: what its tasks read and what they report.
//!
//! | file | written by | holds |
//! | --- | --- | --- |
//! | `job.json` | the submission | [`Description`] |
//! | `sweep.toml`, `scenario.toml` | the submission | [`Inputs`] |
//! | `tasks.txt` | the submission | a line for each task: `INDEX:RUN` of its runs |
//! | `shared-PROCESS` | the submission, first | nothing: tasks see by it that the folder is the same |
//! | `probe.sh`, `tasks.sh` | the submission | what Slurm executes |
//! | `submitted.json` | the submission, last | [`Submitted`] |
//! | `reports/TASK.json` | a task | [`Report`], if there is something to report |
//! | `task-K.log` | Slurm | what task K printed |

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use results::Manifest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Description, Error, Inputs, Submitter};
use crate::Run;
use crate::replace::{is_of_dead_process, replace, this_process};

const DESCRIPTION: &str = "job.json";
const SWEEP: &str = "sweep.toml";
const SCENARIO: &str = "scenario.toml";
const TASKS: &str = "tasks.txt";
const SUBMITTED: &str = "submitted.json";
const REPORTS: &str = "reports";
/// Starts the name of a file that has the submitting process in it.
const MARK: &str = "shared-";

/// The scheduler's numbers of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Of the job that checks that tasks see the folder.
    pub probe: u64,
    /// Of the array of tasks.
    pub array: u64,
}

/// What a task has to report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The machine that executed it.
    pub host: String,
    /// That machine's processor.
    pub processor: String,
    /// Why it could not execute its runs, if so.
    pub error: Option<String>,
    /// Runs that failed.
    pub failures: Vec<RunFailure>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// Its index in the sweep as the job was submitted.
    pub index: usize,
    /// Values of the axes and the seed, as text: the sweep may have changed when a person reads this.
    pub settings: String,
    /// Why.
    pub why: String,
}

/// A run of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// Its index.
    pub index: usize,
    /// Its name when the job was submitted.
    pub run: String,
}

impl Report {
    /// Of a task on this machine.
    pub fn of_this_machine(error: Option<String>, failures: Vec<RunFailure>) -> Self {
        let Manifest { host, processor, .. } = Manifest::of_this_process();
        Self { host, processor, error, failures }
    }
}

/// The folder of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFolder {
    /// Its number; jobs of a sweep count from 1.
    pub number: u32,
    path: PathBuf,
}

impl JobFolder {
    /// Job `number` of those in the folder `jobs`.
    pub fn new(jobs: &Path, number: u32) -> Self {
        Self { number, path: jobs.join(number.to_string()) }
    }

    /// The latest of the jobs in the folder `jobs`.
    pub fn latest(jobs: &Path) -> Result<Option<Self>, Error> {
        let entries = match fs::read_dir(jobs) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(Error::file("read", jobs))?,
        };
        let number =
            |entry: fs::DirEntry| entry.file_name().to_str().and_then(|name| name.parse().ok());
        let numbers = entries.flatten().filter_map(number);
        Ok(numbers.max().map(|number| Self::new(jobs, number)))
    }

    /// Makes the folder of the job after `earlier`. `None` if another process has just made it.
    pub fn claim(jobs: &Path, earlier: Option<&Self>) -> Result<Option<Self>, Error> {
        let this = Self::new(jobs, earlier.map_or(1, |it| it.number + 1));
        fs::create_dir_all(jobs).map_err(Error::file("create", jobs))?;
        match fs::create_dir(&this.path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            made => made.map_err(Error::file("create", &this.path))?,
        }
        // A folder of the same name on another machine does not have it.
        this.write(&this.mark(), b"")?;
        Ok(Some(this))
    }

    /// Whether another process may still be submitting the job: the folder is there, and its process is not known to be dead.
    pub fn is_being_submitted(&self) -> bool {
        let Ok(entries) = fs::read_dir(&self.path) else { return false };
        let names = entries.flatten().map(|entry| entry.file_name());
        let dead = |name: OsString| {
            name.to_str().and_then(|name| name.strip_prefix(MARK)).is_some_and(is_of_dead_process)
        };
        !names.into_iter().any(dead)
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what tasks read.
    pub fn describe(
        &self,
        description: &Description,
        inputs: &Inputs,
        tasks: &[Vec<&Run>],
    ) -> Result<(), Error> {
        let reports = self.path.join(REPORTS);
        fs::create_dir(&reports).map_err(Error::file("create", &reports))?;
        let mut lines = String::new();
        for task in tasks {
            let runs: Vec<String> =
                task.iter().map(|run| format!("{}:{}", run.index, run.id)).collect();
            lines += &runs.join(" ");
            lines.push('\n');
        }
        self.write(TASKS, lines.as_bytes())?;
        self.write(SWEEP, inputs.sweep.as_bytes())?;
        self.write(SCENARIO, inputs.scenario.as_bytes())?;
        self.write_json(DESCRIPTION, description)
    }

    /// Removes the folder of a job that was not submitted.
    pub fn discard(self) -> Result<(), Error> {
        fs::remove_dir_all(&self.path).map_err(Error::file("remove", &self.path))
    }

    /// The name of a file by which a machine knows that its folder is that of this process.
    pub fn mark(&self) -> String {
        format!("{MARK}{}", this_process())
    }

    /// The script of the probe.
    pub fn probe_script(&self) -> PathBuf {
        self.path.join("probe.sh")
    }

    /// The script of the tasks.
    pub fn tasks_script(&self) -> PathBuf {
        self.path.join("tasks.sh")
    }

    /// Writes both scripts.
    pub fn write_scripts(&self, probe: &str, tasks: &str) -> Result<(), Error> {
        for (path, text) in [(self.probe_script(), probe), (self.tasks_script(), tasks)] {
            replace(&path, text).map_err(Error::file("write", &path))?;
        }
        Ok(())
    }

    /// Says that the job was submitted.
    pub fn set_submitted(&self, submitted: &Submitted) -> Result<(), Error> {
        self.write_json(SUBMITTED, submitted)
    }

    /// The scheduler's numbers; `None` if the job has not been submitted yet.
    pub fn submitted(&self) -> Result<Option<Submitted>, Error> {
        Self::read_json(&self.path.join(SUBMITTED))
    }

    /// The xoff that submitted the job. It can be read also if another build describes jobs in another way.
    pub fn submitter(&self) -> Result<Submitter, Error> {
        let path = self.path.join(DESCRIPTION);
        Self::read_json(&path)?.ok_or_else(|| missing(&path))
    }

    /// What its tasks have in common.
    pub fn description(&self) -> Result<Description, Error> {
        let path = self.path.join(DESCRIPTION);
        Self::read_json(&path)?.ok_or_else(|| missing(&path))
    }

    /// The sweep file and its scenario at the submission.
    pub fn inputs(&self) -> Result<Inputs, Error> {
        Ok(Inputs { sweep: self.read(SWEEP)?, scenario: self.read(SCENARIO)? })
    }

    /// The runs of a task; `None` if there is no such task.
    pub fn task(&self, task: usize) -> Result<Option<Vec<TaskRun>>, Error> {
        let text = self.read(TASKS)?;
        text.lines().nth(task).map(|line| self.runs_in(task, line)).transpose()
    }

    /// The runs of all tasks.
    pub fn all_runs(&self) -> Result<Vec<TaskRun>, Error> {
        let text = self.read(TASKS)?;
        let tasks = text.lines().enumerate().map(|(task, line)| self.runs_in(task, line));
        Ok(tasks.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn runs_in(&self, task: usize, line: &str) -> Result<Vec<TaskRun>, Error> {
        let parse = |word: &str| {
            let (index, run) = word.split_once(':')?;
            Some(TaskRun { index: index.parse().ok()?, run: run.to_owned() })
        };
        let runs: Option<Vec<TaskRun>> = line.split(' ').map(parse).collect();
        let why = format_args!("line {} names no runs", task + 1).to_string();
        runs.ok_or_else(|| Error::damaged(&self.path.join(TASKS), &why))
    }

    /// Leaves a task's report, which replaces an earlier one of that task.
    pub fn report(&self, task: &str, report: &Report) -> Result<(), Error> {
        self.write_json(&report_file(task), report)
    }

    /// Removes the report of an earlier execution of a task.
    pub fn forget_report(&self, task: &str) {
        // There is none, or it is replaced later.
        let _ = fs::remove_file(self.path.join(report_file(task)));
    }

    /// A task's report, if it left one.
    pub fn report_of(&self, task: &str) -> Result<Option<Report>, Error> {
        Self::read_json(&self.path.join(report_file(task)))
    }

    /// The reports of all tasks that left one, by the names of tasks.
    pub fn reports(&self) -> Result<Vec<(String, Report)>, Error> {
        let folder = self.path.join(REPORTS);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::file("read", &folder))?,
        };
        let task = |entry: fs::DirEntry| {
            let name = entry.file_name().to_str()?.strip_suffix(".json")?.to_owned();
            (!name.starts_with('.')).then_some(name)
        };
        let mut tasks: Vec<String> = entries.flatten().filter_map(task).collect();
        tasks.sort_by_key(|task| (task.parse::<usize>().ok(), task.clone()));
        let mut reports = Vec::new();
        for task in tasks {
            reports.extend(self.report_of(&task)?.map(|report| (task, report)));
        }
        Ok(reports)
    }

    fn read(&self, name: &str) -> Result<String, Error> {
        let path = self.path.join(name);
        fs::read_to_string(&path).map_err(Error::file("read", &path))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path.join(name);
        replace(&path, bytes).map_err(Error::file("write", &path))
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(value).expect("keys are strings");
        self.write(name, text.as_bytes())
    }

    fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
        match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("read", path)(error)),
            Ok(json) => serde_json::from_slice(&json).map_err(|error| Error::damaged(path, &error)),
        }
    }
}

fn report_file(task: &str) -> String {
    format!("{REPORTS}/{task}.json")
}

fn missing(path: &Path) -> Error {
    Error::file("read", path)(ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn a_job_tells_its_tasks_what_to_run_and_they_tell_what_failed() {
        let temp = tempfile::tempdir().unwrap();
        let plan = made_up::plan();
        let job = JobFolder::claim(temp.path(), None).unwrap().unwrap();
        let options = [("--time".to_owned(), "30".to_owned())].into();
        let description = Description::of_this_process(3, None, options);
        let tasks = [vec![&plan.runs[5]], vec![&plan.runs[2], &plan.runs[0]]];
        let inputs = Inputs::of(&plan.sweep);
        job.describe(&description, &inputs, &tasks).unwrap();
        assert_eq!(job.description().unwrap(), description);
        assert_eq!(job.submitter().unwrap(), description.submitter);
        assert_eq!(job.inputs().unwrap(), inputs);
        let runs = job.task(1).unwrap().unwrap();
        assert_eq!(runs.iter().map(|it| it.index).collect::<Vec<_>>(), [2, 0]);
        assert_eq!(runs[1].run, plan.runs[0].id.to_string());
        assert_eq!(job.task(2).unwrap(), None);
        assert_eq!(
            job.all_runs().unwrap().iter().map(|it| it.index).collect::<Vec<_>>(),
            [5, 2, 0]
        );

        assert_eq!(job.submitted().unwrap(), None);
        let submitted = Submitted { probe: 7, array: 8 };
        job.set_submitted(&submitted).unwrap();
        assert_eq!(job.submitted().unwrap(), Some(submitted));

        assert_eq!(job.reports().unwrap(), []);
        let failures = vec![RunFailure { index: 2, settings: "seed=3".into(), why: "no".into() }];
        let report = Report::of_this_machine(None, failures);
        for task in ["10", "9", "probe"] {
            job.report(task, &report).unwrap();
        }
        let tasks: Vec<String> = job.reports().unwrap().into_iter().map(|(task, _)| task).collect();
        assert_eq!(tasks, ["probe", "9", "10"]);
        job.forget_report("9");
        assert_eq!(job.report_of("9").unwrap(), None);
        assert_eq!(job.report_of("10").unwrap(), Some(report));
    }

    #[test]
    fn one_of_two_claims_a_number() {
        let temp = tempfile::tempdir().unwrap();
        let jobs = temp.path().join("jobs");
        assert_eq!(JobFolder::latest(&jobs).unwrap(), None);
        let first = JobFolder::claim(&jobs, None).unwrap().unwrap();
        assert_eq!(JobFolder::claim(&jobs, None).unwrap(), None);
        assert_eq!(JobFolder::latest(&jobs).unwrap().as_ref(), Some(&first));
        assert!(first.is_being_submitted());
        let dead = format!("{MARK}{}", crate::replace::dead_process());
        fs::rename(first.path().join(first.mark()), first.path().join(dead)).unwrap();
        assert!(!first.is_being_submitted());
        for number in 2..=10 {
            let latest = JobFolder::latest(&jobs).unwrap();
            let next = JobFolder::claim(&jobs, latest.as_ref()).unwrap().unwrap();
            assert_eq!(next.number, number);
        }
        first.discard().unwrap();
        assert_eq!(JobFolder::latest(&jobs).unwrap().unwrap().number, 10, "by number, not by name");
    }

    #[test]
    fn damaged_files_are_named() {
        let temp = tempfile::tempdir().unwrap();
        let job = JobFolder::claim(temp.path(), None).unwrap().unwrap();
        let error = job.description().unwrap_err().to_string();
        assert!(error.starts_with("cannot read ") && error.contains("1/job.json"), "{error}");
        fs::write(job.path().join(DESCRIPTION), "{").unwrap();
        fs::write(job.path().join(TASKS), "1:a\n1:a 2b\n").unwrap();
        for error in [job.description().map(drop), job.task(1).map(drop)] {
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains("is damaged: ") && error.ends_with("and submit again"),
                "{error}"
            );
        }
    }
}
