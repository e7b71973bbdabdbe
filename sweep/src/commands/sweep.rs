//! `xoff sweep`: a scenario over a matrix of settings and seeds.

mod alike;
mod cluster_arguments;
mod execution;
mod follow;
mod kubernetes;
mod measure;
mod share;
mod slurm;
mod status;

use std::fmt::Write;
use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

use results::{ResultsError, TableFormat, counted};
use scenario::{DatapathKind, ScenarioError};
use serde_json::json;
use terminal::Complaint;

use self::cluster_arguments::{ClusterArguments, ManifestKind, Scheduler};
use super::Exit;
use super::sweep_progress::SweepProgress;
use super::tables::Format;
use crate::cluster;
use crate::{Claim, Failure, News, Plan, Run, RunResult, Survey, Sweep, SweepFolder, SweepOptions};
use scenario::whole_number::at_least;

/// Arguments of `xoff sweep`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Sweep file.
    file: PathBuf,
    /// Folder for the results; made if it is missing. Runs that are complete there are not repeated. Default: the
    /// file's name with `.sweep` for `.toml`, in the current folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Scale to use from the file: settings for all runs, such as a smaller fabric.
    #[arg(long, value_name = "NAME")]
    scale: Option<String>,
    /// Format of all tables of the sweep and its runs, instead of the scenario's `results.format`. A sweep that is
    /// resumed keeps its format.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Uses seeds 1 to N instead of the file's seeds.
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroU32::MIN), allow_hyphen_values = true)]
    seeds: Option<NonZeroU32>,
    /// Max number of runs in parallel. Default: one per processor; with --part, one.
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroUsize::MIN), allow_hyphen_values = true)]
    jobs: Option<NonZeroUsize>,
    /// Prints the runs with their indices; runs nothing.
    #[arg(long, conflicts_with_all = ["jobs", "only"])]
    list: bool,
    /// Executes only the run with this index, and writes no tables.
    #[arg(long, value_name = "INDEX", value_parser = at_least(0usize), allow_hyphen_values = true, conflicts_with = "jobs")]
    only: Option<usize>,
    /// Writes the tables of complete runs; runs nothing.
    #[arg(long, conflicts_with_all = ["jobs", "list", "only"])]
    tables: bool,
    #[command(flatten)]
    cluster: ClusterArguments,
}

impl Arguments {
    fn options(&self) -> SweepOptions {
        let format = self.format.map(Into::into);
        SweepOptions { scale: self.scale.clone(), seeds: self.seeds, format }
    }

    /// Returns arguments with which another process runs the same sweep, from `file` into `out`.
    fn words(&self, file: &str, out: &str) -> Vec<String> {
        let mut words = vec!["sweep".to_owned(), file.to_owned(), format!("--out={out}")];
        words.extend(self.scale.iter().map(|scale| format!("--scale={scale}")));
        let format: Option<TableFormat> = self.format.map(Into::into);
        words.extend(format.map(|format| format!("--format={format}")));
        words.extend(self.seeds.map(|seeds| format!("--seeds={seeds}")));
        words
    }
}

const SAME_COMMAND: &str = "the same command tries the others again";

/// Reason why a sweep could not go on.
pub enum CommandError {
    /// A scenario or a sweep file is wrong.
    Scenario(ScenarioError),
    /// A file of results cannot be read or written.
    Results(ResultsError),
    /// A sentence.
    Text(String),
    /// A complaint in parts.
    Complaint(Complaint),
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    if let Err(why) = arguments.cluster.check() {
        return super::refuse(why);
    }
    let exit = match (arguments, &arguments.cluster) {
        (Arguments { list: true, .. }, _) => list(arguments),
        (Arguments { only: Some(index), .. }, _) => run_one(arguments, *index),
        (_, ClusterArguments { on: Some(Scheduler::Slurm), .. }) => slurm::execute(arguments),
        (_, ClusterArguments { manifest: Some(ManifestKind::Kubernetes), .. }) => {
            kubernetes::execute(arguments)
        }
        (_, ClusterArguments { job: Some(job), task: Some(task), .. }) => {
            share::task(arguments, *job, task)
        }
        (_, ClusterArguments { part: Some(part), .. }) => share::part(arguments, *part),
        (_, ClusterArguments { status: true, .. }) => status::execute(arguments),
        (Arguments { tables: true, .. }, _) => write_tables(arguments),
        _ => run_all(arguments),
    };
    exit.unwrap_or_else(|fault| fault.complain())
}

