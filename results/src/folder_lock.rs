//! The lock of a folder, which the kernel lets go of however the process that holds it ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::error::ResultsError;

/// Attempts to lock a folder in use, and the interval between them. A killed process holds its lock until its memory is
/// freed; its guardian then holds the lock while it removes the remains.
const ATTEMPTS: u32 = 200;
const INTERVAL: Duration = Duration::from_millis(5);

/// Other holders that a lock allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// No other holder.
    Alone,
    /// Others that share it, too.
    Shared,
}

/// Locks a folder; waits up to a second for holders about to release it. `None` if the folder is gone.
pub fn acquire(folder: &Path, sharing: Sharing) -> Result<Option<File>, ResultsError> {
    lock(folder, sharing, ATTEMPTS)
}

/// Locks a folder without waiting. `None` if the folder is gone.
pub fn try_acquire(folder: &Path, sharing: Sharing) -> Result<Option<File>, ResultsError> {
    lock(folder, sharing, 1)
}

fn lock(folder: &Path, sharing: Sharing, attempts: u32) -> Result<Option<File>, ResultsError> {
    let file = match File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(ResultsError::folder("open", folder))?,
    };
    for attempt in 1.. {
        let locked = match sharing {
            Sharing::Alone => file.try_lock(),
            Sharing::Shared => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if attempt >= attempts => {
                return Err(ResultsError::Busy(folder.to_owned()));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(INTERVAL),
            Err(TryLockError::Error(error)) => {
                return Err(ResultsError::folder("lock", folder)(error));
            }
        }
    }
    // Whoever held the lock before may have removed the folder.
    let inode = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let locked = file.metadata().map(inode).map_err(ResultsError::folder("read", folder))?;
    Ok((fs::metadata(folder).ok().map(inode) == Some(locked)).then_some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_for_a_moment_is_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        for (held, wanted) in [(Sharing::Alone, Sharing::Shared), (Sharing::Shared, Sharing::Alone)]
        {
            let lock = try_acquire(temp.path(), held).unwrap().expect("nobody has it");
            assert!(matches!(try_acquire(temp.path(), wanted), Err(ResultsError::Busy(_))));
            let holder = thread::spawn(move || {
                thread::sleep(INTERVAL);
                drop(lock);
            });
            assert!(acquire(temp.path(), wanted).unwrap().is_some());
            holder.join().unwrap();
        }
    }

    #[test]
    fn a_folder_that_is_gone_has_no_lock() {
        let temp = tempfile::tempdir().unwrap();
        assert!(acquire(&temp.path().join("nowhere"), Sharing::Alone).unwrap().is_none());
    }
}
