//! The folder of a sweep: complete runs, and the tables.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use results::folder_lock::{self, Sharing};
use results::{Manifest, Metrics, ResultsError, RunEnd, Summary, TableFormat, counted};

use super::place::{self, Abandoned, Place};
use super::plan::{Plan, Run};
use super::run_id::RunId;
use super::tables::{self, Survey};
use crate::replace::{PARTIAL, Replacement, is_abandoned, replace};

/// Copy of the sweep file, by which a later sweep recognizes the folder.
pub const SWEEP_FILE: &str = "sweep.toml";
/// Table of runs.
pub const RUNS_TABLE: &str = "sweep.csv";
/// Table of cells.
pub const CELLS_TABLE: &str = "summary.csv";
/// Parent of the runs' folders.
pub const RUNS: &str = "runs";
/// Folder of the descriptions of a cluster's jobs.
const JOBS: &str = "jobs";

/// A sweep's folder, locked while this value and the process live.
#[derive(Debug)]
pub struct SweepFolder {
    folder: PathBuf,
    format: TableFormat,
    /// Holds the lock, if there is one.
    _lock: Option<File>,
}

/// Results of a run that came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// Numbers of the run.
    pub metrics: Metrics,
    /// Completeness of the run.
    pub state: RunState,
    /// Reason why the run is not sound, if it is not.
    pub doubt: Option<String>,
    /// Wall time of the run.
    pub wall: Duration,
    /// Processor on which the run was executed.
    pub processor: String,
}

/// Completeness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Every flow that should end has completed.
    Complete,
    /// The duration ended before every flow had completed and the fabric had drained.
    Incomplete,
    /// The run stopped at a deadlock, as its scenario requests.
    Deadlock,
}

impl RunState {
    /// Returns the state; `None` if the run was interrupted or failed, and so has to be executed again.
    fn from_summary(summary: &Summary) -> Option<Self> {
        match summary.ended {
            RunEnd::Interrupted | RunEnd::Failed => None,
            RunEnd::Deadlock => Some(Self::Deadlock),
            _ if summary.unfinished.is_some() => Some(Self::Incomplete),
            RunEnd::Drained | RunEnd::Duration | RunEnd::Window => Some(Self::Complete),
        }
    }

    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Deadlock => "deadlock",
        }
    }
}

/// Other users of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// None: tables are written.
    Alone,
    /// Processes on this machine that execute single runs.
    Shared,
    /// Processes on any machine that execute parts of the sweep. There is no lock, because some file systems show a
    /// lock only to the machine that holds it.
    Everyone,
    /// A task of a job, with tasks on other machines. Its sweep file may be older than the folder's, which stays.
    Task,
}

impl SweepFolder {
    /// Creates `folder` (with its parents), locks it and writes the sweep file's text into it. The folder may contain
    /// only an earlier sweep, whose complete runs are kept.
    pub fn claim(
        folder: &Path,
        sweep_text: &str,
        format: TableFormat,
        claim: Claim,
    ) -> Result<Self, ResultsError> {
        if folder.exists() && !folder.is_dir() {
            return Err(ResultsError::NotAFolder(folder.to_owned()));
        }
        fs::create_dir_all(folder).map_err(ResultsError::folder("create", folder))?;
        let acquire = |sharing| {
            let removed =
                || ResultsError::folder("lock", folder)(io::Error::other("it was removed"));
            folder_lock::acquire(folder, sharing)?.ok_or_else(removed).map(Some)
        };
        let lock = match claim {
            Claim::Alone => acquire(Sharing::Alone)?,
            Claim::Shared => acquire(Sharing::Shared)?,
            Claim::Everyone | Claim::Task => None,
        };
        let this = Self { folder: folder.to_owned(), format, _lock: lock };
        this.check_entries()?;
        if claim == Claim::Alone {
            this.remove_partial();
        }
        let found = fs::read_to_string(folder.join(SWEEP_FILE)).ok();
        let stays = claim == Claim::Task && found.is_some();
        if !stays && found.as_deref() != Some(sweep_text) {
            this.replace(SWEEP_FILE, sweep_text.as_bytes())?;
        }
        let runs = folder.join(RUNS);
        fs::create_dir_all(&runs).map_err(ResultsError::folder("create", &runs))?;
        if matches!(claim, Claim::Alone | Claim::Shared) {
            place::clear(&runs, Abandoned::Here);
        }
        Ok(this)
    }

