//! Folder of a run while it is executed, and its atomic appearance among the complete runs.
//!
//! Other processes may execute the same sweep in the same folder, also from another machine, which does not see this
//! machine's lock. So each execution writes into a folder with a unique name, and a complete run appears by one rename.
//! If two processes execute a run, the second finds the first one's results, which must be identical.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use results::folder_lock::{self, Sharing};
use results::{Manifest, Summary};
use serde_json::Value;

use super::run_id::RunId;
use crate::replace::{is_of_dead_process, this_process};

/// Prefix of folders of runs under way.
const GROWING: &str = ".xoff-run-";
/// Suffix of folders that made room.
const REPLACED: &str = "-replaced";

/// A run's folder while the run is under way. It is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Place {
    growing: PathBuf,
    whole: PathBuf,
}

/// Appearance of a complete run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The run appeared as the first.
    First,
    /// Another process had executed the run meanwhile, with identical results.
    Same,
    /// Another process had executed the run on `host` meanwhile, with a different `file`.
    Differs { file: String, host: String },
}

impl Place {
    /// Makes a new place in the folder `runs`.
    pub fn new(runs: &Path, id: &RunId) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let growing = runs.join(format!("{GROWING}{}-{number}-{id}", this_process()));
        Self { growing, whole: runs.join(id.to_string()) }
    }

    /// Returns the folder into which the run writes.
    pub fn path(&self) -> &Path {
        &self.growing
    }

    /// Checks that the run can appear: only an empty folder, or a run that failed or was cut off, can be replaced.
    pub fn check_room(&self) -> io::Result<()> {
        let first = match fs::read_dir(&self.whole) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?.next().transpose()?,
        };
        match first {
            Some(entry) if Manifest::from_run(&self.whole).is_none() => {
                let name = entry.file_name().to_string_lossy().into_owned();
                Err(io::Error::other(format!("it holds {name:?}, which no run of xoff wrote")))
            }
            _ => Ok(()),
        }
    }

    /// Makes the run appear. `counts` returns true for a folder with a run that must not be replaced.
    pub fn appear(&self, counts: impl Fn(&Path) -> bool) -> io::Result<Arrival> {
        loop {
            match fs::rename(&self.growing, &self.whole) {
                Ok(()) => return Ok(Arrival::First),
                // Also the case if an NFS server has executed the rename and its first answer was lost.
                Err(error) if error.kind() == ErrorKind::NotFound && counts(&self.whole) => {
                    return Ok(Arrival::First);
                }
                Err(error) if !is_taken(&error) => return Err(error),
                Err(_) => {}
            }
            if counts(&self.whole) {
                let host = Manifest::from_run(&self.whole).unwrap_or_default().host;
                return Ok(match first_difference(&self.growing, &self.whole)? {
                    None => Arrival::Same,
                    Some(file) => Arrival::Differs { file, host },
                });
            }
            self.check_room()?;
            let name = self.growing.file_name().unwrap_or_default().to_string_lossy();
            let aside = self.growing.with_file_name(format!("{name}{REPLACED}"));
            match fs::rename(&self.whole, &aside) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                Err(_) => {}
                Ok(()) => fs::remove_dir_all(&aside)?,
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A folder that cannot be removed is recognized by its name.
        let _ = fs::remove_dir_all(&self.growing);
    }
}

/// Returns true if a folder of this name belongs to a run that has not appeared.
pub(super) fn is_growing(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(GROWING.as_bytes())
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists)
}

/// Incomplete runs whose folders are removed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Abandoned<'a> {
    /// Runs of dead processes on this machine.
    Here,
    /// These runs, on all machines: each of them has its results.
    Of(&'a BTreeSet<String>),
}

