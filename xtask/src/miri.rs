//! Miri: the tests of modules with unsafe code, in an interpreter that finds undefined behaviour and data races.
//!
//! Miri does not support sockets, BPF maps or files in memory: cells, regions, rings and frames of the UMEM are tested
//! over ordinary memory.

use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::toolchain::Toolchain;
use crate::workspace;

/// Packages, and the modules whose tests run.
const TESTS: [(&str, &[&str]); 2] =
    [("fabric-core", &["cell::", "record::"]), ("linux", &["region::", "af_xdp::"])];
/// Properties are tried on this many cases: each takes some thousand times as long as without Miri.
const CASES: &str = "8";

/// Runs the tests with the compiler of the eBPF programs, the only nightly that is pinned.
pub fn run() -> Result<()> {
    let toolchain = Toolchain::install()?;
    toolchain.add_component("miri").context("installing Miri")?;
    for (package, modules) in TESTS {
        let mut cargo: Command = toolchain.command("cargo");
        cargo.args(["miri", "test", "--package", package, "--lib", "--"]).args(modules);
        cargo.current_dir(workspace::root());
        cargo.env("CARGO_TARGET_DIR", workspace::target_dir().join("miri"));
        // Property tests read the current directory.
        cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        cargo.env("PROPTEST_CASES", CASES).env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        process::run(&mut cargo)?;
    }
    Ok(())
}
