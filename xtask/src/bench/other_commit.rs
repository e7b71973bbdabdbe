//! Another commit of the project, checked out below the target folder for as long as it is needed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// The commit's sources, removed when this is dropped. Their build stays, so that the next commit compiles no
/// dependency.
pub struct OtherCommit {
    sources: PathBuf,
}

impl OtherCommit {
    /// Checks out `commit`.
    pub fn check_out(commit: &str) -> Result<Self> {
        let other = Self { sources: workspace::target_dir().join("other-commit") };
        // An interrupted run leaves its sources.
        other.remove();
        let mut git = git();
        git.args(["worktree", "add", "--force", "--detach"]).arg(&other.sources).arg(commit);
        process::output(&mut git).with_context(|| format!("checking out {commit}"))?;
        Ok(other)
    }

    /// Runs `cargo build` with `options` there, and returns its target folder.
    pub fn build(&self, options: &[&str]) -> Result<PathBuf> {
        let target = workspace::target_dir().join("other-commit-build");
        let mut cargo = process::cargo("build");
        cargo.args(options).current_dir(&self.sources).env("CARGO_TARGET_DIR", &target);
        process::run(&mut cargo)?;
        Ok(target)
    }

    fn remove(&self) {
        process::succeeds(git().args(["worktree", "remove", "--force"]).arg(&self.sources));
    }
}

impl Drop for OtherCommit {
    fn drop(&mut self) {
        self.remove();
    }
}

fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(workspace::root());
    git
}
