//! Files that are replaced atomically.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;

/// Prefix of a file's name while it is written.
pub const PARTIAL: &str = ".xoff-partial-";

/// A file that is being written under a partial name. It is removed if it is dropped before [`Replacement::finish`].
#[derive(Debug)]
pub struct Replacement {
    file: File,
    partial: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl Replacement {
    /// Begins an empty file. A link at `path` stays, and the file that it names is replaced.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let partial = path.with_file_name(format!("{}{name}", own_start()));
        let file = File::create(&partial)?;
        Ok(Self { file, partial, path, finished: false })
    }

    /// Returns a handle for writing.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Replaces the old file. The new one is then on the disk, or, over NFS, on the server.
    pub fn finish(mut self) -> io::Result<PathBuf> {
        self.file.sync_all()?;
        fs::rename(&self.partial, &self.path)?;
        self.finished = true;
        Ok(self.path.clone())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.finished {
            // The first error is the one to report.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Writes a file completely, or keeps the old one. A link stays, and the file that it names is replaced.
pub fn replace(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let replacement = Replacement::begin(path)?;
    replacement.writer()?.write_all(contents.as_ref())?;
    replacement.finish().map(drop)
}

/// Returns true if a process of this machine was writing the file of this name when it died.
pub fn is_abandoned(name: &str) -> bool {
    name.strip_prefix(PARTIAL).is_some_and(is_of_dead_process)
}

/// Returns text that is unique to this process: this boot of this machine, the PID namespace (each container has one),
/// the PID, and a random number, because the other three may recur.
pub fn this_process() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let random = RandomState::new().hash_one(());
        format!("{}-{}-{}-{random:016x}", this_boot(), process_namespace(), process::id())
    });
    &NAME
}

/// Returns true if the process whose name begins `name` is certainly dead: it was in this PID namespace, and no longer
/// exists.
pub fn is_of_dead_process(name: &str) -> bool {
    let mut parts = name.splitn(4, '-');
    let (Some(boot), Some(namespace), Some(process)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    boot == this_boot() && namespace == process_namespace() && !is_alive(process)
}

fn is_alive(process: &str) -> bool {
    let Ok(stat) = fs::read_to_string(Path::new("/proc").join(process).join("stat")) else {
        return false;
    };
    // The state follows the process's name, which is in parentheses and may contain some. A zombie does nothing more.
    stat.rsplit_once(") ").is_none_or(|(_, rest)| !rest.starts_with('Z'))
}

fn process_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// Returns eight digits that identify this boot of this machine.
pub fn this_boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.chars().take(8).collect()
}

/// Returns a name as in [`this_process`], of a dead process: no process has such a large number.
#[cfg(test)]
pub fn dead_process() -> String {
    this_process().replace(&format!("-{}-", process::id()), "-4194304999-")
}

/// Returns the prefix of this process's partial files.
fn own_start() -> String {
    format!("{PARTIAL}{}-", this_process())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_finished_is_removed_and_the_old_one_stays() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("table.csv");
        replace(&path, "first").unwrap();
        let half = Replacement::begin(&path).unwrap();
        half.writer().unwrap().write_all(b"half").unwrap();
        drop(half);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_what_a_dead_process_of_this_machine_wrote_is_abandoned() {
        let (boot, namespace) = (this_boot(), process_namespace());
        assert_eq!(boot.len(), 8);
        let own = format!("{}sweep.csv", own_start());
        for (name, expected) in [
            (own.as_str(), false),
            (&format!("{PARTIAL}{boot}-{namespace}-4194304999-01234567-sweep.csv"), true),
            (&format!("{PARTIAL}{boot}-1-4194304999-01234567-sweep.csv"), false),
            (&format!("{PARTIAL}00000000-{namespace}-4194304999-01234567-sweep.csv"), false),
            (&format!("{PARTIAL}1-sweep.csv"), false),
            ("sweep.csv", false),
        ] {
            assert_eq!(is_abandoned(name), expected, "{name}");
        }
    }
}
