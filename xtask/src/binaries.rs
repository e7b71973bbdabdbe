//! The binaries that tests and checks run.

use anyhow::Result;

use crate::process;

/// Test binary of the package `tests` that builds soonest.
const SOME_TEST: &str = "test_run";

/// Builds all binaries of the workspace as tests need them, into `debug` in the target folder.
///
/// Cargo gives a dependency the features that any of the selected packages and kinds of targets asks for, and builds it
/// again for each set. So this selects what the test ladder selects: the whole workspace, with a test.
pub fn build() -> Result<()> {
    let mut cargo = process::cargo("build");
    process::run(cargo.args(["--profile", "test", "--workspace", "--bins", "--test", SOME_TEST]))
}
