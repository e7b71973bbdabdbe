//! Where live fabrics are found: a folder for each under `/run/xoff/live`, by the fabric's name.
//!
//! | file | what |
//! | --- | --- |
//! | `lock` | the supervisor's process number; locked as long as it lives |
//! | `fabric.json` | [`Description`], once the fabric is up |
//! | `scenario.toml` | the resolved scenario |
//! | `hosts` | `/etc/hosts` of programs that `xoff exec` starts |
//! | `socket` | where the supervisor listens |
//! | `log` | what the supervisor has to say |
//! | `ended.json` | what `fabric.json` was, once the fabric is no longer up |

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terminal::with_causes;

/// All folders are in it.
const LIVE: &str = "/run/xoff/live";
/// The longest name.
const LONGEST_NAME: usize = 64;
/// How often a lock is tried that may be held for a moment only.
const LOCK_ATTEMPTS: u32 = 10;
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// The folder of one fabric; it need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFolder {
    name: String,
    path: PathBuf,
}

/// What there is to know of a fabric that is up, as far as it does not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// The supervisor.
    pub process: u32,
    /// The identifier in the names of its namespaces.
    pub fabric: String,
    /// Seconds of the wall clock in an emulated second.
    pub dilation: u32,
    /// How that was found out, with `--dilation auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// The threads that run it, as `--threads` takes them.
    pub threads: String,
    /// Whether it spins instead of sleeping.
    pub busy_poll: bool,
    /// Whether it goes before ordinary programs.
    pub real_time: bool,
    /// Whether the flows of its scenario start.
    pub plays: bool,
    /// The folder that gets results when the fabric is destroyed, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// Its shape, in a line.
    pub shape: String,
    /// How packets of lossy priorities share buffers, in a line, if that is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<String>,
    /// In the order of the scenario.
    pub hosts: Vec<HostDescription>,
}

/// A host of a fabric that is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDescription {
    /// Its name.
    pub name: String,
    /// Its IPv4 address.
    pub address: String,
    /// The name of its namespace, as `ip netns exec` takes it.
    pub namespace: String,
}

/// How it is with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No fabric has it.
    Absent,
    /// A supervisor deploys, or takes down, the fabric.
    Changing {
        /// The supervisor, unless it has not said so yet.
        process: Option<u32>,
    },
    /// The fabric is up.
    Up(Box<Description>),
    /// The supervisor died, and has left things.
    Abandoned,
}

/// The folder of a fabric, taken. It goes when this is dropped.
#[derive(Debug)]
pub struct Claim {
    folder: LiveFolder,
    /// Holds the lock for as long as it is open.
    lock: File,
}

