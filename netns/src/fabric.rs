//! Identifiers of fabrics, and locks that show whether their owners live.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};

use nix::sys::stat::{major, minor};

use crate::error::Error;
use crate::process::Process;
use crate::run_directory;

/// Prefix of the names of all namespaces of all fabrics.
const PREFIX: &str = "xoff-";
/// Hexadecimal digits of an identifier.
const DIGITS: usize = 4;
/// Suffix of a lock's file name.
const LOCK_SUFFIX: &str = ".lock";

/// Spreads identifiers of processes with neighbouring numbers: 65536 divided by the golden ratio, odd.
const SPREAD: u16 = 40503;
/// Number of identifiers that this process has requested, so that it does not reuse one soon. Otherwise a program that
/// still runs in a removed fabric could find a new fabric with an equal name.
static ALLOCATED: AtomicU16 = AtomicU16::new(0);

/// Identifier of a living fabric on one machine: four hexadecimal digits, such as `3f9a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FabricId(u16);

impl FabricId {
    /// Length of the prefix of a node's name: `xoff-`, the identifier, `-`.
    pub(crate) const PREFIX_LEN: usize = PREFIX.len() + DIGITS + 1;

    /// Returns the full name of a node's namespace, as `ip netns exec` takes it.
    pub fn namespace_name(self, node: &str) -> String {
        format!("{PREFIX}{self}-{node}")
    }

    /// Returns the fabric of a namespace with this full name, if any.
    pub fn from_namespace(name: &str) -> Option<Self> {
        let (id, node) = name.strip_prefix(PREFIX)?.split_once('-')?;
        if node.is_empty() { None } else { id.parse().ok() }
    }

    fn from_lock(file_name: &str) -> Option<Self> {
        file_name.strip_suffix(LOCK_SUFFIX)?.parse().ok()
    }

    /// Returns the path of the file that the fabric's owner has locked.
    pub fn lock_path(self) -> PathBuf {
        Path::new(run_directory::FABRICS).join(format!("{self}{LOCK_SUFFIX}"))
    }

    /// Returns the processes that hold the fabric's lock, as far as `/proc/locks` shows them. It omits processes of
    /// other PID namespaces.
    pub fn lock_holders(self) -> Vec<u32> {
        let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
        let lock = fs::metadata(self.lock_path());
        lock.map_or_else(|_| Vec::new(), |lock| holders_of((lock.dev(), lock.ino()), &locks))
    }
}

impl fmt::Display for FabricId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}", self.0)
    }
}

impl FromStr for FabricId {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let wrong = || Error::FabricName { name: name.to_owned() };
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if name.len() != DIGITS || !name.bytes().all(digit) {
            return Err(wrong());
        }
        u16::from_str_radix(name, 16).map(Self).map_err(|_| wrong())
    }
}

/// Locked file of a living fabric. The kernel releases the lock when its owner dies, for whatever reason. An existing
/// file without a lock belongs to an abandoned fabric.
#[derive(Debug)]
pub(crate) struct FabricLock {
    id: FabricId,
    /// Open file, which holds the lock.
    file: File,
}

impl FabricLock {
    /// Allocates an identifier that no living or abandoned fabric has.
    pub(crate) fn allocate() -> Result<Self, Error> {
        // Read first: a process that finds no memory for it leaves no file without its name.
        let owner = format!("{}\n", Process::this());
        let _only_one_allocates = run_directory::lock_fabrics()?;
        let [low, high, ..] = process::id().to_le_bytes();
        let first = u16::from_le_bytes([low, high])
            .wrapping_mul(SPREAD)
            .wrapping_add(ALLOCATED.fetch_add(1, Ordering::Relaxed));
        for offset in 0..=u16::MAX {
            let id = FabricId(first.wrapping_add(offset));
            let path = id.lock_path();
            let mut options = OpenOptions::new();
            match options.read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let failed = |source| Error::file("make and lock", &path, source);
                    // From here on dropping `lock` removes the file.
                    let lock = Self { id, file: created.map_err(failed)? };
                    own(&lock.file, &owner).map_err(failed)?;
                    return Ok(lock);
                }
            }
        }
        Err(Error::NoFabricIdLeft)
    }

    pub(crate) fn id(&self) -> FabricId {
        self.id
    }
}

impl Drop for FabricLock {
    fn drop(&mut self) {
        // A remaining file counts as an abandoned fabric, and is removed as one.
        let _ = remove_lock(self.id);
    }
}