impl CommandError {
    /// Prints the error.
    pub fn complain(&self) -> Exit {
        super::refuse(self.complaint())
    }

    fn complaint(&self) -> Complaint {
        match self {
            Self::Scenario(error) => error.into(),
            Self::Results(error) => Complaint::from_error(error),
            Self::Text(message) => message.into(),
            Self::Complaint(complaint) => complaint.clone(),
        }
    }
}

fn list(arguments: &Arguments) -> Result<Exit, CommandError> {
    let plan = load(arguments)?;
    let out = out(arguments);
    let mut text = String::new();
    let mut runs = Vec::new();
    for run in &plan.runs {
        let state = match crate::result_in(&out, &run.id) {
            Some(result) => result.state.name(),
            None => "to do",
        };
        let what = plan.sweep.describe(&run.choices, run.seed);
        writeln!(text, "{}\t{}\t{state}\t{what}", run.index, run.id)
            .expect("a String takes every write");
        runs.push(json!({ "index": run.index, "id": run.id.to_string(), "state": state, "settings": what }));
    }
    Ok(super::answer(&text, &json!({ "runs": runs }), Exit::Success))
}

fn run_one(arguments: &Arguments, index: usize) -> Result<Exit, CommandError> {
    let sweep = Sweep::load(&arguments.file, &arguments.options())?;
    let count = sweep.run_count();
    if index >= count {
        let last = count - 1;
        let message = format!("there is no run {index}: runs are numbered from 0 to {last}");
        return Err(CommandError::Text(message));
    }
    let (run, _) = sweep.run(index)?;
    let interrupted = prepare([&run])?;
    let folder = SweepFolder::claim(&out(arguments), sweep.text(), run.format, Claim::Shared)?;
    let what = sweep.describe(&run.choices, run.seed);
    let place = folder.run_folder(&run.id);
    let found = |was_complete: bool| {
        let folder = place.display().to_string();
        json!({ "index": index, "folder": folder, "settings": what, "was_complete": was_complete })
    };
    if folder.result(&run.id).is_some() {
        let text = format!("run {index} was complete: {what}");
        return Ok(super::answer(&text, &found(true), Exit::Success));
    }
    let mut exit = Exit::Interrupted;
    let mut progress = SweepProgress::for_lines(1);
    crate::execute(&sweep, &[&run], &folder, 1, interrupted, |run, news| {
        exit = match news {
            News::UnderWay { progress: so_far, duration } => {
                progress.under_way(index, duration, so_far, |line| named(run, &what, line));
                return;
            }
            News::Ended(Ok(RunResult { doubt: None, .. })) => {
                let text = format!("{}: {what}", place.display());
                super::answer(&text, &found(false), Exit::Success)
            }
            News::Ended(Ok(RunResult { doubt: Some(why), .. }) | Err(Failure::Failed(why))) => {
                super::json_errors::error(named(run, &what, &why), Exit::Unsound)
            }
            News::Ended(Err(Failure::Interrupted)) => {
                super::say(format_args!(
                    "run {index} was interrupted; the same command runs it again"
                ));
                Exit::Interrupted
            }
        };
    })
    .map_err(|error| no_thread(&error))?;
    Ok(exit)
}

fn write_tables(arguments: &Arguments) -> Result<Exit, CommandError> {
    let plan = load(arguments)?;
    let out = existing_out(arguments)?;
    let folder = SweepFolder::claim(&out, plan.sweep.text(), plan.format(), Claim::Alone)?;
    let advice = "the same command without --tables runs the others";
    Ok(report(&plan, &Completed { advice, ..Completed::new(&plan, &folder)? }))
}