/// Why a name cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// A fabric has the name.
    #[error(
        "there is a live fabric {name}; destroy it first (`xoff destroy {name}`), or give this one another name (`--name`)"
    )]
    Taken {
        /// The name.
        name: String,
    },
    /// Files.
    #[error("{path}: {source}; live fabrics need root, and some room in /run")]
    Files {
        /// Of what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl LiveFolder {
    /// The folder of the fabric of this name.
    ///
    /// # Errors
    /// A sentence, if nothing can have this name.
    pub fn of(name: &str) -> Result<Self, String> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || name.len() > LONGEST_NAME || !name.bytes().all(is_allowed) {
            return Err(format!(
                "{name:?} is not the name of a fabric: a name has 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`, \
                 and begins with a letter or digit"
            ));
        }
        Ok(Self { name: name.to_owned(), path: Path::new(LIVE).join(name) })
    }

    /// Those of all fabrics, by name.
    pub fn all() -> Result<Vec<Self>, String> {
        let entries = match fs::read_dir(LIVE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(format!("{LIVE}: {error}; live fabrics need root")),
            Ok(entries) => entries,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut folders: Vec<Self> = names.filter_map(|name| Self::of(&name).ok()).collect();
        folders.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(folders)
    }

    /// The fabric's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// How it is with the name.
    pub fn state(&self) -> Result<State, String> {
        let failed = |error: io::Error| self.unreadable(&error);
        let mut lock = match self.open_lock().map_err(failed)? {
            Ok(lock) => lock,
            Err(state) => return Ok(state),
        };
        // Shared, so that those who look do not see each other.
        match lock.try_lock_shared() {
            // The owner removed the file after it was opened here, and ended.
            Ok(()) if lock.metadata().map_err(failed)?.nlink() == 0 => return Ok(State::Absent),
            // The owner has made the file, and is about to lock it.
            Ok(()) if self.has_nothing_but(&lock).map_err(failed)? => return Ok(State::Absent),
            Ok(()) => return Ok(State::Abandoned),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        let described = match fs::read_to_string(self.file("fabric.json")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            described => Some(described.map_err(failed)?),
        };
        if let Some(described) = described.and_then(|text| serde_json::from_str(&text).ok()) {
            return Ok(State::Up(Box::new(described)));
        }
        let mut process = String::new();
        lock.read_to_string(&mut process).map_err(failed)?;
        Ok(State::Changing { process: process.trim().parse().ok() })
    }

    /// Opens the lock, or returns the state of a folder without one. A single listing decides: two looks could see the ends of two
    /// fabrics of this name.
    fn open_lock(&self) -> io::Result<Result<File, State>> {
        for _ in 0..LOCK_ATTEMPTS {
            match File::open(self.file("lock")) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                lock => return lock.map(Ok),
            }
            let entries = match fs::read_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Err(State::Absent));
                }
                entries => entries?,
            };
            let names = entries.map(|entry| Ok(entry?.file_name()));
            let names = names.collect::<io::Result<Vec<_>>>()?;
            // A folder is empty before its lock is made, and after it is removed.
            if names.is_empty() {
                return Ok(Err(State::Absent));
            }
            if !names.iter().any(|name| name == "lock") {
                return Ok(Err(State::Abandoned));
            }
        }
        Ok(Err(State::Changing { process: None }))
    }

    /// Returns true if the folder has no file but this lock, which names no owner.
    fn has_nothing_but(&self, lock: &File) -> io::Result<bool> {
        let files = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            entries => entries?.count(),
        };
        Ok(files <= 1 && lock.metadata()?.len() == 0)
    }

    /// Whether something has the name, in whatever state.
    pub fn is_there(&self) -> Result<bool, String> {
        match fs::symlink_metadata(self.file("lock")) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// Why nothing can be said of it, and what to do.
    fn unreadable(&self, error: &io::Error) -> String {
        let mut text = format!("{}: {}", self.path.display(), with_causes(error));
        if error.kind() == io::ErrorKind::PermissionDenied {
            text += "; live fabrics need root";
        }
        text
    }

    /// Takes the name.
    pub fn claim(&self) -> Result<Claim, ClaimError> {
        let failed = |source| ClaimError::Files { path: self.path.clone(), source };
        let lock = self.lock().map_err(failed)?.ok_or_else(|| self.taken())?;
        // From here on dropping it removes the folder, if something fails.
        let claim = Claim { folder: self.clone(), lock };
        let mut lock = &claim.lock;
        lock.set_len(0).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        // What an abandoned fabric has left would be taken for this one's.
        for left in ["fabric.json", "ended.json", "socket", "hosts", "scenario.toml", "log"] {
            unless_missing(fs::remove_file(self.file(left))).map_err(failed)?;
        }
        Ok(claim)
    }

    /// The error of a name that a fabric has.
    pub fn taken(&self) -> ClaimError {
        ClaimError::Taken { name: self.name.clone() }
    }

    /// Locks the folder, which is made if it is missing; `None` if another process holds the lock.
    fn lock(&self) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        for _ in 0..LOCK_ATTEMPTS {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            let lock = match options.open(self.file("lock")) {
                // The last owner has just removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            match lock.try_lock() {
                Ok(()) if lock.metadata()?.nlink() > 0 => return Ok(Some(lock)),
                Err(TryLockError::Error(error)) => return Err(error),
                // Who looks at the lock holds it for a moment.
                Ok(()) | Err(TryLockError::WouldBlock) => thread::sleep(LOCK_INTERVAL),
            }
        }
        Ok(None)
    }

    /// Removes what an abandoned fabric has left here.
    pub fn remove(&self) -> Result<(), String> {
        // Held while the files go, so that nobody deploys a fabric into them.
        match self.lock() {
            Ok(Some(_lock)) => self.remove_files(),
            Ok(None) => Err(format!("{} is being deployed or destroyed by others", self.name)),
            Err(error) => Err(format!("cannot remove {}: {error}", self.path.display())),
        }
    }

    /// Removes the folder. The lock goes last: files without a lock are those of an abandoned fabric.
    fn remove_files(&self) -> Result<(), String> {
        let failed = |error: io::Error| format!("cannot remove {}: {error}", self.path.display());
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed)?,
        };
        let lock = self.file("lock");
        for entry in entries {
            let entry = entry.map_err(failed)?;
            if entry.path() == lock {
                continue;
            }
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            let remove = if is_folder { fs::remove_dir_all } else { fs::remove_file };
            unless_missing(remove(entry.path())).map_err(failed)?;
        }
        unless_missing(fs::remove_file(lock)).map_err(failed)?;
        match fs::remove_dir(&self.path) {
            // Another process has just taken the name.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => unless_missing(removed).map_err(failed),
        }
    }

    /// The process number of the last supervisor, unless it died before it wrote the number.
    pub fn last_supervisor(&self) -> Option<u32> {
        fs::read_to_string(self.file("lock")).ok()?.trim().parse().ok()
    }

    /// The folder for the results of an abandoned fabric, if it was to leave some; there are none.
    pub fn lost_results(&self) -> Option<String> {
        let described = ["ended.json", "fabric.json"].map(|name| self.file(name));
        let described = described.iter().find_map(|file| fs::read_to_string(file).ok())?;
        serde_json::from_str::<Description>(&described).ok()?.results
    }

    /// The last that the supervisor of an abandoned fabric had to say.
    pub fn last_words(&self) -> Option<String> {
        let log = fs::read_to_string(self.file("log")).ok()?;
        log.lines().last().map(str::to_owned)
    }

    /// The error or panic with which the supervisor of an abandoned fabric has ended, unless it was killed.
    pub fn failure(&self) -> Option<String> {
        let log = fs::read_to_string(self.file("log")).ok()?;
        let panicked = log.lines().find(|line| line.contains("panicked at"));
        let failed = || log.lines().last()?.strip_prefix("error: ");
        panicked.or_else(failed).map(str::to_owned)
    }

    /// What is said of an abandoned fabric.
    pub fn obituary(&self) -> String {
        let said = self.last_words();
        let said = said.map(|words| format!(", having said \"{words}\"")).unwrap_or_default();
        let name = &self.name;
        format!(
            "the supervisor of {name} died{said}; `xoff destroy {name}` removes what it has left"
        )
    }
}

