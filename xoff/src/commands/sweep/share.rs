//! A part of a sweep, of which other machines run other parts at the same time.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use results::counted;
use serde_json::json;

use super::super::sweep_progress::SweepProgress;
use super::super::{Exit, answer, say};
use super::cluster_arguments::Part;
use super::execution::{self, Executed};
use super::{Arguments, CommandError, load, out, prepare};
use crate::cluster::{self, Description, JobFolder, Report, TaskRun, Witness};
use crate::sweep::{self, Claim, Run, Sweep, SweepFolder};

/// Runs part of a sweep.
pub fn part(arguments: &Arguments, part: Part) -> Result<Exit, CommandError> {
    if let Some(wanted) = &arguments.cluster.build {
        let own = Description::of_this_process(0, None).version_and_build();
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
    let folder = claim(arguments, &sweep, &runs)?;
    let executed = run_share(arguments, &sweep, &runs, &folder, interrupted)?;
    Ok(exit(&executed))
}

/// Executes a task of a job.
pub fn task(arguments: &Arguments, job: u32, task: &str) -> Result<Exit, CommandError> {
    let job = JobFolder::new(&sweep::jobs(&out(arguments)), job);
    let description = job.description()?;
    job.forget_report(task);
    let done = match task.parse() {
        Ok(number) => execute_task(arguments, &job, &description, number),
        Err(_) => probe(arguments, &description),
    };
    let is_probe = task.parse::<usize>().is_err();
    let (error, failures) = match &done {
        Ok(executed) => (None, executed.failures.clone()),
        Err(error) => (Some(error.text()), Vec::new()),
    };
    if is_probe || error.is_some() || !failures.is_empty() {
        job.report(task, &Report::of_this_machine(error, failures))?;
    }
    done.map(|executed| exit(&executed))
}

fn execute_task(
    arguments: &Arguments,
    job: &JobFolder,
    description: &Description,
    task: usize,
) -> Result<Executed, CommandError> {
    refuse_another_build(description)?;
    let missing = || CommandError::Text(format!("job {} has no task {task}", job.number));
    let wanted = job.task(task)?.ok_or_else(missing)?;
    let sweep = Sweep::load(&arguments.file, &arguments.options())?;
    let runs = locate(arguments, &sweep, &wanted)?;
    let gone = wanted.len() - runs.len();
    if gone > 0 {
        say(format_args!(
            "{} of the task are not in the sweep any more: its file, the scenario or a file that it names was changed",
            counted(gone as u64, "run")
        ));
    }
    if runs.is_empty() {
        return Ok(Executed::default());
    }
    let interrupted = prepare(&runs)?;
    let folder = claim(arguments, &sweep, &runs)?;
    if let Some(witness) = description.foreign_witness() {
        compare_with_witness(arguments, &sweep, witness, &folder, interrupted)?;
    }
    run_share(arguments, &sweep, &runs, &folder, interrupted)
}

/// The runs of these names, as far as the sweep has them. Where the sweep file was changed they may have other indices.
fn locate(
    arguments: &Arguments,
    sweep: &Sweep,
    wanted: &[TaskRun],
) -> Result<Vec<Run>, CommandError> {
    let mut runs = Vec::new();
    let mut moved = Vec::new();
    for TaskRun { index, run: name } in wanted {
        let at_index = (*index < sweep.run_count()).then(|| sweep.run(*index)).transpose()?;
        match at_index {
            Some((run, _)) if run.id.to_string() == *name => runs.push(run),
            _ => moved.push(name.as_str()),
        }
    }
    if !moved.is_empty() {
        let all = load(arguments)?.runs;
        runs.extend(all.into_iter().filter(|run| moved.contains(&run.id.to_string().as_str())));
    }
    Ok(runs)
}

/// Checks that a task can do its work on this machine, and that its results are those of the machine that submits.
fn probe(arguments: &Arguments, description: &Description) -> Result<Executed, CommandError> {
    refuse_another_build(description)?;
    let sweep = Sweep::load(&arguments.file, &arguments.options())?;
    let runs = [sweep.run(0)?.0];
    let interrupted = prepare(&runs)?;
    let folder = claim(arguments, &sweep, &runs)?;
    if let Some(witness) = &description.witness {
        compare_with_witness(arguments, &sweep, witness, &folder, interrupted)?;
    }
    Ok(Executed::default())
}

fn refuse_another_build(description: &Description) -> Result<(), CommandError> {
    description.refusal().map_or(Ok(()), |why| Err(CommandError::Text(why)))
}

/// Repeats a run of another machine, perhaps of this one.
fn compare_with_witness(
    arguments: &Arguments,
    sweep: &Sweep,
    witness: &Witness,
    folder: &SweepFolder,
    interrupted: &AtomicBool,
) -> Result<(), CommandError> {
    let wanted = TaskRun { index: witness.index, run: witness.run.clone() };
    let Some(run) = locate(arguments, sweep, &[wanted])?.pop() else {
        let text = "the sweep has none of the runs any more with which machines are compared: its file, the scenario or a file \
                    that it names was changed since the job was submitted; cancel it and submit again";
        return Err(CommandError::Text(text.into()));
    };
    let (_, scenario) = sweep.run(run.index)?;
    let differs = sweep::repeat(&scenario, &folder.run_folder(&run.id), interrupted);
    match differs.map_err(|failure| CommandError::Text(failure.to_string()))? {
        None => Ok(()),
        Some(file) => {
            let own = Report::of_this_machine(None, Vec::new());
            Err(CommandError::Text(format!(
                "run {} gives another {file} on {} ({}) than on {} ({}): one of both computes wrong, or xoff does; run it \
                 on each with `xoff sweep --only {}` and compare",
                run.index, own.host, own.processor, witness.host, witness.processor, run.index
            )))
        }
    }
}

fn claim(arguments: &Arguments, sweep: &Sweep, runs: &[Run]) -> Result<SweepFolder, CommandError> {
    let format = runs.first().map(|run| run.format).unwrap_or_default();
    Ok(SweepFolder::claim(&out(arguments), sweep.text(), format, Claim::Everyone)?)
}

/// How a part ends.
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

/// Runs these runs, those that are complete excepted.
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
