//! The folder of a job, `jobs/N` in the sweep's folder: inputs and reports of its tasks.
//!
//! | file | written by | holds |
//! | --- | --- | --- |
//! | `job.json` | the submission | [`Description`] |
//! | `sweep.toml`, `scenario.toml` | the submission | [`Inputs`] |
//! | `tasks.txt` | the submission | a line for each task: `INDEX:RUN` of its runs |
//! | `shared-PROCESS` | the submission, first | nothing: its presence shows tasks that the folder is shared |
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
use serde::{Deserialize, Deserializer, Serialize};

use super::{Description, Error, Inputs, Submitter};
use crate::Run;
use crate::replace::{is_of_dead_process, replace, this_process};
use terminal::Complaint;

const DESCRIPTION: &str = "job.json";
const SWEEP: &str = "sweep.toml";
const SCENARIO: &str = "scenario.toml";
const TASKS: &str = "tasks.txt";
const SUBMITTED: &str = "submitted.json";
const REPORTS: &str = "reports";
/// Prefix of the name of a file that contains the submitting process.
const MARK: &str = "shared-";

/// The scheduler's numbers of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Number of the probe, which checks that tasks see the folder.
    pub probe: u64,
    /// Number of the array of tasks.
    pub array: u64,
}

/// Report of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Machine that executed the task.
    pub host: String,
    /// Processor of the machine.
    pub processor: String,
    /// Reason why the task could not execute its runs, if so.
    #[serde(deserialize_with = "complaint")]
    pub error: Option<Complaint>,
    /// Runs that failed.
    pub failures: Vec<RunFailure>,
}

/// Failure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// Index of the run in the sweep as submitted.
    pub index: usize,
    /// Values of the axes and the seed, as text: the sweep may have changed when a person reads this.
    pub settings: String,
    /// Reason of the failure.
    pub why: String,
}

/// A run of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// Index of the run.
    pub index: usize,
    /// Name of the run when the job was submitted.
    pub run: String,
}

impl Report {
    /// Reports on a task on this machine.
    pub fn for_this_machine(error: Option<Complaint>, failures: Vec<RunFailure>) -> Self {
        let Manifest { host, processor, .. } = Manifest::for_this_process();
        Self { host, processor, error, failures }
    }
}

/// A complaint, or its text alone, as builds of xoff have written it that a running job may still have.
fn complaint<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Complaint>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Parts(Complaint),
        Text(String),
    }
    Ok(Option::deserialize(input)?.map(|written| match written {
        Written::Parts(complaint) => complaint,
        Written::Text(text) => {
            let mut lines = text.lines();
            Complaint::new(lines.next().unwrap_or_default()).with_lines(lines)
        }
    }))
}

/// The folder of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFolder {
    /// Number of the job; jobs of a sweep count from 1.
    pub number: u32,
    path: PathBuf,
}

impl JobFolder {
    /// Returns the folder of job `number` in the folder `jobs`.
    pub fn new(jobs: &Path, number: u32) -> Self {
        Self { number, path: jobs.join(number.to_string()) }
    }

    /// Returns the latest job in the folder `jobs`.
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

    /// Creates the folder of the job after `earlier`. `None` if another process has just created it.
    pub fn claim(jobs: &Path, earlier: Option<&Self>) -> Result<Option<Self>, Error> {
        let this = Self::new(jobs, earlier.map_or(1, |it| it.number + 1));
        fs::create_dir_all(jobs).map_err(Error::file("create", jobs))?;
        match fs::create_dir(&this.path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            made => made.map_err(Error::file("create", &this.path))?,
        }
        // A folder of this name on another machine does not have the file.
        this.write(&this.mark(), b"")?;
        Ok(Some(this))
    }