/// Takes the removal of a missing file for a success.
fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl Claim {
    /// The folder.
    pub fn folder(&self) -> &LiveFolder {
        &self.folder
    }

    /// Leaves the folder to be found as abandoned, with the log that says why.
    pub fn abandon(self) {
        // Otherwise it would be found as up until the process has ended.
        self.withdraw();
        // The lock goes with the process.
        std::mem::forget(self);
    }

    /// The fabric is no longer up.
    pub fn withdraw(&self) {
        let _ = fs::rename(self.folder.file("fabric.json"), self.folder.file("ended.json"));
    }

    /// Writes a file into it, whole or not at all. The folder is for root alone; what is mounted elsewhere is for all.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let begun = self.folder.file(&format!("{name}.begun"));
        fs::write(&begun, text)?;
        fs::set_permissions(&begun, fs::Permissions::from_mode(0o644))?;
        fs::rename(begun, self.folder.file(name))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // What stays is found as abandoned.
        let _ = self.folder.remove_files();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A folder outside of `/run`.
    fn folder_in(place: &Path) -> LiveFolder {
        LiveFolder { name: "lab".to_owned(), path: place.join("lab") }
    }

    /// A process that looks at a fabric which comes and goes in an orderly way finds it in one of these states only.
    #[test]
    fn a_fabric_that_comes_and_goes_is_never_seen_as_abandoned() {
        const LIVES: usize = 300;
        let place = tempfile::tempdir().unwrap();
        let folder = folder_in(place.path());
        let is_over = AtomicBool::new(false);
        let states = thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut seen = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    seen.push(folder.state().expect("it can be read"));
                    // Looks without a pause would hold the lock nearly all the time.
                    thread::sleep(Duration::from_micros(20));
                }
                seen
            });
            let live = || {
                let claim = folder.claim()?;
                for number in 0..20 {
                    claim.write(&format!("file{number}"), "text").unwrap();
                }
                Ok::<(), ClaimError>(())
            };
            let lived = (0..LIVES).try_for_each(|_| live());
            is_over.store(true, Ordering::Relaxed);
            assert!(lived.is_ok(), "{lived:?}");
            looking.join().unwrap()
        });
        let orderly = |state: &&State| matches!(state, State::Absent | State::Changing { .. });
        assert_eq!(states.iter().find(|state| !orderly(state)), None);
        assert!(states.len() > LIVES && !place.path().join("lab").exists());
    }

    #[test]
    fn files_without_a_lock_are_abandoned_and_an_empty_folder_is_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = folder_in(place.path());
        assert_eq!(folder.state(), Ok(State::Absent));
        fs::create_dir(folder.file("")).unwrap();
        assert_eq!(folder.state(), Ok(State::Absent));
        fs::create_dir_all(folder.file("more/files")).unwrap();
        fs::write(folder.file("log"), "words").unwrap();
        assert_eq!(folder.state(), Ok(State::Abandoned));
        folder.remove().expect("nobody holds it");
        assert_eq!(folder.state(), Ok(State::Absent));
        assert!(!folder.file("").exists());
    }

    #[test]
    fn errors_and_panics_are_failures_and_kills_are_not() {
        let place = tempfile::tempdir().unwrap();
        let folder = folder_in(place.path());
        fs::create_dir(folder.file("")).unwrap();
        let panicked = "thread 'main' (7) panicked at a.rs:1:2:";
        for (log, failure) in [
            ("up\nerror: no memory\n", Some("no memory")),
            (&format!("up\n{panicked}\nno memory\nnote: run with a backtrace\n"), Some(panicked)),
            ("up\nwarning: a late deadline\n", None),
            ("", None),
        ] {
            fs::write(folder.file("log"), log).unwrap();
            assert_eq!(folder.failure().as_deref(), failure, "{log}");
        }
    }

    #[test]
    fn names_are_names_of_files() {
        for name in ["lab", "a", "0.x-y_z"] {
            assert_eq!(LiveFolder::of(name).map(|it| it.name).as_deref(), Ok(name));
        }
        for name in ["", ".", "..", "a/b", "/", "-x", "ä", "a b", &"x".repeat(65)] {
            let error = LiveFolder::of(name).expect_err(name);
            assert!(error.contains("is not the name of a fabric"), "{error}");
        }
    }
}
