//! Folders of live fabrics: `/run/xoff/live/NAME` for the fabric NAME.
//!
//! | file | content |
//! | --- | --- |
//! | `lock` | the supervisor's process number and start; locked as long as it lives |
//! | `fabric.json` | [`Description`], once the fabric is up |
//! | `scenario.toml` | the resolved scenario |
//! | `hosts` | `/etc/hosts` of programs that `xoff exec` starts |
//! | `socket` | the supervisor's socket |
//! | `log` | messages of the supervisor |
//! | `ended.json` | [`Description`], once the fabric is no longer up |

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use netns::Process;
use serde::{Deserialize, Serialize};
use terminal::with_causes;

/// Parent of all folders.
const LIVE: &str = "/run/xoff/live";
/// Max length of a name, in bytes.
const MAX_NAME_LENGTH: usize = 64;
/// Attempts to take a lock that may be held for only a moment.
const LOCK_ATTEMPTS: u32 = 10;
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// The folder of one fabric; it need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFolder {
    name: String,
    path: PathBuf,
}

/// Constant properties of a fabric that is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Name of the fabric.
    pub name: String,
    /// Process number of the supervisor.
    pub process: u32,
    /// Identifier in the names of the fabric's namespaces.
    pub fabric: String,
    /// Wall-clock seconds per emulated second.
    pub dilation: u32,
    /// Reason for the dilation, with `--dilation auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// Threads that run the fabric, in the format of `--threads`.
    pub threads: String,
    /// True if the fabric polls instead of sleeping.
    pub busy_poll: bool,
    /// True if the fabric has real-time priority over ordinary programs.
    pub real_time: bool,
    /// True if the flows of its scenario start.
    pub plays: bool,
    /// Folder for results when the fabric is destroyed, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// Shape of the fabric, in one line.
    pub shape: String,
    /// Buffer sharing of lossy priorities, in one line, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<String>,
    /// Hosts in the order of the scenario.
    pub hosts: Vec<HostDescription>,
}

/// A host of a fabric that is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDescription {
    /// Name of the host.
    pub name: String,
    /// IPv4 address of the host.
    pub address: String,
    /// Name of the host's namespace for `ip netns exec`.
    pub namespace: String,
}

/// State of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No fabric has the name.
    Absent,
    /// A supervisor is deploying the fabric, or taking it down.
    Changing {
        /// Process number of the supervisor, unless it has not yet recorded it.
        process: Option<u32>,
    },
    /// The fabric is up.
    Up(Box<Description>),
    /// The supervisor died and left files.
    Abandoned,
}

/// A claimed folder of a fabric. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Claim {
    folder: LiveFolder,
    /// Holds the lock while it is open.
    lock: File,
}