/// Removes folders of incomplete runs, such as runs of killed processes.
pub(super) fn clear(runs: &Path, which: Abandoned<'_>) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let Some(rest) = name.strip_prefix(GROWING) else { continue };
        // Processes of other users may be hidden, but they hold a lock on their folders most of the time.
        let is_idle = || folder_lock::try_acquire(&path, Sharing::Alone).is_ok();
        let run = rest.strip_suffix(REPLACED).unwrap_or(rest).rsplit('-').next();
        let goes = match which {
            Abandoned::Here => is_of_dead_process(rest) && is_idle(),
            Abandoned::Of(runs) => run.is_some_and(|run| runs.contains(run)),
        };
        if goes {
            // A folder that stays is harmless.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Returns the first file, by name, in which two executions of a run differ, without data that depends on the machine.
pub(super) fn first_difference(one: &Path, other: &Path) -> io::Result<Option<String>> {
    let names = |folder: &Path| -> io::Result<BTreeSet<String>> {
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        fs::read_dir(folder)?.map(|entry| entry.map(name)).collect()
    };
    let all: BTreeSet<String> = names(one)?.union(&names(other)?).cloned().collect();
    for name in all.into_iter().filter(|name| name != Manifest::FILE) {
        let read = |folder: &Path| match fs::read(folder.join(&name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        };
        let (first, second) = (read(one)?, read(other)?);
        let same = first == second
            || name == Summary::FILE && scenario_part(first) == scenario_part(second);
        if !same {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Parses a summary, and removes data that depends on the machine.
fn scenario_part(json: Option<Vec<u8>>) -> Option<Value> {
    let mut summary: Value = serde_json::from_slice(&json?).ok()?;
    let keys = summary.as_object_mut()?;
    for key in Summary::MACHINE_KEYS {
        keys.remove(key);
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace::dead_process;

    fn write(place: &Place, flows: &str, wall_seconds: f64) {
        fs::create_dir(place.path()).unwrap();
        let summary = Summary { wall_seconds, ..Summary::default() };
        let manifest = Manifest { host: "node7".into(), ..Manifest::for_this_process() };
        let manifest = serde_json::to_string(&manifest).unwrap();
        let files = [
            ("flows.csv", flows.into()),
            (Summary::FILE, summary.to_json()),
            (Manifest::FILE, manifest),
        ];
        for (name, text) in files {
            fs::write(place.path().join(name), text).unwrap();
        }
    }

    fn arrival(runs: &Path, flows: &str, counts: bool) -> Arrival {
        let place = Place::new(runs, &RunId::for_tests());
        write(&place, flows, 1.5);
        place.appear(|_| counts).unwrap()
    }

    fn names(runs: &Path) -> Vec<String> {
        let name =
            |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        fs::read_dir(runs).unwrap().map(name).collect()
    }

    fn flows(runs: &Path) -> String {
        fs::read_to_string(runs.join(RunId::for_tests().to_string()).join("flows.csv")).unwrap()
    }

    #[test]
    fn the_first_of_a_run_stays_and_later_ones_are_held_against_it() {
        let temp = tempfile::tempdir().unwrap();
        let runs = temp.path();
        assert_eq!(arrival(runs, "a", true), Arrival::First);
        let place = Place::new(runs, &RunId::for_tests());
        write(&place, "a", 2.5);
        assert_eq!(place.appear(|_| true).unwrap(), Arrival::Same, "whatever time it took");
        drop(place);
        let differs = Arrival::Differs { file: "flows.csv".into(), host: "node7".into() };
        assert_eq!(arrival(runs, "b", true), differs);
        assert_eq!((flows(runs).as_str(), names(runs).len()), ("a", 1), "nothing else is left");
    }

    #[test]
    fn a_run_that_does_not_count_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(arrival(temp.path(), "a", false), Arrival::First);
        assert_eq!(arrival(temp.path(), "b", false), Arrival::First);
        assert_eq!((flows(temp.path()).as_str(), names(temp.path()).len()), ("b", 1));
    }

    #[test]
    fn what_is_no_run_is_not_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let whole = temp.path().join(RunId::for_tests().to_string());
        fs::create_dir(&whole).unwrap();
        assert_eq!(arrival(temp.path(), "a", false), Arrival::First, "an empty folder");
        fs::remove_dir_all(&whole).unwrap();
        fs::create_dir(&whole).unwrap();
        fs::write(whole.join("thesis.tex"), "").unwrap();
        let place = Place::new(temp.path(), &RunId::for_tests());
        write(&place, "a", 1.0);
        let error = place.appear(|_| false).unwrap_err().to_string();
        assert_eq!(error, "it holds \"thesis.tex\", which no run of xoff wrote");
        assert!(whole.join("thesis.tex").exists());
    }

    #[test]
    fn a_rename_whose_answer_was_lost_is_found_to_have_been_done() {
        let temp = tempfile::tempdir().unwrap();
        let place = Place::new(temp.path(), &RunId::for_tests());
        write(&place, "a", 1.0);
        fs::rename(&place.growing, &place.whole).unwrap();
        assert_eq!(place.appear(|_| true).unwrap(), Arrival::First);
        assert!(Place::new(temp.path(), &RunId::for_tests()).appear(|_| false).is_err());
    }

    #[test]
    fn a_file_that_only_one_has_and_a_summary_of_another_run_are_differences() {
        let temp = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| Place::new(temp.path(), &RunId::for_tests()));
        write(&one, "a", 1.0);
        write(&other, "a", 2.0);
        let difference = || first_difference(one.path(), other.path()).unwrap();
        assert_eq!(difference(), None);
        fs::write(other.path().join("drops.csv"), "").unwrap();
        assert_eq!(difference().as_deref(), Some("drops.csv"));
        fs::write(one.path().join("drops.csv"), "").unwrap();
        let summary = Summary { flows_total: 1, ..Summary::default() }.to_json();
        fs::write(other.path().join(Summary::FILE), summary).unwrap();
        assert_eq!(difference().as_deref(), Some(Summary::FILE));
    }

    #[test]
    fn what_dead_processes_left_goes_and_what_lives_stays() {
        let temp = tempfile::tempdir().unwrap();
        let runs = temp.path();
        let place = Place::new(runs, &RunId::for_tests());
        write(&place, "a", 1.0);
        let dead = runs.join(format!("{GROWING}{}-0-0123", dead_process()));
        let elsewhere = runs.join(format!("{GROWING}another1-1-1-01234567-0-0123"));
        let of_another_sweep = runs.join(format!("{GROWING}another1-1-1-01234567-1-4567"));
        let whole = runs.join("0123456789abcdef");
        for folder in [&dead, &elsewhere, &of_another_sweep, &whole] {
            fs::create_dir(folder).unwrap();
        }
        clear(runs, Abandoned::Here);
        assert!(!dead.exists() && elsewhere.exists() && whole.exists() && place.path().exists());
        let of_this = ["0123".to_owned(), RunId::for_tests().to_string()].into();
        clear(runs, Abandoned::Of(&of_this));
        let mut left = names(runs);
        left.sort();
        assert_eq!(left, [".xoff-run-another1-1-1-01234567-1-4567", "0123456789abcdef"]);
    }
}
