//! Origin of a run: its command and date.

use std::path::Path;

use results::Manifest;

/// Returns the command of a run, if its manifest has one.
pub fn command(folder: &Path) -> Option<String> {
    let words = Manifest::from_run(folder)?.command;
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns the date of the results' manifest, in UTC (RFC 3339).
pub fn date(folder: &Path) -> Option<String> {
    let time = folder.join(Manifest::FILE).metadata().ok()?.modified().ok()?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}
