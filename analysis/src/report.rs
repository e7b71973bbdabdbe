//! A report of runs and sweeps: one self-contained HTML file.
//!
//! `run` and `sweep` read results, `selection` and `sweep_charts` select the charts, [`chart`] describes a chart for any
//! crate, `draw` and `timeline` draw, and `page` is the document.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "what a picture shows may be off by less than a dot"
)]

pub mod chart;
pub mod differences;
mod draw;
mod drops;
pub mod origin;
mod page;
mod run;
mod scaled;
mod selection;
mod sweep;
mod sweep_axis;
mod sweep_charts;
mod text;
mod ticks;
mod time;
mod timeline;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use ::sweep::CELLS_TABLE;
use results::{Summary, TableError, table_path};
use run::Run;
use sweep::Sweep;

use crate::compare::Comparison;

/// Error in the results for a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A folder that was not written, or not completely, by a run or sweep.
    #[error(
        "{} holds no results: cannot read its {file}: {source}; name a folder that `xoff run --out`, `xoff sweep` or `xoff reproduce` has written",
        folder.display()
    )]
    NoResults {
        /// The folder.
        folder: PathBuf,
        /// File that each of these commands writes.
        file: &'static str,
        /// Error of reading the file.
        source: io::Error,
    },
    /// A summary of another version, or of something else.
    #[error("{} is not a summary of this version: {source}; run the scenario again", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// Error of parsing the file.
        source: serde_json::Error,
    },
    /// A table that cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A report.
pub struct Report {
    /// The HTML document.
    pub html: String,
    /// Name and SVG text of each chart.
    pub figures: Vec<(String, String)>,
}

/// Reads runs and sweeps, and makes their report. Folders are labelled by their names, runs of a sweep by
/// the values of its axes, or by their paths if two names are equal. `comparison` is of two of the runs.
pub fn build(folders: &[PathBuf], comparison: Option<&Comparison>) -> Result<Report, ReportError> {
    let (mut runs, mut sweeps) = (Vec::new(), Vec::new());
    let folders = &with_figures(folders);
    for (folder, name) in folders.iter().zip(names(folders)) {
        if table_path(folder, CELLS_TABLE).exists() {
            sweeps.push(Sweep::read(folder, name)?);
        } else {
            runs.push(Run::read(folder, name)?);
        }
    }
    Ok(page::report(&runs, &sweeps, comparison))
}

/// Reads the summary of a run.
pub fn summary(folder: &Path) -> Result<Summary, ReportError> {
    let path = folder.join(Summary::FILE);
    let json = std::fs::read(&path).map_err(|source| ReportError::NoResults {
        folder: folder.to_owned(),
        file: Summary::FILE,
        source,
    })?;
    serde_json::from_slice(&json).map_err(|source| ReportError::Summary { path, source })
}

/// Replaces folders of `xoff reproduce` by the folders of their figures, sorted by name.
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

/// Returns true if a path is in one of the folders, where a later run would find a foreign file.
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

/// Returns true if a report may be written to `path`: the path is free, or holds an earlier report.
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

/// Returns the names of folders.
fn names(folders: &[PathBuf]) -> Vec<String> {
    let short = |path: &PathBuf| {
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        let name = || whole.file_name().map(|name| name.to_string_lossy().into_owned());
        origin::choices(path).or_else(name).unwrap_or_default()
    };
    let all: Vec<String> = folders.iter().map(short).collect();
    let is_unique = |name: &String| all.iter().filter(|other| *other == name).count() == 1;
    let name = |(folder, name): (&PathBuf, &String)| {
        if is_unique(name) { name.clone() } else { folder.display().to_string() }
    };
    folders.iter().zip(&all).map(name).collect()
}
