//! The benchmarks: a program of the `tests` package, built for release, alone or beside the program of another commit.

mod figures;
mod other_commit;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::{privilege, process, workspace};
use figures::{Comparison, Figures};
use other_commit::OtherCommit;

/// The benchmark's binary target, in package `tests`.
const BINARY: [&str; 5] = ["--release", "--package", "tests", "--bin", "bench"];

/// Datapath of the fabric's switches.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Datapath {
    /// veth pairs and eBPF, beside the raw ceiling of the same machine
    Kernel,
    /// Native, without privilege
    Memory,
    /// Live fabrics: TCP goodput, lateness, idle cost, a fabric of 256 hosts up and down
    Live,
    /// Native, on the threads that runs get by themselves and on one
    Threads,
}

/// Measurements to make.
#[derive(Args)]
pub struct Options {
    /// The datapath to measure
    #[arg(default_value = "kernel")]
    datapath: Datapath,
    /// Also build this commit, run both in turns and print ratios
    #[arg(long, value_name = "COMMIT")]
    against: Option<String>,
    /// Runs of each; the order is A B B A ..
    #[arg(long, requires = "against", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Fail if a figure of processor time is more than 10 % worse than the commit's
    #[arg(long, requires = "against")]
    check: bool,
}

impl Datapath {
    fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Memory => "memory",
            Self::Live => "live",
            Self::Threads => "threads",
        }
    }
}

/// Measures one datapath.
pub fn run(options: &Options) -> Result<()> {
    let Options { datapath, ref against, runs, check } = *options;
    if !matches!(datapath, Datapath::Memory | Datapath::Threads) {
        let without = "`cargo xtask bench memory`, which needs none";
        privilege::require_root("this benchmark", "bench", Some(without))?;
    }
    if datapath == Datapath::Live {
        if against.is_some() {
            bail!(
                "the figures of live fabrics depend on what else the machine does: run `bench live` at both commits"
            );
        }
        // Deployed as a user does.
        process::run(process::cargo("build").args(["--release", "--package", "xoff"]))?;
    }
    match against {
        None => process::run(process::cargo("run").args(BINARY).args(["--", datapath.name()])),
        Some(commit) => compare(datapath, commit, runs, check),
    }
}

/// Runs the benchmarks of the sources here and of `commit` in turns.
fn compare(datapath: Datapath, commit: &str, runs: u32, check: bool) -> Result<()> {
    let other = OtherCommit::check_out(commit)?;
    let other_binary = other.build(&BINARY)?.join("release/bench");
    process::run(process::cargo("build").args(BINARY))?;
    let binary = workspace::target_dir().join("release/bench");

    let mut comparison = Comparison::default();
    for run in 1..=runs {
        eprintln!("run {run} of {runs}");
        // A machine that becomes slower or faster does so for both.
        let (before, now) = if run % 2 == 1 {
            let before = measure(&other_binary, datapath)?;
            (before, measure(&binary, datapath)?)
        } else {
            let now = measure(&binary, datapath)?;
            (measure(&other_binary, datapath)?, now)
        };
        comparison.add(&before, &now);
    }
    println!("{} datapath against {commit}: medians of {runs} runs", datapath.name());
    print!("{comparison}");
    let worse = comparison.regressions();
    if check && !worse.is_empty() {
        bail!(
            "more than {} % worse than the commit: {}",
            figures::TOLERATED_PERCENT,
            worse.join("; ")
        );
    }
    Ok(())
}

fn measure(binary: &Path, datapath: Datapath) -> Result<Figures> {
    let printed = process::output(Command::new(binary).arg(datapath.name()))?;
    Figures::parse(&String::from_utf8_lossy(&printed))
}
