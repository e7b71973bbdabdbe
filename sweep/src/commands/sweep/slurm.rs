//! `xoff sweep --on slurm`.
//!
//! Follows the job of the sweep, submits one, or writes the tables if all runs are complete.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::absolute;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use results::{Manifest, counted, span};
use serde_json::json;
use units::Nanos;

use super::super::{Exit, answer, print_document, say, warn};
use super::cluster_arguments::{ClusterArguments, Memory};
use super::follow::{self, Followed};
use super::{Arguments, CommandError, Completed, load, measure, out, report};
use crate::cluster::slurm::{self, Call, Request};
use crate::cluster::{self, Description, Inputs, JobFolder, Limits, Submitted, Witness};
use crate::{Claim, Plan, Run, Survey, SweepFolder, result_in};

/// Max duration of a submission by another process, with its measurement, in polls of its folder.
const LOOKS: u32 = 150;
const LOOK_PERIOD: Duration = Duration::from_millis(500);

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Result<Exit, CommandError> {
    refuse_options(&arguments.cluster)?;
    let plan = load(arguments)?;
    if arguments.cluster.dry_run {
        return dry_run(arguments, &plan);
    }
    // Checked before anything else: without Slurm nothing is begun.
    let capacity = slurm::capacity(arguments.cluster.partition.as_deref())?;
    let interrupted = super::super::prepare(false).map_err(CommandError::Text)?;
    let folder =
        SweepFolder::claim(&out(arguments), plan.sweep.text(), plan.format(), Claim::Everyone)?;
    let on_slurm = OnSlurm { arguments, plan: &plan, folder: &folder, interrupted };
    loop {
        let latest = JobFolder::latest(&crate::jobs(&out(arguments)))?;
        if let Some(job) = &latest
            && let Some(submitted) = await_submission(job, interrupted)?
        {
            if slurm::states(&submitted)?.iter().any(|it| it.state.is_active()) {
                return on_slurm.join(job, submitted);
            }
            for failure in follow::failures(&plan, &out(arguments), job, &submitted)? {
                warn(failure.about(&format!("job {}", job.number)));
            }
        }
        let completed = Completed::new(&plan, &folder)?;
        if completed.survey.done() == plan.runs.len() {
            return Ok(report(&plan, &completed));
        }
        slurm::check(&request(arguments))?;
        // If another process is faster, its job is the latest one then.
        let Some(job) = JobFolder::claim(&crate::jobs(&out(arguments)), latest.as_ref())? else {
            continue;
        };
        let submission = Submission { on_slurm: &on_slurm, job: &job, capacity };
        return match submission.submit(&completed.survey) {
            Ok(Outcome::Submitted(submitted)) => on_slurm.attend(&job, submitted),
            other => {
                // A job folder that cannot be removed counts as a submission that died.
                let _ = job.discard();
                match other? {
                    Outcome::Complete => Ok(report(&plan, &Completed::new(&plan, &folder)?)),
                    _ => Ok(Exit::Interrupted),
                }
            }
        };
    }
}

/// A sweep whose runs are executed on Slurm.
struct OnSlurm<'a> {
    arguments: &'a Arguments,
    plan: &'a Plan,
    folder: &'a SweepFolder,
    interrupted: &'a AtomicBool,
}