/// Reason why a name cannot be claimed.
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
    /// A file operation failed.
    #[error("{path}: {source}; live fabrics need root, and some room in /run")]
    Files {
        /// File or folder of the operation.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl LiveFolder {
    /// Returns the folder of the fabric of this name.
    ///
    /// # Errors
    /// A sentence, if the name is invalid.
    pub fn new(name: &str) -> Result<Self, String> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || name.len() > MAX_NAME_LENGTH || !name.bytes().all(is_allowed) {
            return Err(format!(
                "{name:?} is not the name of a fabric: a name has 1 to {MAX_NAME_LENGTH} letters, digits, `-`, `_` and `.`, \
                 and begins with a letter or digit"
            ));
        }
        Ok(Self { name: name.to_owned(), path: Path::new(LIVE).join(name) })
    }

    /// Returns the folders of all fabrics, by name.
    pub fn all() -> Result<Vec<Self>, String> {
        let entries = match fs::read_dir(LIVE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(format!("{LIVE}: {error}; live fabrics need root")),
            Ok(entries) => entries,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut folders: Vec<Self> = names.filter_map(|name| Self::new(&name).ok()).collect();
        folders.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(folders)
    }

    /// Returns the fabric's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of one of the folder's files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the state of the name.
    pub fn state(&self) -> Result<State, String> {
        let failed = |error: io::Error| self.unreadable(&error);
        let mut lock = match self.open_lock().map_err(failed)? {
            Ok(lock) => lock,
            Err(state) => return Ok(state),
        };
        // Shared, so that several readers do not conflict.
        match lock.try_lock_shared() {
            // The owner removed the file after it was opened here, and ended.
            Ok(()) if lock.metadata().map_err(failed)?.nlink() == 0 => return Ok(State::Absent),
            // The owner has created the file, and is about to lock it.
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
        let process = process.parse().ok().map(|it: Process| it.number);
        Ok(State::Changing { process })
    }

    /// Opens the lock, or returns the state of a folder without one. A single listing decides: two listings could show
    /// the ends of two fabrics of this name.
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
            // A folder is empty before its lock is created, and after it is removed.
            if names.is_empty() {
                return Ok(Err(State::Absent));
            }
            if !names.iter().any(|name| name == "lock") {
                return Ok(Err(State::Abandoned));
            }
        }
        Ok(Err(State::Changing { process: None }))
    }

    /// Returns true if the folder has no file except this lock, which names no owner.
    fn has_nothing_but(&self, lock: &File) -> io::Result<bool> {
        let files = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            entries => entries?.count(),
        };
        Ok(files <= 1 && lock.metadata()?.len() == 0)
    }

    /// Returns true if a fabric has the name, in any state.
    pub fn is_there(&self) -> Result<bool, String> {
        match fs::symlink_metadata(self.file("lock")) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// Returns the reason why the state cannot be read, with advice.
    fn unreadable(&self, error: &io::Error) -> String {
        let mut text = format!("{}: {}", self.path.display(), with_causes(error));
        if error.kind() == io::ErrorKind::PermissionDenied {
            text += "; live fabrics need root";
        }
        text
    }

    /// Claims the name.
    pub fn claim(&self) -> Result<Claim, ClaimError> {
        let failed = |source| ClaimError::Files { path: self.path.clone(), source };
        let lock = self.lock().map_err(failed)?.ok_or_else(|| self.taken())?;
        // From here on dropping the claim removes the folder if something fails.
        let claim = Claim { folder: self.clone(), lock };
        let mut lock = &claim.lock;
        lock.set_len(0).map_err(failed)?;
        writeln!(lock, "{}", Process::this()).map_err(failed)?;
        // Leftovers of an abandoned fabric would be mistaken for this fabric's files.
        for left in ["fabric.json", "ended.json", "socket", "hosts", "scenario.toml", "log"] {
            unless_missing(fs::remove_file(self.file(left))).map_err(failed)?;
        }
        Ok(claim)
    }

    /// Returns the error for a name that a fabric already has.
    pub fn taken(&self) -> ClaimError {
        ClaimError::Taken { name: self.name.clone() }
    }

    /// Locks the folder, which is created if it is missing; `None` if another process holds the lock.
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
                // Processes that check the lock hold it for a moment.
                Ok(()) | Err(TryLockError::WouldBlock) => thread::sleep(LOCK_INTERVAL),
            }
        }
        Ok(None)
    }

    /// Removes leftovers of an abandoned fabric.
    pub fn remove(&self) -> Result<(), String> {
        // Held while the files are removed, so that no fabric is deployed into the folder meanwhile.
        match self.lock() {
            Ok(Some(_lock)) => self.remove_files(),
            Ok(None) => Err(format!("{} is being deployed or destroyed by others", self.name)),
            Err(error) => Err(format!("cannot remove {}: {error}", self.path.display())),
        }
    }

    /// Removes the folder. The lock is removed last, because files without a lock belong to an abandoned fabric.
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
            // Another process has just claimed the name.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => unless_missing(removed).map_err(failed),
        }
    }

    /// The process that was the last supervisor, unless it died before it wrote its number.
    pub fn last_supervisor(&self) -> Option<Process> {
        fs::read_to_string(self.file("lock")).ok()?.parse().ok()
    }

    /// Returns the results folder of an abandoned fabric, if it had one; the results were lost.
    pub fn lost_results(&self) -> Option<String> {
        let described = ["ended.json", "fabric.json"].map(|name| self.file(name));
        let described = described.iter().find_map(|file| fs::read_to_string(file).ok())?;
        serde_json::from_str::<Description>(&described).ok()?.results
    }

    /// Returns the last message of an abandoned fabric's supervisor.
    pub fn last_words(&self) -> Option<String> {
        let log = fs::read_to_string(self.file("log")).ok()?;
        log.lines().last().map(str::to_owned)
    }

    /// Returns the error or panic that ended the supervisor of an abandoned fabric, unless it was killed.
    pub fn failure(&self) -> Option<String> {
        let log = fs::read_to_string(self.file("log")).ok()?;
        let panicked = log.lines().find(|line| line.contains("panicked at"));
        let failed = || log.lines().last()?.strip_prefix("error: ");
        panicked.or_else(failed).map(str::to_owned)
    }

    /// Returns the message about an abandoned fabric.
    pub fn obituary(&self) -> String {
        let said = self.last_words();
        let said = said.map(|words| format!(", having said \"{words}\"")).unwrap_or_default();
        let name = &self.name;
        format!(
            "the supervisor of {name} died{said}; `xoff destroy {name}` removes what it has left"
        )
    }
}

/// Treats the removal of a missing file as a success.
fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl Claim {
    /// Returns the claimed folder.
    pub fn folder(&self) -> &LiveFolder {
        &self.folder
    }

    /// Leaves the folder as abandoned, with the log that gives the reason.
    pub fn abandon(self) {
        // Otherwise the fabric would count as up until the process has ended.
        self.withdraw();
        // The process's end releases the lock.
        std::mem::forget(self);
    }

    /// Marks the fabric as no longer up.
    pub fn withdraw(&self) {
        let _ = fs::rename(self.folder.file("fabric.json"), self.folder.file("ended.json"));
    }

    /// Writes a file into the folder, whole or not at all. Only root can enter the folder; files that are mounted
    /// elsewhere are readable by all.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let begun = self.folder.file(&format!("{name}.begun"));
        fs::write(&begun, text)?;
        fs::set_permissions(&begun, fs::Permissions::from_mode(0o644))?;
        fs::rename(begun, self.folder.file(name))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Remaining files count as abandoned.
        let _ = self.folder.remove_files();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Returns a folder outside of `/run`.
    fn folder_in(place: &Path) -> LiveFolder {
        LiveFolder { name: "lab".to_owned(), path: place.join("lab") }
    }

    /// A process that checks a fabric which starts and ends in an orderly way finds it only in one of these states.
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
                    // Checks without a pause would hold the lock nearly all the time.
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
            assert_eq!(LiveFolder::new(name).map(|it| it.name).as_deref(), Ok(name));
        }
        for name in ["", ".", "..", "a/b", "/", "-x", "ä", "a b", &"x".repeat(65)] {
            let error = LiveFolder::new(name).expect_err(name);
            assert!(error.contains("is not the name of a fabric"), "{error}");
        }
    }
}
