//! A temporary folder for the tables of a run without results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that a run creates, and that is removed when this value is dropped.
#[derive(Debug)]
pub struct LentFolder(PathBuf);

impl LentFolder {
    /// Returns an unused path below the folder for temporary files. The run creates the folder, so that its guardian
    /// removes it if the run is killed.
    pub fn new() -> io::Result<Self> {
        let free = tempfile::Builder::new().prefix("xoff-tables-").tempdir();
        free.and_then(|folder| {
            let path = folder.path().to_owned();
            folder.close().map(|()| Self(path))
        })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for LentFolder {
    fn drop(&mut self) {
        // A run that failed has already removed it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
