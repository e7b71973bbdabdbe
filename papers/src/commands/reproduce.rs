//! `xoff reproduce`: runs a paper's figures and compares the results.

mod check;

use std::fmt::Write;
use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use results::{ResultsError, TableFormat};
use scenario::whole_number::at_least;
use serde_json::{Value, json};
use sweep::{Claim, Plan, Run, Sweep, SweepFolder, SweepOptions, result_in};

use super::Exit;
use super::sweep::{CommandError, prepare, run_waiting};
use crate::{Figure, Outcome, Paper, report};

/// Arguments of `xoff reproduce`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[arg(help = papers(), value_parser = paper)]
    paper: &'static Paper,
    /// Figures of the paper, such as fig14 fig17. Default: all.
    figures: Vec<String>,
    /// Runs the smaller version of figures that have one; the other figures are small anyway.
    #[arg(long, value_name = "NAME", value_parser = [SMALL])]
    scale: Option<String>,
    /// Uses seeds 1 to N instead of each figure's own seeds.
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroU32::MIN), allow_hyphen_values = true)]
    seeds: Option<NonZeroU32>,
    /// Max number of runs in parallel. Default: one per processor.
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroUsize::MIN), allow_hyphen_values = true)]
    jobs: Option<NonZeroUsize>,
    /// Folder for the results; made if it is missing. Runs that are complete there are not repeated. Default: the
    /// paper's name with `.reproduction`, in the current folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Prints the figures and how many runs of each are complete; runs nothing.
    #[arg(long, conflicts_with_all = ["jobs", "tables"])]
    list: bool,
    /// Writes the tables of complete runs; runs nothing.
    #[arg(long, conflicts_with = "jobs")]
    tables: bool,
    /// Repeats one run of each figure, of its smaller version if it has one, and compares its numbers with the numbers
    /// that ship with xoff. They are equal unless xoff computes something else; then the exit code is 1. The runs are
    /// left in `check` in the results' folder.
    #[arg(long, conflicts_with_all = ["scale", "seeds", "jobs", "list", "tables"])]
    check: bool,
    /// Repeats the runs of --check and writes their numbers to this file, normally `scenarios/PAPER/check.csv`. Figures
    /// that are not named keep their rows.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "scale", "seeds", "jobs", "list", "tables"])]
    write_check: Option<PathBuf>,
    /// Prints the Markdown tables of a folder of CSV tables: `tables` in the results' folder, or
    /// `docs/reproduction/PAPER` of xoff's sources. Runs nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scale", "seeds", "jobs", "out", "list", "tables", "check", "write_check"])]
    render: Option<PathBuf>,
    /// Draws an SVG picture of each figure from a folder of CSV tables, as for --render, into this folder. Runs nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scale", "seeds", "jobs", "out", "list", "tables", "check", "write_check", "render"])]
    draw: Option<PathBuf>,
}

/// Name of the scale of smaller versions.
const SMALL: &str = "small";

/// Name of the folder of tables in the results' folder, which are committed as they are.
const TABLES: &str = "tables";

/// Name of the report in the results' folder.
const REPORT: &str = "report.md";

impl Arguments {
    fn scale(&self) -> Option<&str> {
        let small = self.check || self.write_check.is_some();
        if small { Some(SMALL) } else { self.scale.as_deref() }
    }
}

fn paper(name: &str) -> Result<&'static Paper, String> {
    let names = || crate::names().join(", ");
    Paper::named(name).ok_or_else(|| format!("no paper is called that; there is {}", names()))
}

