//! Origin of a run: its command and date.

use std::path::Path;
use std::time::UNIX_EPOCH;

use results::Manifest;

/// Seconds from 1970 to the year 10000.
const YEAR_10000: u64 = 253_402_300_800;

/// Returns the command of a run, if its manifest has one.
pub fn command(folder: &Path) -> Option<String> {
    let words = Manifest::from_run(folder)?.command;
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns the date of the results' manifest, in UTC (RFC 3339).
pub fn date(folder: &Path) -> Option<String> {
    let time = folder.join(Manifest::FILE).metadata().ok()?.modified().ok()?;
    // A time outside of the years 1970 to 9999 cannot be written.
    let seconds = time.duration_since(UNIX_EPOCH).ok()?;
    (seconds.as_secs() < YEAR_10000).then(|| humantime::format_rfc3339_seconds(time).to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_date_that_cannot_be_written_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(Manifest::FILE);
        fs::write(&path, "").unwrap();
        let file = File::options().write(true).open(path).unwrap();
        let day = Duration::from_hours(24);
        file.set_modified(UNIX_EPOCH + 2 * day).unwrap();
        assert_eq!(date(folder.path()).as_deref(), Some("1970-01-03T00:00:00Z"));
        file.set_modified(UNIX_EPOCH - day).unwrap();
        assert_eq!(date(folder.path()), None);
    }
}
