//! `xoff sweep --status`.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::{Exit, answer};
use super::{Arguments, CommandError, existing_out, follow, load};
use crate::cluster::JobFolder;
use crate::cluster::slurm::{self, State, TaskState};
use terminal::Complaint;

use crate::{Survey, count_appeared, result_in};

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Result<Exit, CommandError> {
    let plan = load(arguments)?;
    let out = existing_out(arguments)?;
    let survey = Survey::new(&plan, &|run| result_in(&out, &run.id));
    let (all, done) = (plan.runs.len(), survey.done());
    let others = count_appeared(&out).saturating_sub(done);
    let mut text = format!("{done} of {all} runs are done\n");
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        writeln!(text, "{arguments}").expect("a String takes every write");
    };
    for (count, what) in [
        (survey.incomplete, "were cut by their duration"),
        (survey.deadlock, "stopped at a deadlock"),
    ] {
        if count > 0 {
            line(format_args!("{count} of them {what}"));
        }
    }
    if let Some(mixture) = survey.mixture() {
        line(format_args!("{mixture}"));
    }
    if others > 0 {
        line(format_args!("{}", super::not_of_this_sweep(others)));
    }
    let mut of_job = Value::Null;
    if let Some(job) = JobFolder::latest(&crate::jobs(&out))?
        && let Some(submitted) = job.submitted()?
    {
        let states = slurm::states(&submitted);
        let failures = follow::failures(&plan, &out, &job, &submitted)?;
        let said = match &states {
            Ok(states) if states.is_empty() => "Slurm does not know it any more".to_owned(),
            Ok(states) => follow::summary(states),
            Err(error) => error.to_string(),
        };
        line(format_args!("job {}, Slurm's job {}: {said}", job.number, submitted.array));
        for failure in &failures {
            line(format_args!("{}", failure.text()));
        }
        let count = |states: &[TaskState], state: State| {
            states.iter().filter(|it| it.task.is_some() && it.state == state).count()
        };
        // Without an answer, or if Slurm has forgotten the job, there are no counts.
        let counted = states.as_ref().ok().filter(|states| !states.is_empty()).map(|states| {
            json!({
                "waiting": count(states, State::Waiting),
                "running": count(states, State::Running),
                "completed": count(states, State::Completed),
                "failed": count(states, State::Failed),
            })
        });
        of_job = json!({
            "number": job.number,
            "slurm": { "probe": submitted.probe, "array": submitted.array },
            "tasks": counted,
            "error": states.as_ref().err().map(ToString::to_string),
            "failures": failures.iter().map(Complaint::text).collect::<Vec<_>>(),
        });
    }
    let json = json!({
        "runs": all,
        "done": done,
        "incomplete": survey.incomplete,
        "deadlock": survey.deadlock,
        "doubts": survey.doubts.len(),
        "not_of_this_sweep": others,
        "processors": survey.processors,
        "job": of_job,
    });
    Ok(answer(&text, &json, Exit::Success))
}