/// State of a fabric's lock.
pub(crate) enum LockState {
    /// The owner lives; which process it is, unless that has not been written yet.
    Held(Option<Process>),
    /// The owner died.
    Free,
    /// The lock file does not exist.
    Absent,
}

/// Reads the state of the lock of fabric `id`. Except for `Held`, the state is valid while the caller holds
/// [`run_directory::lock_fabrics`].
pub(crate) fn lock_state(id: FabricId) -> Result<LockState, Error> {
    let path = id.lock_path();
    let failed = |source| Error::file("look at the lock", &path, source);
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockState::Absent),
        file => file.map_err(failed)?,
    };
    run_directory::keep_others_out(&file).map_err(failed)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            file.read_to_string(&mut process).map_err(failed)?;
            Ok(LockState::Held(process.trim().parse().ok()))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
        // The owner removed the file after it was opened here, and ended.
        Ok(()) if file.metadata().map_err(failed)?.nlink() == 0 => Ok(LockState::Absent),
        Ok(()) => Ok(LockState::Free),
    }
}

/// Returns the processes that hold a lock on the file with this device and inode, from the text of `/proc/locks`.
fn holders_of((device, inode): (u64, u64), locks: &str) -> Vec<u32> {
    let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let holder = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // A process that waits for the lock has an arrow in the second place.
        let [_, "FLOCK", _, _, process, locked, ..] = fields[..] else { return None };
        process.parse().ok().filter(|_| locked == file)
    };
    locks.lines().filter_map(holder).collect()
}

/// Removes the lock of a fabric without an owner. A missing lock is not an error.
pub(crate) fn remove_lock(id: FabricId) -> Result<(), Error> {
    let path = id.lock_path();
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove", path, source))
        }
        _ => Ok(()),
    }
}

/// Returns every fabric that has a lock.
pub(crate) fn locked_fabrics() -> Result<Vec<FabricId>, Error> {
    file_names(run_directory::FABRICS)
        .map(|names| names.iter().filter_map(|name| FabricId::from_lock(name)).collect())
}

/// Returns the namespaces of all fabrics by full name, sorted.
pub(crate) fn namespace_names() -> Result<Vec<(FabricId, String)>, Error> {
    let mut ours: Vec<_> = file_names(run_directory::NAMESPACES)?
        .into_iter()
        .filter_map(|name| Some((FabricId::from_namespace(&name)?, name)))
        .collect();
    ours.sort();
    Ok(ours)
}

fn own(mut file: &File, owner: &str) -> io::Result<()> {
    file.lock()?;
    file.write_all(owner.as_bytes())
}

/// Returns the names in a directory; empty if the directory does not exist.
fn file_names(directory: &'static str) -> Result<Vec<String>, Error> {
    let failed = |source| Error::file("read", directory, source);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // Names of fabrics are ASCII; other names belong to other programs.
        if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_fabric() {
        let id: FabricId = "0f9a".parse().expect("four digits");
        let name = id.namespace_name("leaf-0");
        assert_eq!(name, "xoff-0f9a-leaf-0");
        assert_eq!(name.len(), FabricId::PREFIX_LEN + "leaf-0".len());
        assert_eq!(FabricId::from_namespace(&name), Some(id));
        assert_eq!(FabricId::from_lock("0f9a.lock"), Some(id));
    }

    #[test]
    fn the_holders_of_a_lock_are_those_of_its_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 00:1a:99 0 EOF\n2: FLOCK  ADVISORY  WRITE 812 00:1a:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 813 00:1a:99 0 EOF\n3: FLOCK  ADVISORY  READ  9 00:1b:99 0 EOF\n";
        let device = nix::sys::stat::makedev(0, 0x1a);
        assert_eq!(holders_of((device, 99), locks), [812]);
        assert_eq!(holders_of((device, 98), locks), [0; 0]);
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in
            ["", "xoff", "xoff-0f9a", "xoff-0f9a-", "xoff-0F9A-a", "xoff-f9a-a", "xoff-demo-a"]
        {
            assert_eq!(FabricId::from_namespace(name), None, "{name}");
        }
        for name in ["0f9a", "lock", ".lock", "+f9a.lock", "00f9a.lock"] {
            assert_eq!(FabricId::from_lock(name), None, "{name}");
        }
        assert!("3F9A".parse::<FabricId>().is_err());
    }
}
