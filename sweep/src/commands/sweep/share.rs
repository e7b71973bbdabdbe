//! A part of a sweep whose other parts may run on other machines at the same time.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::super::sweep_progress::SweepProgress;
use super::super::{Exit, answer, say};
use super::cluster_arguments::Part;
use super::execution::{self, Executed};
use super::{Arguments, CommandError, out, prepare};
use crate::cluster::{self, JobFolder, Report, RunFailure, Submitter, TaskRun, Witness};
use crate::{Claim, Run, Sweep, SweepFolder};

/// Reason why a run of a job is not executed.
const CHANGED: &str = "a file that its scenario names was changed since the job was submitted; the same command submits it again";

/// Runs part of a sweep.
pub fn part(arguments: &Arguments, part: Part) -> Result<Exit, CommandError> {
    if let Some(wanted) = &arguments.cluster.build {
        let own = Submitter::for_this_process().version_and_build();
        if *wanted != own {
            return Err(CommandError::Text(format!(
                "this xoff is {own}, and the tables are to be made by {wanted}, which would not count its runs: use the same \
                 binary in the image and here"
            )));
        }
    }
    let sweep = Sweep::load(&arguments.file, &arguments.options())?;
    let indices = cluster::part(sweep.run_count(), part.number, part.of);
    let runs = indices.into_iter().map(|index| sweep.run(index).map(|(run, _)| run));
    let runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
    if runs.is_empty() {
        return Ok(exit(&Executed::default()));
    }
    let interrupted = prepare(&runs)?;
    let folder = claim(arguments, &sweep, &runs, Claim::Everyone)?;
    let executed = run_share(arguments, &sweep, &runs, &folder, interrupted)?;
    Ok(exit(&executed))
}

/// Executes a task of a job. The sweep is the one of the job's submission, even if its file has changed since.
pub fn task(arguments: &Arguments, job: u32, task: &str) -> Result<Exit, CommandError> {
    let job = JobFolder::new(&crate::jobs(&out(arguments)), job);
    // Checked first, because another build could read the remaining files differently.
    let submitter = job.submitter()?;
    job.forget_report(task);
    let done = match (submitter.refusal(), task.parse()) {
        (Some(why), _) => Err(CommandError::Text(why)),
        (None, Ok(number)) => execute_task(arguments, &job, number),
        (None, Err(_)) => probe(arguments, &job),
    };
    let is_probe = task.parse::<usize>().is_err();
    let (error, failures) = match &done {
        Ok(executed) => (None, executed.failures.clone()),
        Err(error) => (Some(error.complaint()), Vec::new()),
    };
    if is_probe || error.is_some() || !failures.is_empty() {
        job.report(task, &Report::for_this_machine(error, failures))?;
    }
    done.map(|executed| exit(&executed))
}

fn execute_task(
    arguments: &Arguments,
    job: &JobFolder,
    task: usize,
) -> Result<Executed, CommandError> {
    let description = job.description()?;
    let missing = || CommandError::Text(format!("job {} has no task {task}", job.number));
    let wanted = job.task(task)?.ok_or_else(missing)?;
    let sweep = job.inputs()?.load(&arguments.file, &arguments.options())?;
    let (runs, changed) = locate(&sweep, &wanted)?;
    for RunFailure { index, settings, why } in &changed {
        say(format_args!("run {index} ({settings}): {why}"));
    }
    let mut executed = Executed::default();
    if !runs.is_empty() {
        let interrupted = prepare(&runs)?;
        let folder = claim(arguments, &sweep, &runs, Claim::Task)?;
        if let Some(witness) = description.foreign_witness() {
            compare_with_witness(&sweep, witness, &folder, interrupted)?;
        }
        executed = run_share(arguments, &sweep, &runs, &folder, interrupted)?;
    }
    executed.failures.extend(changed);
    Ok(executed)
}

