//! A folder that changes all at once: files grow under a hidden name and appear at the end, or
//! never.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::ResultsError;
use super::folder_lock::{self, Sharing};
use super::manifest::Manifest;
use super::staged_file::{Failures, StagedFile};
use super::unfinished;

/// Folder in which files grow. Present only while a run writes, or after a run was killed.
const PARTIAL: &str = ".xoff-partial";
/// Attempts to make a folder that others remove before it is locked.
const ATTEMPTS: u32 = 100;

/// The claim on a results folder. Dropped before [`Staging::publish`] has come to its end, it
/// removes all that it made and leaves an earlier run's files as they were.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
    files: Vec<String>,
    folders_made: Vec<PathBuf>,
    files_published: Vec<PathBuf>,
    partial_made: bool,
    failures: Failures,
    /// Holds the folder's lock, which the kernel lets go of however the process ends.
    lock: Option<File>,
}

impl Staging {
    /// Makes `folder` (with its parents), locks it and checks that it holds nothing but `files` of
    /// an earlier run. `files` are listed in the order of their appearance; the last is the
    /// manifest.
    pub fn claim(folder: &Path, files: Vec<String>) -> Result<Self, ResultsError> {
        let mut staging = Self {
            folder: folder.to_owned(),
            files,
            folders_made: Vec::new(),
            files_published: Vec::new(),
            partial_made: false,
            failures: Failures::default(),
            lock: None,
        };
        for _ in 0..ATTEMPTS {
            staging.make_folders()?;
            staging.lock = folder_lock::acquire(folder, Sharing::Alone)?;
            if staging.lock.is_some() {
                break;
            }
        }
        if staging.lock.is_none() {
            let error = io::Error::other("it is another one each time");
            return Err(ResultsError::folder("lock", folder)(error));
        }
        remove_partial(folder, &staging.files)?;
        staging.check_entries()?;
        let partial = staging.partial();
        fs::create_dir(&partial).map_err(ResultsError::folder("create", &partial))?;
        staging.partial_made = true;
        Ok(staging)
    }

    /// Opens a new file that will appear under this name.
    pub fn create(&self, name: &str) -> Result<StagedFile, ResultsError> {
        let path = self.partial().join(name);
        let file = File::create_new(&path).map_err(ResultsError::folder("create", &path))?;
        Ok(StagedFile::new(file, self.path(name), self.failures.clone()))
    }

    /// The path under which a file will appear.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Replaces an earlier run's files by the new files, which must all be closed. Returns their names and lengths.
    pub fn publish(mut self) -> Result<Vec<(String, u64)>, ResultsError> {
        self.failures.check()?;
        for name in self.files.iter().rev() {
            let path = self.path(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ResultsError::folder("replace", &path)(error));
                }
                _ => {}
            }
        }
        let mut published = Vec::new();
        for name in &self.files {
            let (from, to) = (self.partial().join(name), self.path(name));
            if !from.exists() {
                continue;
            }
            let rename = |()| fs::rename(&from, &to);
            let bytes = fs::metadata(&from).map(|metadata| metadata.len());
            let bytes = bytes.and_then(|bytes| rename(()).map(|()| bytes));
            published.push((name.clone(), bytes.map_err(ResultsError::folder("create", &to))?));
            self.files_published.push(to);
        }
        let partial = self.partial();
        fs::remove_dir(&partial).map_err(ResultsError::folder("remove", &partial))?;
        self.partial_made = false;
        self.files_published.clear();
        self.folders_made.clear();
        Ok(published)
    }

    fn partial(&self) -> PathBuf {
        self.folder.join(PARTIAL)
    }

    fn make_folders(&mut self) -> Result<(), ResultsError> {
        let mut missing: Vec<&Path> = Vec::new();
        for ancestor in self.folder.ancestors() {
            if ancestor.as_os_str().is_empty() || ancestor.exists() {
                break;
            }
            missing.push(ancestor);
        }
        unfinished::begin(&self.folder, missing.len().max(self.folders_made.len()));
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder).map_err(ResultsError::folder("create", folder))?;
            self.folders_made.push(folder.to_owned());
        }
        if self.folder.is_dir() {
            Ok(())
        } else {
            Err(ResultsError::NotAFolder(self.folder.clone()))
        }
    }

    fn check_entries(&self) -> Result<(), ResultsError> {
        let entries = fs::read_dir(&self.folder)
            .and_then(|entries| {
                entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<OsString>>>()
            })
            .map_err(ResultsError::folder("read", &self.folder))?;
        let ours = |name: &OsString| self.files.iter().any(|file| name == file.as_str());
        let of_a_run = Manifest::from_run(&self.folder).is_some();
        match entries.iter().filter(|name| !(of_a_run && ours(name))).min() {
            None => Ok(()),
            Some(entry) => Err(ResultsError::Occupied {
                folder: self.folder.clone(),
                entry: entry.display().to_string(),
            }),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What cannot be removed on the way out of an error is left: that error is the one to show.
        for file in &self.files_published {
            let _ = fs::remove_file(file);
        }
        if self.partial_made {
            let _ = fs::remove_dir_all(self.partial());
        }
        for folder in self.folders_made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
        unfinished::end(&self.folder);
    }
}