impl OnSlurm<'_> {
    /// Follows a job that an earlier call submitted.
    fn join(&self, job: &JobFolder, submitted: Submitted) -> Result<Exit, CommandError> {
        let (Submitted { probe, array }, number) = (submitted, job.number);
        say(format_args!(
            "job {number} is under way as it was submitted; to change its options, `scancel {probe} {array}` first"
        ));
        if let Some(why) = job.submitter()?.refusal() {
            warn(format!("job {number}: {why}"));
            return self.attend(job, submitted);
        }
        let given = self.arguments.cluster.given();
        for line in without_effect(&given, &job.description()?.options) {
            warn(format!("{line}: job {number} keeps the options of its submission"));
        }
        self.warn_of_other_runs(job)?;
        self.attend(job, submitted)
    }

    /// Warns about runs that differ between the sweep and a job: the sweep file, the scenario or the options may have
    /// changed since the submission.
    fn warn_of_other_runs(&self, job: &JobFolder) -> Result<(), CommandError> {
        let of_job: BTreeSet<String> = job.all_runs()?.into_iter().map(|it| it.run).collect();
        let of_sweep: BTreeSet<String> =
            self.plan.runs.iter().map(|it| it.id.to_string()).collect();
        let gone = of_job.difference(&of_sweep).count();
        if gone > 0 {
            warn(format!(
                "job {} has {} that the sweep does not have any more; they run, and are in no table",
                job.number,
                counted(gone as u64, "run")
            ));
        }
        let waits = |run: &&Run| {
            !of_job.contains(&run.id.to_string()) && self.folder.result(&run.id).is_none()
        };
        let new = self.plan.runs.iter().filter(waits).count();
        if new > 0 {
            warn(format!(
                "{} of the sweep {} not in job {}; when it has ended, the same command submits {}",
                counted(new as u64, "run"),
                if new == 1 { "is" } else { "are" },
                job.number,
                if new == 1 { "it" } else { "them" }
            ));
        }
        Ok(())
    }

    /// Follows a job unless `--detach` is given.
    fn attend(&self, job: &JobFolder, submitted: Submitted) -> Result<Exit, CommandError> {
        let &Self { arguments, plan, folder, interrupted } = self;
        let Submitted { probe, array } = submitted;
        if arguments.cluster.detach {
            let text = format!(
                "job {} is Slurm's job {array}, with the probe {probe}; the same command follows it and makes the tables, \
                 `scancel {probe} {array}` stops it",
                job.number
            );
            let json = json!({ "job": job.number, "slurm": { "probe": probe, "array": array } });
            return Ok(answer(&text, &json, Exit::Success));
        }
        match follow::follow(plan, folder, &out(arguments), job, &submitted, interrupted)? {
            Followed::Left => {
                say(format_args!(
                    "job {} goes on as Slurm's job {array}; the same command follows it again, `scancel {probe} {array}` stops it",
                    job.number
                ));
                Ok(Exit::Interrupted)
            }
            Followed::Unable(why) => {
                // Slurm itself takes seconds to notice that the array waits in vain.
                slurm::cancel(&[probe, array])?;
                Err(why.into())
            }
            Followed::Ended => {
                let failures = follow::failures(plan, &out(arguments), job, &submitted)?;
                Ok(report(plan, &Completed { failures, ..Completed::new(plan, folder)? }))
            }
        }
    }
}

/// Formats the length of the longest task. The length is a lower bound if measured runs (`cut`) did not end.
fn length(longest: Duration, cut: usize) -> String {
    let about = span(Nanos(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX)));
    if cut == 0 {
        return format!("at most about {about}");
    }
    format!("{about} or more: {} did not end during the measurement", counted(cut as u64, "run"))
}

/// Returns a clause for each option of a call that a job was submitted without, or with another value.
fn without_effect(
    given: &BTreeMap<String, String>,
    submitted: &BTreeMap<String, String>,
) -> Vec<String> {
    let differs = |(option, value): (&String, &String)| {
        let was = submitted.get(option);
        // An omitted option has this value.
        let is_default = was.is_none() && option == "--cpus" && value == "1";
        (was != Some(value) && !is_default).then(|| {
            let was = was
                .map_or_else(|| format!("without {option}"), |was| format!("with {option} {was}"));
            format!("{option} {value} has no effect, because the job was submitted {was}")
        })
    };
    given.iter().filter_map(differs).collect()
}

/// Returns the numbers of a job that another process may be submitting. If that process has died, Slurm may know the
/// numbers. `None` if the job was not submitted.
fn await_submission(
    job: &JobFolder,
    interrupted: &AtomicBool,
) -> Result<Option<Submitted>, CommandError> {
    for look in 0..LOOKS {
        if let Some(submitted) = job.submitted()? {
            return Ok(Some(submitted));
        }
        if !job.is_being_submitted() || interrupted.load(Ordering::Relaxed) {
            break;
        }
        if look == 0 {
            say(format_args!("waiting for another process to submit job {}", job.number));
        }
        thread::sleep(LOOK_PERIOD);
    }
    let found = slurm::find(job)?;
    if let Some(submitted) = &found {
        job.set_submitted(submitted)?;
    }
    Ok(found)
}

