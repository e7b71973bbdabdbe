//! A file that reports even the error of closing it: over NFS, a full disk may show only when the file is closed.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::ResultsError;

/// The first error of files that could not be closed, with the file's path.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures(Arc<Mutex<Option<(PathBuf, io::Error)>>>);

impl Failures {
    /// The error, if a file that was closed by now had one.
    pub fn check(&self) -> Result<(), ResultsError> {
        let failure = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), |(path, source)| Err(ResultsError::Write { path, source }))
    }

    fn add(&self, path: &Path, error: io::Error) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| (path.to_owned(), error));
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct StagedFile {
    /// Taken when it is closed.
    file: Option<File>,
    /// Path for errors.
    path: PathBuf,
    failures: Failures,
}

impl StagedFile {
    pub(super) fn new(file: File, path: PathBuf, failures: Failures) -> Self {
        Self { file: Some(file), path, failures }
    }

    fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("it is closed only when it is dropped")
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        if let Err(error) = nix::unistd::close(file) {
            self.failures.add(&self.path, error.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_that_could_not_be_closed_is_reported() {
        let failures = Failures::default();
        let temp = tempfile::tempdir().unwrap();
        let file = File::create(temp.path().join("flows.csv")).unwrap();
        drop(StagedFile::new(file, "flows.csv".into(), failures.clone()));
        failures.check().expect("it was closed");
        for name in ["flows.csv", "drops.csv"] {
            failures.add(Path::new(name), io::ErrorKind::StorageFull.into());
        }
        let error = failures.check().unwrap_err().to_string();
        assert!(error.starts_with("cannot write flows.csv"), "{error}");
        failures.check().expect("it is reported once");
    }
}
