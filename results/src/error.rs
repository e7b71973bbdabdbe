//! Errors between a run and its results folder.

use std::io;
use std::path::{Path, PathBuf};

use super::table_file::TableFormat;

/// Errors of writing results. Each message names the path and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The place named for results is a file.
    #[error("{} is not a folder: name another one with --out", .0.display())]
    NotAFolder(PathBuf),
    /// The folder holds something that no run of xoff wrote.
    #[error(
        "{} holds {entry:?}, which no run of xoff wrote: \
         name another folder with --out, or empty it",
        .folder.display()
    )]
    Occupied {
        /// The folder named for results.
        folder: PathBuf,
        /// The first foreign entry by name.
        entry: String,
    },
    /// Another run holds the folder's lock.
    #[error("another run of xoff writes to {} now, or what a killed one left there is being removed: name another \
             folder with --out, or try again", .0.display())]
    Busy(PathBuf),
    /// A sweep's folder has its tables in another format.
    #[error(
        "{} has the tables of this sweep as {found}, and {asked} is asked for: go on with --format {found}, or name \
         another folder with --out",
        .folder.display()
    )]
    OtherFormat {
        /// The folder.
        folder: PathBuf,
        /// The format that is there.
        found: TableFormat,
        /// The requested format.
        asked: TableFormat,
    },
    /// A folder or file could not be made, opened, renamed or removed.
    #[error("cannot {action} {}: {source}; name a writable folder with --out", .path.display())]
    Folder {
        /// The failed action, as a verb.
        action: &'static str,
        /// Path of the action.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A row or frame could not be written, mostly because the disk is full.
    #[error("cannot write {}: {source}; {}", .path.display(), remedy(source))]
    Write {
        /// The file as it would have been called at the end.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::FileTooLarge => {
            "raise the limit on the size of files (`ulimit -f unlimited`)"
        }
        io::ErrorKind::InvalidData => "write the tables as CSV (--format csv)",
        _ => "free some space or name another folder with --out",
    }
}

impl ResultsError {
    /// Error of a failed `action` on a folder, for `map_err`.
    pub fn folder(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Folder { action, path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_follows_from_what_the_system_said() {
        let said = |kind| {
            let (path, source) = (PathBuf::from("out/flows.csv"), io::Error::new(kind, "no"));
            ResultsError::Write { path, source }.to_string()
        };
        assert_eq!(
            said(io::ErrorKind::FileTooLarge),
            "cannot write out/flows.csv: no; raise the limit on the size of files (`ulimit -f unlimited`)"
        );
        assert_eq!(
            said(io::ErrorKind::StorageFull),
            "cannot write out/flows.csv: no; free some space or name another folder with --out"
        );
    }
}
