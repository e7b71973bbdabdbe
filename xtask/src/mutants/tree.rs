//! A copy of the sources with its own build, in which mutants are tried one at a time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::area::{Area, Tests};
use super::mutant::Mutant;
use crate::{packages, process, workspace};

/// Settings of every build and test. Backtraces are not read here. A property that fails needs no smaller example, and
/// must fail for the same mutants each time. A snapshot that differs is a failure, not a file to review. Link-time
/// optimisation within a crate, which `opt-level = 1` enables, is most of the work of compiling a mutant of xoff: 14 s
/// of processor time with it, 3 s without, and the tests are as fast.
const ENVIRONMENT: [(&str, &str); 7] = [
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
    ("CARGO_PROFILE_DEV_LTO", "off"),
    ("CARGO_PROFILE_TEST_LTO", "off"),
    ("INSTA_UPDATE", "no"),
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("PROPTEST_RNG_SEED", "1"),
];
/// Exit code of `timeout` if the command did not end in time.
const TIMED_OUT: i32 = 124;

/// The copy.
pub struct Tree {
    /// Holds the sources, their build and the log.
    folder: PathBuf,
    /// Content of every file at the start, so that edits do not affect a running campaign.
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Python for the memory rung; `None` if the rung does not run.
    python: Option<PathBuf>,
}

/// Outcome of tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All tests passed.
    Passed,
    /// One failed, or ended the process.
    Failed,
    /// The tests did not end in time.
    TimedOut,
    /// The tests do not compile.
    NotBuilt,
}

impl Tree {
    /// A copy of the workspace in `folder`, which may hold an older one.
    pub fn copy(folder: PathBuf, python: Option<PathBuf>) -> Result<Self> {
        let read = |file: PathBuf| {
            let content = fs::read(workspace::root().join(&file))
                .with_context(|| format!("reading {}", file.display()))?;
            Ok((file, content))
        };
        let files = workspace::files()?.into_iter().map(read).collect::<Result<_>>()?;
        let tree = Self { folder, files, python };
        tree.restore()?;
        Ok(tree)
    }

    /// Restores every file that differs from its content, and removes files that tests left, such as the seed of a
    /// property that failed. A restored file is compiled again.
    pub fn restore(&self) -> Result<()> {
        for (file, content) in &self.files {
            self.write(file, content)?;
        }
        self.remove_others(&self.sources())
    }

    /// Every mutant of `area`, by `cargo-mutants`.
    pub fn list(&self, cargo_mutants: &Path, area: Area) -> Result<Vec<Mutant>> {
        let mut command = Command::new(cargo_mutants);
        command.args(["mutants", "--list", "--json", "--no-config", "--package", area.package()]);
        command.args(["--file", area.files()]).current_dir(self.sources());
        serde_json::from_slice(&process::output(&mut command)?)
            .context("reading the list of cargo-mutants")
    }

    /// The text of a source file, without any mutant.
    pub fn read(&self, file: &str) -> Result<&str> {
        let content = self.files.get(Path::new(file));
        let content = content.with_context(|| format!("{file} is not a file of the project"))?;
        std::str::from_utf8(content).with_context(|| format!("{file} is not UTF-8"))
    }

    /// Writes a file of the copy, unless it already has this content.
    pub fn write(&self, file: &Path, content: &[u8]) -> Result<()> {
        let path = self.sources().join(file);
        let writing = || format!("writing {}", path.display());
        if fs::read(&path).is_ok_and(|held| held == content) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(writing)?;
        }
        fs::write(&path, content).with_context(writing)
    }

    /// Builds and runs `tests`; cargo's output goes to the log.
    pub fn test(&self, area: Area, tests: Tests, limit: Duration) -> Result<End> {
        let mut build = process::cargo("test");
        self.set_up(build.arg("--no-run"), area, tests)?;
        if !build.status().context("starting cargo")?.success() {
            return Ok(End::NotBuilt);
        }
        // `timeout` ends the test process together with cargo, even after this process was interrupted.
        let mut run = Command::new("timeout");
        let limit = limit.as_secs().to_string();
        run.args(["--kill-after=5", &limit]).arg(build.get_program()).arg("test");
        self.set_up(&mut run, area, tests)?;
        // Long tests, too: they notice what others do not.
        if matches!(tests, Tests::Memory) {
            run.args(["--", "--include-ignored"]);
        }
        let status = run.status().context("starting `timeout` of coreutils")?;
        Ok(match status.code() {
            Some(TIMED_OUT) => End::TimedOut,
            _ if status.success() => End::Passed,
            _ => End::Failed,
        })
    }

    /// Path of cargo's last output.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn sources(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Settings common to building and running.
    fn set_up(&self, command: &mut Command, area: Area, tests: Tests) -> Result<()> {
        let log = File::create(self.log()).context("making the log")?;
        process::without_build_settings(command);
        match tests {
            Tests::OfCrate => command.args(["--package", area.package(), "--lib"]),
            Tests::Memory => command.args(["--package", "tests", "--test", "memory"]),
        };
        command.envs(self.python.iter().map(|python| (packages::PYTHON_VARIABLE, python)));
        command.envs(ENVIRONMENT).env("CARGO_TARGET_DIR", self.folder.join("build"));
        command.current_dir(self.sources()).stdin(Stdio::null());
        command.stdout(log.try_clone().context("the log")?).stderr(log);
        Ok(())
    }

    /// Removes the files below `folder` that the project does not have.
    fn remove_others(&self, folder: &Path) -> Result<()> {
        let reading = || format!("reading {}", folder.display());
        for entry in fs::read_dir(folder).with_context(reading)? {
            let path = entry.with_context(reading)?.path();
            if path.is_dir() {
                self.remove_others(&path)?;
            } else if !path.strip_prefix(self.sources()).is_ok_and(|it| self.files.contains_key(it))
            {
                fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// The wall clock, used only for the time limits of tests.
#[expect(clippy::disallowed_methods, reason = "no emulation runs here")]
pub fn now() -> Instant {
    Instant::now()
}
