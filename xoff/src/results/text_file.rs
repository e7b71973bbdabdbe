//! A file of lines that leaves memory as it grows.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::ResultsError;

/// A buffered file; its errors name it.
pub struct TextFile<W: Write> {
    out: BufWriter<W>,
    path: PathBuf,
}

impl<W: Write> TextFile<W> {
    const BUFFER_BYTES: usize = 1 << 16;

    /// An empty file. `path` is what errors name.
    pub fn new(writer: W, path: &Path) -> Self {
        Self { out: BufWriter::with_capacity(Self::BUFFER_BYTES, writer), path: path.to_owned() }
    }

    /// Adds what `fill` writes.
    pub fn write(
        &mut self,
        fill: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>,
    ) -> Result<(), ResultsError> {
        let written = fill(&mut self.out);
        self.check(written)
    }

    /// Empties the buffer and closes the file.
    pub fn finish(mut self) -> Result<(), ResultsError> {
        let written = self.out.flush();
        self.check(written)
    }

    fn check(&self, written: io::Result<()>) -> Result<(), ResultsError> {
        written.map_err(|source| ResultsError::Write { path: self.path.clone(), source })
    }
}
