//! A report to look at: one HTML file about runs and sweeps, that needs nothing else.
//!
//! `run` and `sweep` read what is shown, `selection` says which charts there are, `chart` and `timeline` draw, and
//! `page` is the document.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "what a picture shows may be off by less than a dot"
)]

mod chart;
mod drops;
mod number;
mod page;
mod run;
mod selection;
mod sweep;
pub mod table;
mod timeline;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use ::sweep::CELLS_TABLE;
use results::{Summary, TableError, table_path};
use run::Run;
use sweep::Sweep;

/// What is wrong with results that a report is asked for.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A folder that no run or sweep has written, or not to its end.
    #[error(
        "{} holds no results: {source}; name a folder that `xoff run --out`, `xoff sweep` or `xoff reproduce` has written",
        folder.display()
    )]
    NoResults {
        /// The folder.
        folder: PathBuf,
        /// What reading it met.
        source: io::Error,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A summary of another version, or of something else.
    #[error("{} is not a summary of this version: {source}; run the scenario again", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A table that cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table of another version, or of something else.
    #[error("{} has no column {column:?}; run the scenario again with this version", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
    },
    /// A field that is not a number.
    #[error("{} {place}: {text:?} is not a number ({column})", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The line or row, from 1 on.
        place: String,
        /// The column.
        column: &'static str,
        /// What is there.
        text: String,
    },
}

/// A report.
pub struct Report {
    /// The HTML document.
    pub html: String,
    /// Every picture in it: its name and its SVG.
    pub figures: Vec<(String, String)>,
}

/// Reads runs and sweeps and makes their report. Folders are told apart by their names, or by their paths where two have
/// the same.
pub fn of(folders: &[PathBuf]) -> Result<Report, ReportError> {
    let (mut runs, mut sweeps) = (Vec::new(), Vec::new());
    let folders = &with_figures(folders);
    for folder in folders {
        let name = name(folder, folders);
        if table_path(folder, CELLS_TABLE).exists() {
            sweeps.push(Sweep::read(folder, name)?);
        } else {
            runs.push(Run::read(folder, name)?);
        }
    }
    Ok(page::report(&runs, &sweeps))
}

/// The folders; in place of one of `xoff reproduce` those of its figures, by name.
fn with_figures(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in folders {
        let is_sweep = |folder: &Path| table_path(folder, CELLS_TABLE).exists();
        let mut figures: Vec<PathBuf> = match std::fs::read_dir(folder) {
            Ok(entries) if !is_sweep(folder) && !folder.join(Summary::FILE).exists() => entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| is_sweep(path))
                .collect(),
            _ => Vec::new(),
        };
        figures.sort();
        if figures.is_empty() {
            figures.push(folder.clone());
        }
        all.append(&mut figures);
    }
    all
}

/// Whether a path is in one of the folders, where a later run would find a file that is not its own.
pub fn is_in(path: &Path, folders: &[PathBuf]) -> bool {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Ok(parent) = parent.canonicalize() else { return false };
    folders
        .iter()
        .filter_map(|folder| folder.canonicalize().ok())
        .any(|folder| parent.starts_with(folder))
}

/// Whether a report may be written to `path`: nothing is there, or an earlier report.
pub fn may_replace(path: &Path) -> bool {
    use std::io::Read;
    let mut head = Vec::new();
    match std::fs::File::open(path) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(file) if file.metadata().is_ok_and(|it| it.is_file()) => {
            file.take(1024).read_to_end(&mut head).is_ok()
                && String::from_utf8_lossy(&head).contains(page::GENERATOR)
        }
        Ok(_) => false,
    }
}

fn name(folder: &Path, folders: &[PathBuf]) -> String {
    let last = |path: &Path| {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let short = last(folder);
    if folders.iter().filter(|other| last(other) == short).count() > 1 {
        folder.display().to_string()
    } else {
        short
    }
}
