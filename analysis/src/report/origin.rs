//! Origin of a run: its build, its command, its date, and its place in a sweep.

use std::fmt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use results::{Manifest, TableReader};
use serde::Serialize;
use sweep::{RUNS, RUNS_TABLE};

use super::sweep_axis::short_key;

/// Max number of digits of a build that are shown.
const DIGITS: usize = 12;
/// Seconds from 1970 to the year 10000.
const YEAR_10000: u64 = 253_402_300_800;

/// Build of xoff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Build {
    /// Version; `None` if the run has no manifest.
    pub version: Option<String>,
    /// Commit of a release.
    pub git_commit: Option<String>,
    /// Identification of the build among builds of the version.
    pub build_id: Option<String>,
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(version) = &self.version else {
            return write!(f, "without {}, so of an unknown build of xoff", Manifest::FILE);
        };
        write!(f, "xoff {version}")?;
        let short = |text: &String| text.chars().take(DIGITS).collect::<String>();
        match (&self.git_commit, &self.build_id) {
            (Some(commit), _) => write!(f, " commit {}", short(commit)),
            (None, Some(id)) => write!(f, " build {}", short(id)),
            (None, None) => Ok(()),
        }
    }
}

/// Returns the build of xoff that made a run.
pub fn build(folder: &Path) -> Build {
    let of = |it: Manifest| Build {
        version: Some(it.version),
        git_commit: it.git_commit,
        build_id: it.build_id,
    };
    Manifest::from_run(folder).map(of).unwrap_or_default()
}

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

/// Describes the value of an axis: the last parts of its key, as few as no other of the keys ends with, and the value.
pub fn choice(key: &str, value: &str, keys: &[String]) -> String {
    format!("{} {value}", short_key(key, keys))
}

/// Returns the values of the axes and the seed of a sweep's run: `alpha 1/4, seed 2`. `None` if the folder is not one of a
/// sweep's runs, or if the sweep has no table yet.
pub fn choices(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let runs = folder.parent().filter(|runs| runs.file_name().is_some_and(|name| name == RUNS))?;
    let run = folder.file_name()?.to_str()?;
    let mut table = TableReader::open(runs.parent()?, RUNS_TABLE).ok()?;
    let [seed, name] = ["seed", "run"].map(|column| table.column(column));
    let (seed, name) = (seed?, name?);
    // The columns before the seed are the axes.
    let keys: Vec<String> = table.columns().iter().take(seed).map(str::to_owned).collect();
    while table.advance().ok()? {
        if table.field(name) == run {
            let axes = keys.iter().enumerate();
            let axes = axes.map(|(axis, key)| choice(key, table.field(axis), &keys));
            let all = axes.chain([format!("seed {}", table.field(seed))]);
            return Some(all.collect::<Vec<_>>().join(", "));
        }
    }
    None
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

    #[test]
    fn a_run_of_a_sweep_is_called_by_its_axes() {
        let sweep = tempfile::tempdir().unwrap();
        let run = sweep.path().join("runs/07");
        fs::create_dir_all(&run).unwrap();
        assert_eq!(choices(&run), None, "without a table");
        let rows = "switch.threshold.alpha,headroom.kind,seed,run,state,metric,value\n\
                    1/2,sih,1,05,complete,cnps,0\n1/4,dsh,2,07,complete,cnps,0\n";
        fs::write(sweep.path().join(RUNS_TABLE), rows).unwrap();
        assert_eq!(choices(&run).as_deref(), Some("alpha 1/4, headroom.kind dsh, seed 2"));
        let other = sweep.path().join("runs/08");
        fs::create_dir_all(&other).unwrap();
        assert_eq!(choices(&other), None, "a run that is not in the table");
        assert_eq!(choices(sweep.path()), None);
    }
}