    /// Returns true if another process may still be submitting the job: the folder exists, and its process is not known
    /// to be dead.
    pub fn is_being_submitted(&self) -> bool {
        let Ok(entries) = fs::read_dir(&self.path) else { return false };
        let names = entries.flatten().map(|entry| entry.file_name());
        let dead = |name: OsString| {
            name.to_str().and_then(|name| name.strip_prefix(MARK)).is_some_and(is_of_dead_process)
        };
        !names.into_iter().any(dead)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the files that tasks read.
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

    /// Returns the name of the file that identifies the folder as the one of this process.
    pub fn mark(&self) -> String {
        format!("{MARK}{}", this_process())
    }

    /// Returns the path of the probe's script.
    pub fn probe_script(&self) -> PathBuf {
        self.path.join("probe.sh")
    }

    /// Returns the path of the tasks' script.
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

    /// Records that the job was submitted.
    pub fn set_submitted(&self, submitted: &Submitted) -> Result<(), Error> {
        self.write_json(SUBMITTED, submitted)
    }

    /// Returns the scheduler's numbers; `None` if the job has not been submitted yet.
    pub fn submitted(&self) -> Result<Option<Submitted>, Error> {
        Self::read_json(&self.path.join(SUBMITTED))
    }

    /// Returns the xoff process that submitted the job. It can be read even if another build describes jobs
    /// differently.
    pub fn submitter(&self) -> Result<Submitter, Error> {
        let path = self.path.join(DESCRIPTION);
        Self::read_json(&path)?.ok_or_else(|| missing(&path))
    }

    /// Returns the description that all tasks share.
    pub fn description(&self) -> Result<Description, Error> {
        let path = self.path.join(DESCRIPTION);
        Self::read_json(&path)?.ok_or_else(|| missing(&path))
    }

    /// Returns the sweep file and its scenario at the submission.
    pub fn inputs(&self) -> Result<Inputs, Error> {
        Ok(Inputs { sweep: self.read(SWEEP)?, scenario: self.read(SCENARIO)? })
    }

    /// Returns the runs of a task; `None` if the job has no such task.
    pub fn task(&self, task: usize) -> Result<Option<Vec<TaskRun>>, Error> {
        let text = self.read(TASKS)?;
        text.lines().nth(task).map(|line| self.runs_in(task, line)).transpose()
    }

    /// Returns the runs of all tasks.
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

    /// Writes a task's report, which replaces an earlier report of the task.
    pub fn report(&self, task: &str, report: &Report) -> Result<(), Error> {
        self.write_json(&report_file(task), report)
    }

    /// Removes the report of an earlier execution of a task.
    pub fn forget_report(&self, task: &str) {
        // The file is absent, or it is replaced later.
        let _ = fs::remove_file(self.path.join(report_file(task)));
    }

    /// Returns a task's report, if it wrote one.
    pub fn report_of(&self, task: &str) -> Result<Option<Report>, Error> {
        Self::read_json(&self.path.join(report_file(task)))
    }

    /// Returns the reports of all tasks that wrote one, by the names of tasks.
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
    fn a_job_names_the_runs_of_its_tasks_and_they_report_failures() {
        let temp = tempfile::tempdir().unwrap();
        let plan = made_up::plan();
        let job = JobFolder::claim(temp.path(), None).unwrap().unwrap();
        let options = [("--time".to_owned(), "30".to_owned())].into();
        let description = Description::for_this_process(3, None, options);
        let tasks = [vec![&plan.runs[5]], vec![&plan.runs[2], &plan.runs[0]]];
        let inputs = Inputs::new(&plan.sweep);
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
        let report = Report::for_this_machine(None, failures);
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
    fn an_error_of_a_task_keeps_its_parts() {
        let temp = tempfile::tempdir().unwrap();
        let job = JobFolder::claim(temp.path(), None).unwrap().unwrap();
        fs::create_dir(job.path().join(REPORTS)).unwrap();
        let error = Complaint::new("the sweep is not TOML").with_lines([" --> a.toml:1:1"]);
        let report = Report::for_this_machine(Some(error.clone()), Vec::new());
        job.report("0", &report).unwrap();
        assert_eq!(job.report_of("0").unwrap().and_then(|it| it.error), Some(error.clone()));
        // A task of another build has left the text alone.
        let path = job.path().join(report_file("0"));
        let mut written: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        written["error"] = error.text().into();
        fs::write(&path, written.to_string()).unwrap();
        let read = job.report_of("0").unwrap().and_then(|it| it.error).unwrap();
        assert_eq!((read.text(), read.message()), (error.text(), error.message()));
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
