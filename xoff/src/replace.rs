//! Files that are replaced at once.

use std::path::Path;
use std::{fs, io};

/// What a file is called while it is written.
pub const PARTIAL: &str = ".xoff-partial-";

/// Writes a file whole, or leaves what was there. A link stays, and the file that it names is replaced.
pub fn replace(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!("{PARTIAL}{}-{name}", std::process::id()));
    fs::write(&partial, contents).and_then(|()| fs::rename(&partial, path)).inspect_err(|_| {
        // The error to show is the one that there is.
        let _ = fs::remove_file(&partial);
    })
}
