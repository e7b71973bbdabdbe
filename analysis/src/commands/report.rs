//! `xoff report`: an HTML report of runs and sweeps.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use sweep::replace::replace;
use terminal::Complaint;

use super::Exit;
use crate::compare::{ComparisonArguments, Pair, compare};
use crate::report;

/// Arguments of `xoff report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff run scenario.toml --out run && xoff report run
  xoff report dt dsh --out compared.html --figures figures
  xoff report before after --compare")]
pub struct Arguments {
    /// Folders of runs (`xoff run --out`), of sweeps, and of reproductions, whose figures are sweeps. Several runs are
    /// compared side by side.
    #[arg(value_name = "RESULTS", required = true)]
    folders: Vec<PathBuf>,
    /// HTML file to write, outside the results; an earlier report there is replaced.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Also writes each chart as an SVG file to this folder, made if it is missing. Files of the same names are
    /// replaced, others stay.
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// Adds the differences of two runs, or of a run and a simulator's `fct.txt`, as `xoff compare` finds them.
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    options: ComparisonArguments,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    match write(arguments) {
        Ok(pictures) => {
            let out = arguments.out.display().to_string();
            let mut text = format!("{out}: {}", results::counted(pictures.len() as u64, "picture"));
            if let Some(folder) = &arguments.figures {
                text = format!("{text}, also in {}", folder.display());
            }
            let folder = arguments.figures.as_ref().map(|folder| folder.display().to_string());
            let json = json!({ "report": out, "figures": folder, "pictures": pictures });
            super::answer(&text, &json, Exit::Success)
        }
        Err(error) => super::refuse(error),
    }
}

/// Writes the report, and returns the names of its charts.
fn write(arguments: &Arguments) -> Result<Vec<String>, Complaint> {
    let Arguments { folders, out, figures, .. } = arguments;
    super::require_place(out)?;
    if !report::may_replace(out) {
        let out = out.display();
        return Err(format!("{out} is not a report of xoff: name another file with --out").into());
    }
    let comparison = match &folders[..] {
        _ if !arguments.compare && arguments.options.is_empty() => None,
        _ if !arguments.compare => {
            return Err("--tolerance and --only are for --compare: give that, too".into());
        }
        [a, b] => Some(
            compare(Pair { a, b }, &arguments.options.options()?)
                .map_err(super::compare::complaint)?,
        ),
        _ => return Err("--compare is for two runs: name two folders".into()),
    };
    // A simulator's files are compared, but are no results with charts.
    let is_file = |path: &PathBuf| {
        let mut sides = comparison.iter().flat_map(|it| [&it.sides.a, &it.sides.b]);
        sides.any(|side| side.build.is_none() && side.path == path.display().to_string())
    };
    let folders: Vec<PathBuf> = folders.iter().filter(|path| !is_file(path)).cloned().collect();
    let folders = &folders;
    let report = report::build(folders, comparison.as_ref()).map_err(|error| error.to_string())?;
    for path in [Some(out), figures.as_ref()].into_iter().flatten() {
        if crate::report::is_in(path, folders) {
            let path = path.display();
            let why = "the next run into it would refuse what is not its own: name another place";
            return Err(format!("{path} lies in a folder of results, and {why}").into());
        }
    }
    if let Some(folder) = figures {
        let failed = |path: &Path, error| format!("cannot write {}: {error}", path.display());
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        for (name, svg) in &report.figures {
            let path = folder.join(format!("{name}.svg"));
            replace(&path, svg).map_err(|error| failed(&path, error))?;
        }
    }
    replace(out, &report.html)
        .map_err(|error| format!("cannot write {}: {error}", out.display()))?;
    Ok(report.figures.into_iter().map(|(name, _)| name).collect())
}
