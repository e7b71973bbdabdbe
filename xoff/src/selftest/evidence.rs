//! What a bug report needs.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::bench::Bench;
use super::rig::Rig;
use super::verdict::Verdict;

/// A folder that goes when it is dropped.
pub fn lend() -> Result<TempDir, Verdict> {
    tempfile::Builder::new().prefix("xoff-selftest-").tempdir().map_err(|error| {
        let place = std::env::temp_dir().display().to_string();
        Verdict::fail("a folder for results (TMPDIR)", error.to_string(), place)
    })
}

/// Writes a file of a test's folder; says so if that cannot be.
pub fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let file = folder.join(name);
    if let Err(error) = fs::write(&file, content) {
        crate::commands::warn(format_args!("cannot write {}: {error}", file.display()));
    }
}

/// Keeps what the kernel knows of a rig, if that is asked for.
pub fn keep(_bench: &Bench<'_>, _rig: &Rig) {}

/// Keeps a run's results, if that is asked for.
pub fn keep_folder(_bench: &Bench<'_>, _folder: &Path) {}