/// Finds a job's runs by their indices. Runs that differ now, because a file of their scenario was changed, are
/// returned as failures.
fn locate(sweep: &Sweep, wanted: &[TaskRun]) -> Result<(Vec<Run>, Vec<RunFailure>), CommandError> {
    let (mut runs, mut changed) = (Vec::new(), Vec::new());
    for TaskRun { index, run: name } in wanted {
        let index = *index;
        let (run, _) = sweep.run(index)?;
        if run.id.to_string() == *name {
            runs.push(run);
        } else {
            let settings = sweep.describe(&run.choices, run.seed);
            changed.push(RunFailure { index, settings, why: CHANGED.into() });
        }
    }
    Ok((runs, changed))
}

/// Checks that a task can run on this machine, and that it computes the same results as the submitting machine.
fn probe(arguments: &Arguments, job: &JobFolder) -> Result<Executed, CommandError> {
    let description = job.description()?;
    let sweep = job.inputs()?.load(&arguments.file, &arguments.options())?;
    let runs = [sweep.run(0)?.0];
    let interrupted = prepare(&runs)?;
    let folder = claim(arguments, &sweep, &runs, Claim::Task)?;
    if let Some(witness) = &description.witness {
        compare_with_witness(&sweep, witness, &folder, interrupted)?;
    }
    Ok(Executed::default())
}

/// Repeats a run of another machine, or of this one.
fn compare_with_witness(
    sweep: &Sweep,
    witness: &Witness,
    folder: &SweepFolder,
    interrupted: &AtomicBool,
) -> Result<(), CommandError> {
    let wanted = TaskRun { index: witness.index, run: witness.run.clone() };
    let (mut runs, _) = locate(sweep, &[wanted])?;
    let Some(run) = runs.pop() else {
        let text =
            format!("the run with which machines are compared is another one now: {CHANGED}");
        return Err(CommandError::Text(text));
    };
    let (_, scenario) = sweep.run(run.index)?;
    let differs = crate::repeat(&scenario, &folder.run_folder(&run.id), interrupted);
    match differs.map_err(|failure| CommandError::Text(failure.to_string()))? {
        None => Ok(()),
        Some(file) => {
            let own = Report::for_this_machine(None, Vec::new());
            Err(CommandError::Text(format!(
                "run {} gives another {file} on {} ({}) than on {} ({}): one of both computes wrong, or xoff does; run it \
                 on each with `xoff sweep --only {}` and compare",
                run.index, own.host, own.processor, witness.host, witness.processor, run.index
            )))
        }
    }
}

fn claim(
    arguments: &Arguments,
    sweep: &Sweep,
    runs: &[Run],
    claim: Claim,
) -> Result<SweepFolder, CommandError> {
    let format = runs.first().map(|run| run.format).unwrap_or_default();
    Ok(SweepFolder::claim(&out(arguments), sweep.text(), format, claim)?)
}

/// Returns the exit status of a part.
fn exit(executed: &Executed) -> Exit {
    let Executed { ended, failures, interrupted } = executed;
    let exit = match (interrupted, failures.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Success,
        (false, false) => Exit::Unsound,
    };
    let failed = failures.len();
    let ending = if *interrupted { "; interrupted" } else { "" };
    let text = format!("{ended} runs are done, {failed} failed{ending}");
    let failures: Vec<_> =
        failures.iter().map(|it| json!({ "index": it.index, "why": it.why })).collect();
    let json = json!({ "done": ended, "failures": failures, "interrupted": interrupted });
    answer(&text, &json, exit)
}

/// Executes runs, except complete ones.
fn run_share(
    arguments: &Arguments,
    sweep: &Sweep,
    runs: &[Run],
    folder: &SweepFolder,
    interrupted: &AtomicBool,
) -> Result<Executed, CommandError> {
    let waiting: Vec<&Run> = runs.iter().filter(|run| folder.result(&run.id).is_none()).collect();
    let earlier = runs.len() - waiting.len();
    let mut progress = SweepProgress::new(runs.len(), earlier);
    let jobs = arguments.jobs.map_or(1, NonZeroUsize::get);
    let executed =
        execution::run(sweep, &waiting, folder, jobs, interrupted, &mut progress, |_| {})?;
    progress.finish();
    Ok(Executed { ended: executed.ended + earlier, ..executed })
}