fn load(arguments: &Arguments) -> Result<Plan, CommandError> {
    let plan = Plan::new(Sweep::load(&arguments.file, &arguments.options())?)?;
    if plan.sweep.seeds.len() > 1 && !plan.depends_on_seed {
        terminal::warn(
            "`seeds` change nothing: random numbers are a simulator's, and the flows are listed; one seed is enough",
        );
    }
    Ok(plan)
}

fn run_all(arguments: &Arguments) -> Result<Exit, CommandError> {
    let plan = load(arguments)?;
    let interrupted = prepare(&plan.runs)?;
    let folder =
        SweepFolder::claim(&out(arguments), plan.sweep.text(), plan.format(), Claim::Alone)?;
    let completed = run_waiting(&plan, &folder, arguments.jobs, interrupted)?;
    let done = completed.survey.done();
    if completed.interrupted {
        let all = plan.runs.len();
        super::say(format_args!(
            "interrupted: {done} of {all} runs are done; the same command goes on"
        ));
        return Ok(Exit::Interrupted);
    }
    Ok(report(&plan, &completed))
}

/// Results of a sweep at its end.
pub struct Completed {
    /// Survey of the runs' results.
    survey: Survey,
    /// Number of runs that were complete before; `None` if this call executed none itself.
    earlier: Option<usize>,
    /// True if the user interrupted the sweep before its end.
    pub interrupted: bool,
    /// `sweep.csv` and `summary.csv`.
    tables: [PathBuf; 2],
    /// Advice for runs that are not done.
    advice: &'static str,
    /// Failures of a job on a cluster.
    failures: Vec<Complaint>,
    /// Number of run folders, including runs of another sweep or another build of xoff.
    appeared: usize,
}

impl Completed {
    /// Surveys a folder's complete runs, and writes their tables.
    fn new(plan: &Plan, folder: &SweepFolder) -> Result<Self, CommandError> {
        let (survey, tables) = folder.write_tables(plan)?;
        Ok(Self {
            survey,
            earlier: None,
            advice: SAME_COMMAND,
            failures: Vec::new(),
            interrupted: false,
            tables,
            appeared: folder.count_appeared(),
        })
    }
}

/// Executes runs that are not complete, and writes both tables of the complete ones.
pub fn run_waiting(
    plan: &Plan,
    folder: &SweepFolder,
    jobs: Option<NonZeroUsize>,
    interrupted: &AtomicBool,
) -> Result<Completed, CommandError> {
    let (survey, _) = folder.write_tables(plan)?;
    let waiting: Vec<&Run> = plan.runs.iter().filter(|run| !survey.is_done(run)).collect();
    let earlier = plan.runs.len() - waiting.len();
    let mut progress = SweepProgress::new(plan.runs.len(), earlier);
    let jobs = jobs.or_else(|| thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    let executed = execution::run(
        &plan.sweep,
        &waiting,
        folder,
        jobs,
        interrupted,
        &mut progress,
        |progress| {
            // A write error will also occur at the last write, which reports it.
            progress.write_if_due(|| folder.write_tables(plan).map(drop));
        },
    )?;
    progress.finish();
    let (survey, tables) = folder.write_tables(plan)?;
    Ok(Completed {
        survey,
        earlier: Some(earlier),
        advice: SAME_COMMAND,
        failures: Vec::new(),
        interrupted: executed.interrupted,
        tables,
        appeared: folder.count_appeared(),
    })
}

/// Prepares the machine and this process for the runs. Returns the flag that an interrupt sets.
pub fn prepare<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
) -> Result<&'static AtomicBool, CommandError> {
    let fabrics = runs.into_iter().any(|run| run.datapath == DatapathKind::Kernel);
    if fabrics {
        emulation::require_kernel_datapath().map_err(CommandError::Text)?;
    }
    super::prepare(fabrics).map_err(CommandError::Text)
}

fn out(arguments: &Arguments) -> PathBuf {
    arguments.out.clone().unwrap_or_else(|| {
        let mut name = arguments.file.file_stem().unwrap_or_default().to_owned();
        name.push(".sweep");
        name.into()
    })
}

/// Returns the results' folder, or an error if it does not exist.
fn existing_out(arguments: &Arguments) -> Result<PathBuf, CommandError> {
    let out = out(arguments);
    if out.is_dir() {
        return Ok(out);
    }
    let text = format!("{} is no folder of a sweep: name it with --out", out.display());
    Err(CommandError::Text(text))
}

