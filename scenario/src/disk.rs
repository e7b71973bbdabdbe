//! Reading of files from disk, with a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum length of a file, in bytes.
const MAX_LENGTH: u64 = 1 << 30;
/// Maximum length read from a pipe or device, in bytes. Its length is unknown beforehand, and `/dev/zero` never ends.
const MAX_STREAM_LENGTH: u64 = 64 << 20;

/// Reads a file from disk.
///
/// # Errors
/// Errors of the system, and an error if the file is too long.
pub fn from_disk(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let (most, noun) =
        if found.is_file() { (MAX_LENGTH, "file") } else { (MAX_STREAM_LENGTH, "pipe or device") };
    let too_long = || {
        let why = format!("it has more than {} MiB, which is too much for a {noun}", most >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, why)
    };
    if found.len() > most {
        return Err(too_long());
    }
    let mut text = String::new();
    let read = file.take(most + 1).read_to_string(&mut text)?;
    if read as u64 > most { Err(too_long()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        // The file is sparse.
        File::create(&path).unwrap().set_len(MAX_LENGTH + 1).unwrap();
        let why = from_disk(&path).unwrap_err().to_string();
        assert_eq!(why, "it has more than 1024 MiB, which is too much for a file");
        std::fs::write(&path, "a = 1\n").unwrap();
        assert_eq!(from_disk(&path).unwrap(), "a = 1\n");
        let why = from_disk(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(why, "it has more than 64 MiB, which is too much for a pipe or device");
        assert_eq!(from_disk(Path::new("/dev/null")).unwrap(), "");
    }
}
