//! The benchmarks: a program of the `tests` package, built as it is shipped.

use anyhow::Result;
use clap::ValueEnum;

use crate::{privilege, process};

/// Where the fabric's switches run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Datapath {
    /// veth pairs and eBPF, beside the raw ceiling of the same machine
    Kernel,
    /// Native, without privilege
    Memory,
}

/// Measures one datapath.
pub fn run(datapath: Datapath) -> Result<()> {
    let name = match datapath {
        Datapath::Kernel => "kernel",
        Datapath::Memory => "memory",
    };
    if datapath == Datapath::Kernel {
        let without = "`cargo xtask bench memory`, which needs none";
        privilege::require_root("the kernel benchmark", "bench", Some(without))?;
    }
    process::run(process::cargo("run").args([
        "--release",
        "-p",
        "tests",
        "--bin",
        "bench",
        "--",
        name,
    ]))
}
