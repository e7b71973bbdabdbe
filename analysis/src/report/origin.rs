//! Origin of a run: its command and date.

use std::path::Path;
use std::time::UNIX_EPOCH;

use results::Manifest;

/// Returns the command of a run, if its manifest has one.
pub fn command(folder: &Path) -> Option<String> {
    let words = Manifest::from_run(folder)?.command;
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns the date of the results' manifest, in UTC.
pub fn date(folder: &Path) -> Option<String> {
    let time = folder.join(Manifest::FILE).metadata().ok()?.modified().ok()?;
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(written(seconds))
}

/// Writes seconds since 1970 as a date of the Gregorian calendar, whose cycle has 400 years.
fn written(seconds: u64) -> String {
    // Years begin in March, so that a leap day is the last day of a year; day 0 is 1 March 0000.
    let days = seconds / 86_400 + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (cycle * 400 + year + month / 10, (month + 2) % 12 + 1);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let dates = [0, 951_782_399, 951_782_400, 1_709_251_199, 4_102_444_800].map(written);
        assert_eq!(
            dates,
            [
                "1970-01-01 00:00 UTC",
                "2000-02-28 23:59 UTC",
                "2000-02-29 00:00 UTC",
                "2024-02-29 23:59 UTC",
                "2100-01-01 00:00 UTC",
            ]
        );
    }
}
