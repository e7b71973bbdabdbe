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

    /// An empty file. Errors name `path`.
    pub fn new(writer: W, path: &Path) -> Self {
        Self { out: BufWriter::with_capacity(Self::BUFFER_BYTES, writer), path: path.to_owned() }
    }

    /// Adds the output of `fill`.
    pub fn write(
        &mut self,
        fill: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>,
    ) -> Result<(), ResultsError> {
        let written = fill(&mut self.out);
        self.check(written)
    }

    /// Empties the buffer.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        let written = self.out.flush();
        self.check(written)
    }

    /// Empties the buffer and closes the file.
    pub fn finish(mut self) -> Result<(), ResultsError> {
        self.flush()
    }

    fn check(&self, written: io::Result<()>) -> Result<(), ResultsError> {
        written.map_err(|source| ResultsError::Write { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    /// `/dev/full` has never any space.
    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let open = || {
            let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
            TextFile::new(full, Path::new("out/flows.csv"))
        };
        let says = "cannot write out/flows.csv: No space left on device";
        let mut buffered = open();
        buffered.write(|out| out.write_all(b"a line")).unwrap();
        let at_the_end = buffered.finish().unwrap_err().to_string();
        assert!(at_the_end.starts_with(says), "{at_the_end}");
        let large = vec![0; TextFile::<std::fs::File>::BUFFER_BYTES + 1];
        let at_once = open().write(|out| out.write_all(&large)).unwrap_err().to_string();
        assert!(at_once.starts_with(says), "{at_once}");
    }
}