fn report(plan: &Plan, completed: &Completed) -> Exit {
    let Completed { survey, earlier, advice, tables, failures, .. } = completed;
    if !super::json_errors::answers_in_json() {
        for failure in failures {
            super::say(failure.text());
        }
    }
    let mut doubts = Vec::new();
    for (index, why) in &survey.doubts {
        let run = &plan.runs[*index];
        let what = plan.sweep.describe(&run.choices, run.seed);
        doubts.push(json!({ "index": index, "settings": what, "doubt": why }));
        if !super::json_errors::answers_in_json() {
            super::say(named(run, &what, why));
        }
    }
    let (done, all) = (survey.done(), plan.runs.len());
    let others = Some(completed.appeared.saturating_sub(done)).filter(|count| *count > 0);
    let sound = done == all && doubts.is_empty();
    let exit = if sound { Exit::Success } else { Exit::Unsound };
    let before = earlier.map(|earlier| format!(", {earlier} of them from before"));
    let mut text = format!("{done} of {all} runs are done{}\n", before.unwrap_or_default());
    for (count, what) in
        [(survey.incomplete, "cut by their duration"), (survey.deadlock, "stopped at a deadlock")]
    {
        if count > 0 {
            let excluded = "means of completion times exclude those in which flows are missing";
            writeln!(text, "{count} of them {what}: {excluded}")
                .expect("a String takes every write");
        }
    }
    if done < all {
        text += advice;
        text += "\n";
    }
    let notes = [survey.mixture(), others.map(not_of_this_sweep), few_seeds(&plan.sweep.seeds)];
    for line in notes.into_iter().flatten() {
        writeln!(text, "{line}").expect("a String takes every write");
    }
    let [runs, cells] = tables;
    writeln!(text, "{}\n{}", runs.display(), cells.display()).expect("a String takes every write");
    let json = json!({
        "runs": all,
        "done": done,
        "earlier": earlier,
        "incomplete": survey.incomplete,
        "deadlock": survey.deadlock,
        "doubts": doubts,
        "failures": failures.iter().map(Complaint::text).collect::<Vec<_>>(),
        "not_of_this_sweep": others.unwrap_or(0),
        "processors": survey.processors,
        "tables": tables.each_ref().map(|table| table.display().to_string()),
    });
    super::answer(&text, &json, exit)
}

/// Returns a note that intervals over two seeds are wide, because they look wrong.
fn few_seeds(seeds: &[u64]) -> Option<String> {
    (seeds.len() == 2).then(|| {
        "intervals over 2 seeds are wide: by Student's t they reach 9 standard deviations to either side of the mean; it is 2.5 \
         with 3 seeds, and 1.2 with 5"
            .to_owned()
    })
}

fn not_of_this_sweep(runs: usize) -> String {
    format!(
        "{} in runs/ are of another sweep file or another build of xoff, and not in the tables",
        counted(runs as u64, "folder")
    )
}

/// The error of a thread that could not be started.
pub fn no_thread(error: &io::Error) -> CommandError {
    CommandError::Text(format!("cannot start a thread: {}", super::with_causes(error)))
}

/// Returns a message about a run with a problem.
pub fn named(run: &Run, what: &str, why: &str) -> String {
    format!("run {} ({what}): {why}", run.index)
}

impl From<ScenarioError> for CommandError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

impl From<Complaint> for CommandError {
    fn from(complaint: Complaint) -> Self {
        Self::Complaint(complaint)
    }
}

impl From<cluster::Error> for CommandError {
    fn from(error: cluster::Error) -> Self {
        Self::Text(error.to_string())
    }
}

impl From<ResultsError> for CommandError {
    fn from(error: ResultsError) -> Self {
        Self::Results(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_that_intervals_over_two_seeds_are_wide() {
        let note = few_seeds(&[1, 2]).expect("there is one");
        assert!(note.contains("they reach 9 standard deviations"), "{note}");
        // A single seed has no interval.
        assert_eq!((few_seeds(&[7]), few_seeds(&[1, 2, 3])), (None, None));
    }
}
