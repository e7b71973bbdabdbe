//! Identification of this build of the program among builds of one version.

use std::fmt::Write;
use std::fs::File;
use std::io;
use std::sync::OnceLock;

use object::Object;
use object::read::{File as Executable, ReadCache};
use sha2::{Digest, Sha256};

/// Commit of a release, given by its build; otherwise the [`id`] of the running executable.
pub fn name() -> &'static str {
    commit().or_else(id).unwrap_or_default()
}

/// The commit that a release is built from.
pub const fn commit() -> Option<&'static str> {
    option_env!("XOFF_GIT_COMMIT")
}

/// The build id that the linker wrote into this process's executable (`readelf --notes`), in hexadecimal digits; of one
/// without it the SHA-256. `None` if the executable cannot be read.
pub fn id() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND.get_or_init(|| find().ok()).as_deref()
}

fn find() -> io::Result<String> {
    let file = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?))?;
    let cache = ReadCache::new(&file);
    let id = Executable::parse(&cache).ok().and_then(|it| it.build_id().ok()?.map(hex));
    id.map_or_else(|| digest(&file), Ok)
}

fn digest(mut file: &File) -> io::Result<String> {
    io::Seek::rewind(&mut file)?;
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes every write");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_build() {
        let id = super::id().expect("the executable can be read");
        assert!(id.len() >= 16 && id.bytes().all(|it| it.is_ascii_hexdigit()), "{id}");
        assert_eq!(find().unwrap(), id);
        let file = File::open("/proc/self/exe").unwrap();
        assert_eq!(digest(&file).unwrap().len(), 64);
    }
}