    /// Returns the folder of a run's results.
    pub fn run_folder(&self, id: &RunId) -> PathBuf {
        run_folder(&self.folder, id)
    }

    /// Returns the place where an execution of a run writes.
    pub(super) fn place(&self, id: &RunId) -> Place {
        Place::new(&self.folder.join(RUNS), id)
    }

    /// Returns the results of a run, if it came to its end and is trustworthy: the substrate lost nothing, and the
    /// books balance.
    pub fn result(&self, id: &RunId) -> Option<RunResult> {
        result_in(&self.folder, id)
    }

    /// Returns the number of runs that have appeared, in any state: one listing, without opening files.
    pub fn count_appeared(&self) -> usize {
        count_appeared(&self.folder)
    }

    /// Returns the format of the tables.
    pub const fn format(&self) -> TableFormat {
        self.format
    }

    /// Replaces both tables, each atomically, by tables of the complete runs. Tables that another process has written
    /// meanwhile may contain more runs, so they are not replaced by tables of fewer runs.
    pub fn write_tables(&self, plan: &Plan) -> Result<(Survey, [PathBuf; 2]), ResultsError> {
        loop {
            if let Some(written) = self.try_write_tables(plan)? {
                return Ok(written);
            }
        }
    }

    /// Returns `None` if another process wrote the tables meanwhile.
    fn try_write_tables(
        &self,
        plan: &Plan,
    ) -> Result<Option<(Survey, [PathBuf; 2])>, ResultsError> {
        let paths = [RUNS_TABLE, CELLS_TABLE].map(|it| self.folder.join(self.format.file(it)));
        let versions = || paths.each_ref().map(|path| version(path));
        let found = versions();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ResultsError::Write { path, source }
        };
        let begin = |path: &PathBuf| {
            let begun = Replacement::begin(path).and_then(|it| Ok((it.writer()?, it)));
            begun.map_err(failed(path))
        };
        let ((runs, new_runs), (cells, new_cells)) = (begin(&paths[0])?, begin(&paths[1])?);
        let source = |run: &Run| self.result(&run.id);
        let survey = Survey::new(plan, &source);
        tables::write(plan, &survey, &source, self.format, [runs, cells])?;
        if versions() != found {
            return Ok(None);
        }
        new_runs.finish().map_err(failed(&paths[0]))?;
        new_cells.finish().map_err(failed(&paths[1]))?;
        if survey.done() == plan.runs.len() {
            let ids = plan.runs.iter().map(|run| run.id.to_string()).collect();
            place::clear(&self.folder.join(RUNS), Abandoned::Of(&ids));
        }
        Ok(Some((survey, paths)))
    }

    fn replace(&self, name: &str, text: &[u8]) -> Result<PathBuf, ResultsError> {
        let path = self.folder.join(name);
        let failed = |source| ResultsError::Write { path: path.clone(), source };
        replace(&path, text).map_err(failed)?;
        Ok(path)
    }

    /// Removes partial files of killed sweeps.
    fn remove_partial(&self) {
        for name in self.entries().unwrap_or_default() {
            if is_abandoned(&name) {
                // A file that stays is harmless.
                let _ = fs::remove_file(self.folder.join(name));
            }
        }
    }

    fn entries(&self) -> Result<Vec<String>, ResultsError> {
        let entries = fs::read_dir(&self.folder).and_then(|entries| {
            let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            entries.map(|entry| entry.map(name)).collect()
        });
        entries.map_err(ResultsError::folder("read", &self.folder))
    }

    /// Refuses files that no sweep wrote, and tables in another format.
    fn check_entries(&self) -> Result<(), ResultsError> {
        let names = self.entries()?;
        let is_sweep = names.iter().any(|name| name == SWEEP_FILE);
        let ours = |name: &String| {
            let whole = [SWEEP_FILE, RUNS, JOBS].contains(&name.as_str()) || format(name).is_some();
            name.starts_with(PARTIAL) || is_sweep && whole
        };
        if let Some(entry) = names.iter().filter(|name| !ours(name)).min() {
            let (folder, entry) = (self.folder.clone(), entry.clone());
            return Err(ResultsError::Occupied { folder, entry });
        }
        let other = names.iter().filter_map(|name| format(name)).find(|it| *it != self.format);
        other.map_or(Ok(()), |found| {
            let (folder, asked) = (self.folder.clone(), self.format);
            Err(ResultsError::OtherFormat { folder, found, asked })
        })
    }
}