/// Refuses sbatch options that conflict with xoff's own. sbatch accepts prefixes of long options, and values directly
/// after short ones.
fn refuse_options(cluster: &ClusterArguments) -> Result<(), CommandError> {
    let long = ["--array", "--dependency", "--wrap", "--wait", "--clusters"];
    let short = ["-a", "-d", "-W", "-M"];
    for option in &cluster.scheduler_options {
        let name = option.split('=').next().unwrap_or_default();
        // `--wait-all-nodes` is a different option.
        let is_long = name.len() >= 4 && long.iter().any(|it| it.starts_with(name));
        if is_long || short.iter().any(|it| option.starts_with(it)) {
            let text = format!(
                "{option} cannot be given to sbatch here: xoff sets it itself, or could not follow the job"
            );
            return Err(CommandError::Text(text));
        }
    }
    Ok(())
}

struct Submission<'a> {
    on_slurm: &'a OnSlurm<'a>,
    job: &'a JobFolder,
    capacity: slurm::Capacity,
}

/// Outcome of a submission.
enum Outcome {
    Submitted(Submitted),
    /// All runs are complete: the measurement executed all that were left.
    Complete,
    /// The user interrupted the measurement before the submission.
    Interrupted,
}

impl Submission<'_> {
    /// Submits runs that are not complete.
    fn submit(&self, survey: &Survey) -> Result<Outcome, CommandError> {
        let &Self { on_slurm, job, capacity } = self;
        let &OnSlurm { arguments, plan, folder, interrupted } = on_slurm;
        let measured = measure::measure(plan, survey, folder, interrupted)?;
        if interrupted.load(Ordering::Relaxed) {
            say("interrupted; nothing was submitted");
            return Ok(Outcome::Interrupted);
        }
        let survey = Survey::new(plan, &|run| folder.result(&run.id));
        let waiting: Vec<&Run> = plan.runs.iter().filter(|run| !survey.is_done(run)).collect();
        if waiting.is_empty() {
            return Ok(Outcome::Complete);
        }
        let (tasks, longest) = deal(arguments, plan, &waiting, &measured.walls, capacity);
        let witness = plan.runs.iter().filter(|run| survey.is_done(run));
        let witness = witness.min_by_key(|run| survey.walls[run.index]);
        let witness = witness.and_then(|run| {
            let Manifest { host, processor, .. } = Manifest::from_run(&folder.run_folder(&run.id))?;
            Some(Witness { index: run.index, run: run.id.to_string(), host, processor })
        });
        let options = arguments.cluster.given();
        let description = Description::for_this_process(waiting.len(), witness, options);
        job.describe(&description, &Inputs::new(&plan.sweep), &tasks)?;
        let submitted = slurm::submit(job, &call(arguments)?, &request(arguments), tasks.len())?;
        if let Err(error) = job.set_submitted(&submitted) {
            slurm::cancel(&[submitted.probe, submitted.array])?;
            return Err(error.into());
        }
        self.announce(waiting.len(), tasks.len(), longest, measured.cut);
        Ok(Outcome::Submitted(submitted))
    }

    fn announce(&self, runs: usize, tasks: usize, longest: Duration, cut: usize) {
        let (number, length) = (self.job.number, length(longest, cut));
        let (runs, tasks) = (counted(runs as u64, "run"), counted(tasks as u64, "task"));
        say(format_args!("submitted job {number}: {runs} in {tasks} of {length}"));
        let limit = self.on_slurm.arguments.cluster.time.as_ref().and_then(|time| time.limit);
        if limit.is_some_and(|limit| longest > limit) {
            warn(
                "tasks take longer than --time allows; what they complete until then counts, and the same command submits the rest",
            );
        }
    }
}

fn deal<'a>(
    arguments: &Arguments,
    plan: &Plan,
    waiting: &[&'a Run],
    walls: &[Option<Duration>],
    capacity: slurm::Capacity,
) -> (Vec<Vec<&'a Run>>, Duration) {
    let cpus = arguments.cluster.cpus();
    let limits = Limits {
        runs_at_once: cpus,
        tasks: arguments
            .cluster
            .tasks
            .map_or(capacity.tasks, |most| most.get().min(capacity.tasks)),
        tasks_at_once: capacity.processors.map(|processors| processors / cpus),
        time: arguments.cluster.time.as_ref().and_then(|time| time.limit),
    };
    let times = cluster::estimate(plan, waiting, walls);
    let (tasks, longest) = cluster::deal(&times, &limits);
    let runs = |places: Vec<usize>| places.into_iter().map(|place| waiting[place]).collect();
    (tasks.into_iter().map(runs).collect(), longest)
}

