//! The machine's whole file system: an archive that the kernel unpacks into memory (the format "newc" of
//! cpio, `Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// An archive under construction.
#[derive(Debug, Default)]
pub struct Initramfs {
    bytes: Vec<u8>,
    directories: BTreeSet<PathBuf>,
    entries: u32,
}

impl Initramfs {
    /// Adds a folder and its parents.
    pub fn directory(&mut self, path: &Path) {
        let Some(parent) = path.parent() else { return };
        self.directory(parent);
        if self.directories.insert(path.to_owned()) {
            self.entry(path, DIRECTORY, &[]);
        }
    }

    /// Adds a file, which may be executed.
    pub fn file(&mut self, path: impl AsRef<Path>, content: &[u8]) {
        let path = path.as_ref();
        if let Some(parent) = path.parent() {
            self.directory(parent);
        }
        self.entry(path, PROGRAM, content);
    }

    /// The archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(Path::new("/TRAILER!!!"), 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &Path, mode: u32, content: &[u8]) {
        let name = path.strip_prefix("/").unwrap_or(path).as_os_str().as_encoded_bytes();
        self.entries += 1;
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("cpio has 32 bits for it");
        let [links, size, name_size] = [1, length(content), length(name) + 1];
        // Inode, mode, user, group, links, time, size, four numbers of devices, length of the name, sum.
        let fields = [self.entries, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
        self.bytes.extend(name);
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    /// Names and contents begin and end at multiples of four bytes.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_byte_by_byte() {
        let mut initramfs = Initramfs::default();
        initramfs.file("/bin/a", b"hello");
        initramfs.file("/bin/b", b"");
        let archive = String::from_utf8(initramfs.finish()).unwrap();
        let zero = "00000000";
        let directory = format!(
            "07070100000001000041ed{zero}{zero}00000001{zero}{zero}{zero}{zero}{zero}{zero}00000004{zero}\
             bin\0\0\0"
        );
        let file = format!(
            "07070100000002000081ed{zero}{zero}00000001{zero}00000005{zero}{zero}{zero}{zero}00000006{zero}\
             bin/a\0hello\0\0\0"
        );
        assert!(archive.starts_with(&(directory + &file)), "{archive:?}");
        assert_eq!(archive.matches("bin/b\0").count(), 1);
        assert!(
            archive.ends_with("TRAILER!!!\0\0\0\0") && archive.len().is_multiple_of(4),
            "{archive:?}"
        );
    }
}