/// Returns attributes that distinguish a file from its replacement. The file is opened, because NFS clients then query
/// the server.
fn version(path: &Path) -> Option<(u64, i64, i64)> {
    let metadata = File::open(path).and_then(|file| file.metadata()).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
}

/// Returns the format of a file, if it is one of a sweep's tables.
fn format(name: &str) -> Option<TableFormat> {
    let is = |format: &TableFormat| {
        [RUNS_TABLE, CELLS_TABLE].iter().any(|table| format.file(table) == name)
    };
    TableFormat::ALL.into_iter().find(is)
}

/// Returns the results of a run of the sweep in a folder, without a claim on the folder.
pub fn result_in(folder: &Path, id: &RunId) -> Option<RunResult> {
    let folder = run_folder(folder, id);
    let manifest = Manifest::from_run(&folder)?;
    let json = fs::read(folder.join(Summary::FILE)).ok()?;
    let summary: Summary = serde_json::from_slice(&json).ok()?;
    let state = RunState::from_summary(&summary)?;
    distrust(&summary).is_none().then(|| RunResult {
        metrics: Metrics::new(&summary),
        state,
        doubt: doubt(&summary),
        // A damaged file may contain any number.
        wall: Duration::try_from_secs_f64(summary.wall_seconds).unwrap_or_default(),
        processor: manifest.processor,
    })
}

/// Returns the folder with the jobs of a sweep.
pub fn jobs(folder: &Path) -> PathBuf {
    folder.join(JOBS)
}

/// Returns the names of runs in a sweep's folder that have appeared, in any state: one listing, without opening files.
pub fn appeared(folder: &Path) -> impl Iterator<Item = OsString> {
    let entries = fs::read_dir(folder.join(RUNS)).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter(|name| !place::is_growing(name))
}

/// Returns the number of runs that have appeared in a sweep's folder.
pub fn count_appeared(folder: &Path) -> usize {
    appeared(folder).count()
}

