//! `xoff reproduce --check`: compares xoff's numbers with the committed ones.

use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sweep::{Claim, Failure, News, Plan, Run, RunResult, SweepFolder};
use terminal::Complaint;

use super::super::json_errors::answers_in_json;
use super::super::sweep::{CommandError, named, no_thread, prepare};
use super::super::sweep_progress::SweepProgress;
use super::super::{Exit, answer, require_place, say};
use super::{Arguments, SMALL, out};
use crate::Figure;
use crate::check::{self, Repeated};

/// Folder of the repeated runs in the results' folder.
const FOLDER: &str = "check";

/// Repeats a run of each figure and compares its numbers with the committed ones.
pub(super) fn compare(
    arguments: &Arguments,
    plans: &[(&'static Figure, Plan)],
) -> Result<Exit, CommandError> {
    let Some(found) = repeat(arguments, plans)? else { return Ok(Exit::Interrupted) };
    let mut text = String::new();
    let mut figures = Vec::new();
    let mut exit = Exit::Success;
    for repeated in &found {
        let differences = check::differences(arguments.paper, repeated);
        for difference in &differences {
            exit = Exit::Unsound;
            if !answers_in_json() {
                say(difference);
            }
        }
        let (name, count) = (&repeated.figure.name, repeated.rows.len());
        if differences.is_empty() {
            writeln!(text, "{name}: {count} numbers are as committed")
                .expect("a String takes every write");
        }
        let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
        figures.push(json!({ "name": name, "numbers": count, "differences": differences }));
    }
    Ok(answer(&text, &json!({ "figures": figures }), exit))
}

/// Repeats a run of each figure and writes its numbers to `file`. The file keeps its rows of other figures; a new file
/// gets the committed rows of other figures.
pub(super) fn write_file(
    arguments: &Arguments,
    plans: &[(&'static Figure, Plan)],
    file: &Path,
) -> Result<Exit, CommandError> {
    require_place(file)?;
    let failed = |action, error| {
        let title = format!("cannot {action} {}: {error}", file.display());
        CommandError::from(Complaint::new(title).with_help("name another file with --write-check"))
    };
    let before = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => arguments.paper.check.to_owned(),
        Err(error) => return Err(failed("read", error)),
    };
    if !check::is_file(&before) {
        let help = "it is not a file of --write-check, and stays: name another";
        return Err(CommandError::Text(format!("{}: {help}", file.display())));
    }
    let Some(found) = repeat(arguments, plans)? else { return Ok(Exit::Interrupted) };
    fs::write(file, check::file(arguments.paper, &before, &found))
        .map_err(|error| failed("write", error))?;
    let file = file.display().to_string();
    Ok(answer(&file, &json!({ "file": file }), Exit::Success))
}

/// Repeats a run of each figure and returns its numbers; `None` if the user interrupted it.
fn repeat(
    arguments: &Arguments,
    plans: &[(&'static Figure, Plan)],
) -> Result<Option<Vec<Repeated>>, CommandError> {
    let mut chosen: Vec<(&'static Figure, &Plan, &Run)> = Vec::new();
    for (figure, plan) in plans {
        let run = check::run_of(figure, plan);
        let run = run.expect("a test of the papers finds a run of each figure");
        chosen.push((figure, plan, run));
    }
    let interrupted = prepare(chosen.iter().map(|(_, _, run)| *run))?;
    let mut found = Vec::new();
    for (figure, plan, run) in chosen {
        let folder = out(arguments).join(FOLDER).join(&figure.name);
        let folder = SweepFolder::claim(&folder, plan.sweep.text(), plan.format(), Claim::Alone)?;
        let scale = if figure.has_small { format!(" scale={SMALL}") } else { String::new() };
        let what = plan.sweep.describe(&run.choices, run.seed) + &scale;
        say(format_args!("{}: {what}", figure.name));
        match repeat_run(plan, run, &folder, interrupted)? {
            Ok(result) => {
                let place = folder.run_folder(&run.id);
                found.push(check::repeated(figure, &what, &result, &place));
            }
            Err(Failure::Interrupted) => return Ok(None),
            Err(Failure::Failed(why)) => return Err(CommandError::Text(named(run, &what, &why))),
        }
    }
    Ok(Some(found))
}

/// Executes a run even if the folder already has its results.
fn repeat_run(
    plan: &Plan,
    run: &Run,
    folder: &SweepFolder,
    interrupted: &AtomicBool,
) -> Result<Result<RunResult, Failure>, CommandError> {
    let mut ended = Err(Failure::Interrupted);
    let mut progress = SweepProgress::for_lines(1);
    let what = plan.sweep.describe(&run.choices, run.seed);
    sweep::execute(&plan.sweep, &[run], folder, 1, interrupted, |run, news| match news {
        News::UnderWay { progress: so_far, duration } => {
            progress.under_way(run.index, duration, so_far, |line| named(run, &what, line));
        }
        News::Ended(result) => ended = result,
    })
    .map_err(|error| no_thread(&error))?;
    Ok(ended)
}