fn request(arguments: &Arguments) -> Request {
    let cluster = &arguments.cluster;
    let name = arguments.file.file_stem().unwrap_or_default().to_string_lossy();
    Request {
        name: format!("xoff-{name}"),
        partition: cluster.partition.clone(),
        time: cluster.time.as_ref().map(|time| time.text.clone()),
        cpus: cluster.cpus(),
        memory: cluster.memory.as_ref().map(Memory::for_slurm),
        options: cluster.scheduler_options.clone(),
    }
}

/// Returns the command line of tasks. Paths are absolute, and a task starts in the folder of this call.
fn call(arguments: &Arguments) -> Result<Call, CommandError> {
    let failed =
        |error: std::io::Error| CommandError::Text(format!("this process has no paths: {error}"));
    let (file, out) =
        (absolute(&arguments.file).map_err(failed)?, absolute(out(arguments)).map_err(failed)?);
    let mut words = Vec::new();
    for path in [&file, &out] {
        let text = path.to_str().filter(|text| !text.contains('\n'));
        let error = || {
            CommandError::Text(format!(
                "{} cannot be written in a script: rename it",
                path.display()
            ))
        };
        words.push(text.ok_or_else(error)?);
    }
    let mut arguments_of_tasks = arguments.words(words[0], words[1]);
    arguments_of_tasks.push(format!("--jobs={}", arguments.cluster.cpus()));
    Ok(Call {
        executable: env::current_exe().map_err(failed)?,
        arguments: arguments_of_tasks,
        folder: env::current_dir().map_err(failed)?,
    })
}

fn dry_run(arguments: &Arguments, plan: &Plan) -> Result<Exit, CommandError> {
    let out = absolute(out(arguments)).unwrap_or_else(|_| out(arguments));
    let survey = Survey::new(plan, &|run| result_in(&out, &run.id));
    let waiting: Vec<&Run> = plan.runs.iter().filter(|run| !survey.is_done(run)).collect();
    let capacity = slurm::capacity(arguments.cluster.partition.as_deref())?;
    let jobs = crate::jobs(&out);
    let latest = JobFolder::latest(&jobs)?;
    if let Some(job) = &latest
        && let Some(submitted) = job.submitted()?
        && slurm::states(&submitted)?.iter().any(|it| it.state.is_active())
    {
        say(format_args!(
            "job {} is under way: without --dry-run, the call follows it and submits nothing",
            job.number
        ));
    }
    if waiting.is_empty() {
        say("all runs are complete: nothing is left to submit, and the call makes the tables");
        return Ok(Exit::Success);
    }
    let (tasks, _) = deal(arguments, plan, &waiting, &survey.walls, capacity);
    let number = latest.map_or(1, |job| job.number + 1);
    slurm::check(&request(arguments))?;
    let job = JobFolder::new(&jobs, number);
    let scripts = slurm::described(&call(arguments)?, &job, &request(arguments), tasks.len());
    if survey.done() == 0 {
        say(
            "no run is complete, so the number of tasks is that of runs of 1 s; a submission measures some first",
        );
    }
    Ok(print_document(&scripts, Exit::Success))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_lower_bound_if_measured_runs_did_not_end() {
        let length = |cut| length(Duration::from_mins(5), cut);
        assert_eq!(length(0), "at most about 300 s");
        assert_eq!(length(1), "300 s or more: 1 run did not end during the measurement");
    }

    #[test]
    fn options_that_a_job_does_not_have_are_named() {
        let options = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(option, value)| ((*option).to_owned(), (*value).to_owned()))
                .collect()
        };
        let submitted = options(&[("--time", "30"), ("--memory", "2G")]);
        let lines = |given: &[(&str, &str)]| without_effect(&options(given), &submitted);
        // Omitted options change nothing.
        assert_eq!(lines(&[("--time", "30"), ("--cpus", "1")]), Vec::<String>::new());
        assert_eq!(
            lines(&[("--tasks", "5"), ("--time", "60")]),
            [
                "--tasks 5 has no effect, because the job was submitted without --tasks",
                "--time 60 has no effect, because the job was submitted with --time 30",
            ]
        );
    }
}