/// Returns the reason why a run's numbers are not trustworthy, if so.
pub(super) fn distrust(summary: &Summary) -> Option<String> {
    let lost = summary.drops.substrate;
    let lost = (lost > 0)
        .then(|| format!("the machine below the emulation lost {}", counted(lost, "frame")));
    let reasons: Vec<String> = lost.into_iter().chain(summary.books.iter().cloned()).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn run_folder(folder: &Path, id: &RunId) -> PathBuf {
    folder.join(RUNS).join(id.to_string())
}

/// Returns the reason why a trustworthy run is not sound, if so.
fn doubt(summary: &Summary) -> Option<String> {
    let Summary { flows_completed, flows_total, unfinished, limits_reached, .. } = summary;
    let completed = format!("{flows_completed} of {flows_total} flows completed");
    let unfinished = unfinished.iter().flat_map(|why| [completed.clone(), why.clone()]);
    let doubts: Vec<String> = unfinished.chain(limits_reached.iter().cloned()).collect();
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

#[cfg(test)]
mod tests {
    use results::DropTotals;

    use super::*;
    use crate::made_up;

    /// Returns the results that a sweep finds for a run with this summary, and a manifest if `manifest` is true.
    fn found(summary: &Summary, manifest: bool) -> Option<RunResult> {
        let temp = tempfile::tempdir().unwrap();
        let id = RunId::for_tests();
        let folder = run_folder(temp.path(), &id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(Summary::FILE), summary.to_json()).unwrap();
        if manifest {
            let json = serde_json::to_string(&Manifest::for_this_process()).unwrap();
            fs::write(folder.join(Manifest::FILE), json).unwrap();
        }
        result_in(temp.path(), &id)
    }

    #[test]
    fn only_whole_runs_that_can_be_believed_are_taken_over() {
        let sound = Summary { flows_total: 2, flows_completed: 2, ..Summary::default() };
        assert_eq!(found(&sound, true).map(|run| run.state), Some(RunState::Complete));
        assert_eq!(found(&sound, false), None, "without a manifest");
        let drops = DropTotals { substrate: 1, ..DropTotals::default() };
        assert_eq!(found(&Summary { drops, ..sound.clone() }, true), None, "with a lost frame");
        let interrupted = Summary { ended: RunEnd::Interrupted, ..sound.clone() };
        assert_eq!(found(&interrupted, true), None, "of an interrupted run");
        let books = vec!["one frame more was sent than received".into()];
        assert_eq!(found(&Summary { books, ..sound }, true), None, "with wrong books");
        let folder = Path::new("/nowhere");
        assert_eq!(result_in(folder, &RunId::for_tests()), None);
    }

    #[test]
    fn a_result_says_how_much_of_its_run_there_is() {
        let run = |flows_completed, ended, cut: bool| {
            let unfinished = cut.then(|| "frames were left".to_owned());
            let rest = Summary::default();
            let summary = Summary { flows_total: 2, flows_completed, ended, unfinished, ..rest };
            let result = found(&summary, true).unwrap();
            (result.state, result.doubt)
        };
        let cut = |flows| format!("{flows} of 2 flows completed; frames were left");
        assert_eq!(run(2, RunEnd::Drained, false), (RunState::Complete, None));
        // Flows that should last until the end are not missing.
        assert_eq!(run(2, RunEnd::Duration, false), (RunState::Complete, None));
        assert_eq!(run(2, RunEnd::Duration, true), (RunState::Incomplete, Some(cut(2))));
        assert_eq!(run(1, RunEnd::Duration, true), (RunState::Incomplete, Some(cut(1))));
        assert_eq!(run(1, RunEnd::Deadlock, false), (RunState::Deadlock, None));
        // Losses at a limit may be the subject of a sweep.
        let limits_reached = vec!["s0 dropped 3 packets".to_owned()];
        let lossy = found(&Summary { limits_reached, ..Summary::default() }, true).unwrap();
        assert_eq!(lossy.state, RunState::Complete);
        assert_eq!(lossy.doubt.as_deref(), Some("s0 dropped 3 packets"));
    }

    fn claim(folder: &Path, claim: Claim) -> Result<SweepFolder, ResultsError> {
        SweepFolder::claim(folder, "seeds = 2\n", TableFormat::Csv, claim)
    }

    fn read(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[test]
    fn a_folder_is_claimed_by_one_alone_or_by_several_that_run_single_runs() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("a/b");
        let is_busy = |wanted| matches!(claim(&folder, wanted), Err(ResultsError::Busy(busy)) if busy == folder);
        let alone = claim(&folder, Claim::Alone).unwrap();
        assert_eq!(read(&folder, "sweep.toml"), "seeds = 2\n");
        assert!(folder.join("runs").is_dir());
        assert_eq!(alone.run_folder(&RunId::for_tests()), folder.join("runs/0123456789abcdef"));
        assert!(is_busy(Claim::Alone) && is_busy(Claim::Shared));
        drop(alone);
        let shared = [Claim::Shared; 2].map(|wanted| claim(&folder, wanted).unwrap());
        assert!(is_busy(Claim::Alone));
        drop(shared);
        SweepFolder::claim(&folder, "seeds = 3\n", TableFormat::Csv, Claim::Alone).unwrap();
        assert_eq!(read(&folder, "sweep.toml"), "seeds = 3\n", "that of the later sweep");
    }

    #[test]
    fn what_no_sweep_wrote_is_not_touched() {
        let refused = |names: &[&str]| {
            let temp = tempfile::tempdir().unwrap();
            for name in names {
                fs::write(temp.path().join(name), "").unwrap();
            }
            match claim(temp.path(), Claim::Alone) {
                Ok(_) => None,
                Err(ResultsError::Occupied { entry, .. }) => Some(entry),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(refused(&["notes", "letter"]).as_deref(), Some("letter"), "the first by name");
        for name in ["sweep.csv", "summary.csv", "runs"] {
            assert_eq!(refused(&[name]).as_deref(), Some(name), "without a sweep file");
        }
        assert_eq!(refused(&["sweep.toml", "sweep.csv", "summary.csv"]), None);
        assert_eq!(refused(&["sweep.toml", "letter"]).as_deref(), Some("letter"));
        assert_eq!(refused(&[".xoff-partial-1-sweep.toml"]), None, "a killed sweep left it");
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(claim(file.path(), Claim::Alone), Err(ResultsError::NotAFolder(_))));
    }

    #[test]
    fn only_who_is_alone_removes_what_is_half_written() {
        let temp = tempfile::tempdir().unwrap();
        let dead = crate::replace::dead_process();
        let partial = temp.path().join(format!(".xoff-partial-{dead}-sweep.csv"));
        fs::write(&partial, "").unwrap();
        claim(temp.path(), Claim::Shared).unwrap();
        assert!(partial.exists(), "another sweep may be writing it");
        claim(temp.path(), Claim::Alone).unwrap();
        assert!(!partial.exists());
    }

    #[test]
    fn tables_of_a_folder_stay_in_one_format() {
        let temp = tempfile::tempdir().unwrap();
        let claim = |format, claim| SweepFolder::claim(temp.path(), "seeds = 2\n", format, claim);
        let folder = claim(TableFormat::Parquet, Claim::Alone).unwrap();
        let paths = |folder: &SweepFolder| folder.write_tables(&made_up::plan()).unwrap().1;
        let expected = ["sweep", "summary"].map(|it| temp.path().join(format!("{it}.parquet")));
        assert_eq!(paths(&folder), expected);
        drop(folder);
        for wanted in [Claim::Alone, Claim::Shared] {
            let error = claim(TableFormat::Csv, wanted).unwrap_err().to_string();
            let what = "the tables of this sweep as parquet, and csv is asked for: go on with --format parquet, \
                        or name another folder with --out";
            assert_eq!(error, format!("{} has {what}", temp.path().display()));
        }
        let folder = claim(TableFormat::Parquet, Claim::Alone).unwrap();
        assert_eq!(paths(&folder), expected);
    }

    #[test]
    fn tables_are_replaced_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let folder = claim(temp.path(), Claim::Alone).unwrap();
        let plan = made_up::plan();
        fs::write(temp.path().join("sweep.csv"), "old").unwrap();
        let (survey, paths) = folder.write_tables(&plan).unwrap();
        assert_eq!(survey.done(), 0);
        assert_eq!(paths, ["sweep.csv", "summary.csv"].map(|it| temp.path().join(it)));
        assert_eq!(
            read(temp.path(), "sweep.csv"),
            "switch.buffer,seed,run,state,metric,value\n",
            "the old one is replaced"
        );
        fs::remove_file(temp.path().join("sweep.csv")).unwrap();
        fs::create_dir_all(temp.path().join("sweep.csv/in-the-way")).unwrap();
        let error = folder.write_tables(&plan).unwrap_err();
        assert!(matches!(error, ResultsError::Write { .. }), "{error}");
        let left = folder.entries().unwrap();
        assert!(!left.iter().any(|name| name.starts_with(PARTIAL)), "{left:?}");
    }

    #[test]
    fn a_summary_is_believed_unless_frames_were_lost_or_books_are_wrong() {
        assert_eq!(distrust(&Summary::default()), None);
        let drops = DropTotals { substrate: 1, ..DropTotals::default() };
        let books = vec!["the pool's total is 2".into()];
        let unfinished = Some("frames were left".into());
        let wrong = Summary { drops, unfinished, books, ..Summary::default() };
        let text = "the machine below the emulation lost 1 frame; the pool's total is 2";
        assert_eq!(distrust(&wrong).as_deref(), Some(text));
    }
}