/// Cleans up after a run that died: removes its remains from `folder`, and the innermost `made` folders of this path if
/// they are empty. Waits up to a second for the lock, which a dying process may still hold.
pub(super) fn clear_abandoned(
    folder: &Path,
    made: usize,
    files: &[String],
) -> Result<(), ResultsError> {
    let lock = folder_lock::acquire(folder, Sharing::Alone)?;
    if lock.is_some() {
        remove_partial(folder, files)?;
    }
    for folder in folder.ancestors().take(made) {
        // What is in use now is not empty.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Removes the remains of a run that died from a locked folder: its hidden files and, if it died while it was
/// publishing, the published files.
fn remove_partial(folder: &Path, files: &[String]) -> Result<(), ResultsError> {
    let partial = folder.join(PARTIAL);
    if !partial.exists() {
        return Ok(());
    }
    let appeared = if Manifest::from_run(folder).is_none() { files } else { &[] };
    for path in appeared.iter().map(|name| folder.join(name)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ResultsError::folder("remove", &path)(error));
            }
            _ => {}
        }
    }
    fs::remove_dir_all(&partial).map_err(ResultsError::folder("remove", &partial))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn files() -> Vec<String> {
        ["flows.csv", Manifest::FILE].map(str::to_owned).into()
    }

    fn write(staging: &Staging, name: &str, text: &str) {
        staging.create(name).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn run(folder: &Path, flows: &str) -> Vec<(String, u64)> {
        let staging = Staging::claim(folder, files()).unwrap();
        write(&staging, "flows.csv", flows);
        let manifest = serde_json::to_string(&Manifest::for_this_process()).unwrap();
        write(&staging, Manifest::FILE, &manifest);
        staging.publish().unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_run_replaces_an_earlier_one() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("a/b/out");
        run(&folder, "first");
        assert_eq!(run(&folder, "second")[0], ("flows.csv".to_owned(), 6));
        assert_eq!(fs::read_to_string(folder.join("flows.csv")).unwrap(), "second");
        assert_eq!(names(&folder), files());
    }

    #[test]
    fn an_abandoned_run_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let staging = Staging::claim(&temp.path().join("a/b/out"), files()).unwrap();
        write(&staging, "flows.csv", "half");
        drop(staging);
        assert!(names(temp.path()).is_empty());
    }

    #[test]
    fn an_abandoned_run_leaves_the_earlier_one() {
        let temp = tempfile::tempdir().unwrap();
        run(temp.path(), "first");
        let staging = Staging::claim(temp.path(), files()).unwrap();
        write(&staging, "flows.csv", "half");
        drop(staging);
        assert_eq!(fs::read_to_string(temp.path().join("flows.csv")).unwrap(), "first");
        assert_eq!(names(temp.path()), files());
    }

    #[test]
    fn a_publication_that_fails_takes_back_what_had_appeared() {
        let temp = tempfile::tempdir().unwrap();
        let staging = Staging::claim(temp.path(), files()).unwrap();
        write(&staging, "flows.csv", "new");
        write(&staging, Manifest::FILE, "{}");
        fs::create_dir(temp.path().join("flows.csv")).unwrap();
        let error = staging.publish().unwrap_err().to_string();
        assert!(error.starts_with("cannot replace "), "{error}");
        assert_eq!(names(temp.path()), ["flows.csv"]);
    }

    #[test]
    fn what_a_killed_run_left_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join(PARTIAL)).unwrap();
        fs::write(temp.path().join(PARTIAL).join("flows.csv"), "half").unwrap();
        fs::write(temp.path().join("flows.csv"), "published, but no manifest").unwrap();
        run(temp.path(), "whole");
        assert_eq!(names(temp.path()), files());
    }

    /// Imitates a run that dies while it writes to `folder`: its destructor does not run.
    fn die_in(folder: &Path) {
        let mut staging = Staging::claim(folder, files()).unwrap();
        write(&staging, "flows.csv", "half");
        staging.lock = None;
        std::mem::forget(staging);
    }

    #[test]
    fn what_a_dead_run_left_is_cleared_with_the_folders_that_it_made() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("a/b/out");
        fs::create_dir(temp.path().join("a")).unwrap();
        die_in(&folder);
        clear_abandoned(&folder, 2, &files()).unwrap();
        assert_eq!(names(temp.path()), ["a"]);
        assert!(names(&temp.path().join("a")).is_empty());
        clear_abandoned(&folder, 2, &files()).unwrap();
    }

    #[test]
    fn clearing_leaves_an_earlier_run_and_removes_one_that_died_while_it_appeared() {
        let temp = tempfile::tempdir().unwrap();
        run(temp.path(), "first");
        die_in(temp.path());
        clear_abandoned(temp.path(), 0, &files()).unwrap();
        assert_eq!(names(temp.path()), files());
        die_in(temp.path());
        fs::remove_file(temp.path().join(Manifest::FILE)).unwrap();
        clear_abandoned(temp.path(), 0, &files()).unwrap();
        assert!(names(temp.path()).is_empty());
    }

    #[test]
    fn clearing_leaves_a_run_that_writes_now() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("out");
        let staging = Staging::claim(&folder, files()).unwrap();
        write(&staging, "flows.csv", "half");
        let error = clear_abandoned(&folder, 1, &files()).unwrap_err().to_string();
        assert!(error.starts_with("another run of xoff writes to "), "{error}");
        assert_eq!(names(&folder), [PARTIAL]);
        assert_eq!(names(&folder.join(PARTIAL)), ["flows.csv"]);
    }

    #[test]
    fn foreign_folders_are_refused() {
        for (file, text) in
            [("thesis.tex", ""), ("flows.csv", "start_ns,src,dst"), (Manifest::FILE, "{}")]
        {
            let temp = tempfile::tempdir().unwrap();
            fs::write(temp.path().join(file), text).unwrap();
            let error = Staging::claim(temp.path(), files()).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "{} holds {file:?}, which no run of xoff wrote: \
                     name another folder with --out, or empty it",
                    temp.path().display()
                )
            );
            assert_eq!(names(temp.path()), [file]);
        }
    }

    #[test]
    fn two_runs_do_not_share_a_folder() {
        let temp = tempfile::tempdir().unwrap();
        let _first = Staging::claim(temp.path(), files()).unwrap();
        let error = Staging::claim(temp.path(), files()).unwrap_err().to_string();
        assert!(error.starts_with("another run of xoff writes to "), "{error}");
        assert_eq!(names(temp.path()), [PARTIAL]);
    }

    #[test]
    fn places_that_cannot_be_written_are_named() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        for (folder, expected) in [
            (file.clone(), format!("{} is not a folder", file.display())),
            (file.join("out"), format!("cannot create {}/out: Not a directory", file.display())),
            ("/proc/xoff".into(), "cannot create /proc/xoff: No such file".to_owned()),
        ] {
            let error = Staging::claim(&folder, files()).unwrap_err().to_string();
            assert!(error.starts_with(&expected), "{error}");
            assert!(error.ends_with("--out"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_removed_is_named() {
        let temp = tempfile::tempdir().unwrap();
        die_in(temp.path());
        fs::create_dir(temp.path().join("flows.csv")).unwrap();
        let error = clear_abandoned(temp.path(), 0, &files()).unwrap_err().to_string();
        let path = temp.path().join("flows.csv");
        assert!(error.starts_with(&format!("cannot remove {}", path.display())), "{error}");
    }

    #[test]
    fn a_folder_of_a_run_with_something_else_in_it_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        run(temp.path(), "first");
        fs::write(temp.path().join("thesis.tex"), "").unwrap();
        let error = Staging::claim(temp.path(), files()).unwrap_err();
        assert!(matches!(error, ResultsError::Occupied { entry, .. } if entry == "thesis.tex"));
    }
}