/// Returns the help on the paper, with the names of all.
fn papers() -> String {
    let names: Vec<String> = crate::names().iter().map(|name| format!("\"{name}\"")).collect();
    match &names[..] {
        [all @ .., last] if !all.is_empty() => format!("The paper: {} or {last}", all.join(", ")),
        _ => format!("The paper: {}", names.concat()),
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let exit = figures(arguments).and_then(|figures| {
        if let Some(folder) = &arguments.render {
            return render(arguments.paper, &figures, folder);
        }
        if let Some(folder) = &arguments.draw {
            return draw(&figures, folder);
        }
        let plans = plans(arguments, figures)?;
        match arguments {
            Arguments { list: true, .. } => Ok(list(arguments, &plans)),
            Arguments { check: true, .. } => check::compare(arguments, &plans),
            Arguments { write_check: Some(file), .. } => check::write_file(arguments, &plans, file),
            _ => reproduce(arguments, &plans),
        }
    });
    exit.unwrap_or_else(|fault| fault.complain())
}

/// Returns the selected figures, each once and in the paper's order.
fn figures(arguments: &Arguments) -> Result<Vec<&'static Figure>, CommandError> {
    let paper = arguments.paper;
    let asked = |name: &String| {
        paper.figure(name).map(|figure| &*figure.name).ok_or_else(|| {
            let names: Vec<&str> = paper.figures.iter().flat_map(Figure::names).collect();
            CommandError::Text(format!("there is no {name}; there are {}", names.join(", ")))
        })
    };
    let asked: Vec<&str> = arguments.figures.iter().map(asked).collect::<Result<_, _>>()?;
    let wanted = |figure: &&Figure| asked.is_empty() || asked.contains(&&*figure.name);
    Ok(paper.figures.iter().filter(wanted).collect())
}

/// Returns figures with their checked runs.
fn plans(
    arguments: &Arguments,
    figures: Vec<&'static Figure>,
) -> Result<Vec<(&'static Figure, Plan)>, CommandError> {
    let paper = arguments.paper;
    let planned = |figure: &'static Figure| {
        let scale = arguments.scale().map(str::to_owned).filter(|_| figure.has_small);
        let options =
            SweepOptions { scale, seeds: arguments.seeds, format: Some(TableFormat::Csv) };
        let path = format!("scenarios/{}/{}.toml", paper.name, figure.name);
        let read = |path: &Path| paper.read(path);
        let plan = Sweep::read(Path::new(&path), &options, &read).and_then(Plan::new)?;
        Ok((figure, plan))
    };
    figures.into_iter().map(planned).collect()
}

