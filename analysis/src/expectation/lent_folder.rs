//! A folder for the tables of a run that leaves none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that a run makes, and that is removed with this.
#[derive(Debug)]
pub struct LentFolder(PathBuf);

impl LentFolder {
    /// A path where nothing is, below the folder for temporary files. The run makes the folder, so that its guardian
    /// removes it if the run is killed.
    pub fn new() -> io::Result<Self> {
        let free = tempfile::Builder::new().prefix("xoff-tables-").tempdir();
        free.and_then(|folder| {
            let path = folder.path().to_owned();
            folder.close().map(|()| Self(path))
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for LentFolder {
    fn drop(&mut self) {
        // A run that failed has removed it itself.
        let _ = fs::remove_dir_all(&self.0);
    }
}