fn list(arguments: &Arguments, plans: &[(&'static Figure, Plan)]) -> Exit {
    let out = out(arguments);
    let mut text = String::new();
    let mut figures = Vec::new();
    for (figure, plan) in plans {
        let folder = out.join(&figure.name);
        let complete = |run: &&Run| result_in(&folder, &run.id);
        let (done, all) =
            (plan.runs.iter().filter(|run| complete(run).is_some()).count(), plan.runs.len());
        let Figure { name, title, .. } = figure;
        writeln!(text, "{name}\t{done} of {all} runs\t{title}")
            .expect("a String takes every write");
        figures.push(json!({ "name": name, "title": title, "done": done, "runs": all }));
    }
    super::answer(&text, &json!({ "figures": figures }), Exit::Success)
}

fn reproduce(
    arguments: &Arguments,
    plans: &[(&'static Figure, Plan)],
) -> Result<Exit, CommandError> {
    let interrupted = prepare(plans.iter().flat_map(|(_, plan)| &plan.runs))?;
    let out = out(arguments);
    if arguments.tables && !out.is_dir() {
        let text = format!("{} is no folder of a reproduction", out.display());
        return Err(CommandError::Text(text));
    }
    let Arguments { paper, seeds, .. } = *arguments;
    let call = report::Call { paper, scale: arguments.scale(), seeds };
    let figures: Vec<&'static Figure> = plans.iter().map(|(figure, _)| *figure).collect();
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut text = String::new();
    let mut exit = Exit::Success;
    for (figure, plan) in plans {
        let (outcome, stopped) = one_figure(arguments, figure, plan, &out, interrupted)?;
        write(&out.join(format!("{}.csv", figure.name)), &report::csv(&outcome))?;
        if outcome.runs.0 > 0 && call.scale_of(figure).is_none() {
            write_tables(&out.join(TABLES), &outcome)?;
        }
        if outcome.runs.0 < outcome.runs.1 && exit == Exit::Success {
            exit = Exit::Unsound;
        }
        outcomes.push(outcome);
        text = report::markdown(&call, &figures, &outcomes);
        write(&out.join(REPORT), &text)?;
        if stopped {
            super::say(format_args!("interrupted in {}; the same command goes on", figure.name));
            return Ok(Exit::Interrupted);
        }
    }
    let figure = |outcome: &Outcome| {
        let name = &outcome.figure.name;
        let table = out.join(format!("{name}.csv")).display().to_string();
        json!({ "name": name, "table": table, "done": outcome.runs.0, "runs": outcome.runs.1 })
    };
    let figures: Vec<Value> = outcomes.iter().map(figure).collect();
    let report = out.join(REPORT).display().to_string();
    Ok(super::answer(&text, &json!({ "report": report, "figures": figures }), exit))
}

/// Writes the tables of a figure at full size in the form of the documents.
fn write_tables(folder: &Path, outcome: &Outcome) -> Result<(), ResultsError> {
    let failed = |source| ResultsError::Write { path: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    report::tables(outcome).iter().try_for_each(|(name, text)| write(&folder.join(name), text))
}

/// Prints the tables of a folder.
fn render(
    paper: &'static Paper,
    figures: &[&'static Figure],
    folder: &Path,
) -> Result<Exit, CommandError> {
    let call = report::Call { paper, scale: None, seeds: None };
    let text = report::rendered(&call, figures, folder)
        .map_err(|error| CommandError::Text(error.to_string()))?;
    if text.is_empty() {
        return Err(missing(figures, folder));
    }
    Ok(super::answer(&text, &json!({ "markdown": text }), Exit::Success))
}

/// Draws the pictures of a folder of tables.
fn draw(figures: &[&'static Figure], folder: &Path) -> Result<Exit, CommandError> {
    let mut drawn = Vec::new();
    for figure in figures {
        let picture = crate::draw(figure, folder).map_err(CommandError::Text)?;
        if let Some(picture) = picture {
            let file = folder.join(format!("{}.svg", figure.name));
            write(&file, &picture)?;
            drawn.push(file.display().to_string());
        }
    }
    if drawn.is_empty() {
        return Err(missing(figures, folder));
    }
    let text = drawn.join("\n") + "\n";
    Ok(super::answer(&text, &json!({ "pictures": drawn }), Exit::Success))
}

/// Returns the error of a folder without tables of the figures.
fn missing(figures: &[&'static Figure], folder: &Path) -> CommandError {
    let names: Vec<&str> = figures.iter().map(|figure| &*figure.name).collect();
    CommandError::Text(format!("{} has no table of {}", folder.display(), names.join(", ")))
}

/// Runs a figure. Returns its outcome, and true if the user interrupted it.
fn one_figure(
    arguments: &Arguments,
    figure: &'static Figure,
    plan: &Plan,
    out: &Path,
    interrupted: &AtomicBool,
) -> Result<(Outcome, bool), CommandError> {
    let folder = SweepFolder::claim(
        &out.join(&figure.name),
        plan.sweep.text(),
        plan.format(),
        Claim::Alone,
    )?;
    let mut stopped = false;
    if !arguments.tables {
        super::say(format_args!("{}: {}", figure.name, figure.title));
        stopped = run_waiting(plan, &folder, arguments.jobs, interrupted)?.interrupted;
    }
    let results: Vec<_> = plan.runs.iter().map(|run| folder.result(&run.id)).collect();
    Ok((Outcome::new(figure, plan, &results, &folder), stopped))
}

fn write(path: &Path, text: &str) -> Result<(), ResultsError> {
    fs::write(path, text).map_err(|source| ResultsError::Write { path: path.to_owned(), source })
}

fn out(arguments: &Arguments) -> PathBuf {
    let default = || format!("{}.reproduction", arguments.paper.name).into();
    arguments.out.clone().unwrap_or_else(default)
}
