//! The test ladder, cheapest rung first.

use std::env;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::{binaries, packages, privilege, process};

/// A rung of the test ladder, by the resources of its tests. Above the first, each rung is one test binary: a folder of
/// `tests/tests`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rung {
    /// Vectors and properties of each crate: no privilege
    Core,
    /// Whole fabrics on the memory datapath
    Memory,
    /// The binary `xoff` as a person calls it, without privilege
    Cli,
    /// The eBPF programs one frame at a time, through `BPF_PROG_TEST_RUN`
    TestRun,
    /// Whole fabrics in network namespaces
    Kernel,
    /// Sweeps on a Slurm of the tests' own
    Cluster,
}

impl Rung {
    /// The folder in `tests/tests`.
    fn folder(self) -> Option<&'static str> {
        match self {
            Self::Core => None,
            Self::Memory => Some("memory"),
            Self::Cli => Some("cli"),
            Self::TestRun => Some("test_run"),
            Self::Kernel => Some("kernel"),
            Self::Cluster => Some("cluster"),
        }
    }

    fn needs_root(self) -> bool {
        matches!(self, Self::TestRun | Self::Kernel | Self::Cluster)
    }

    /// Returns true if its tests call tshark and scapy, which read captures.
    fn needs_dissectors(self) -> bool {
        matches!(self, Self::Memory | Self::Kernel)
    }

    /// Returns true if its tests make the figures of `docs/notebooks.md`, and check a manifest against the schemas of
    /// Kubernetes.
    fn needs_python_tools(self) -> bool {
        self == Self::Cli
    }

    /// Returns true if its tests read reports of `xoff selftest` with third-party parsers.
    fn needs_tap_parsers(self) -> bool {
        self == Self::Kernel
    }

    /// Returns true if its tests start Slurm and munge.
    fn needs_slurm(self) -> bool {
        self == Self::Cluster
    }

    /// Returns true if its tests call `ip`, `ping` and `iperf3`.
    fn needs_network_tools(self) -> bool {
        self == Self::Kernel
    }
}

/// Tests to run.
#[derive(Args)]
pub struct Options {
    /// Only this rung
    #[arg(long)]
    rung: Option<Rung>,
    /// Long tests, too: continuous integration runs them
    #[arg(long)]
    all: bool,
    /// Fabrics that the upper rungs may run at once
    #[arg(long, default_value_t = 2)]
    test_threads: usize,
}

impl Options {
    /// Returns true if the rung is to run.
    fn has(&self, rung: Rung) -> bool {
        // Slurm waits for minutes.
        self.rung.map_or(self.all || rung != Rung::Cluster, |only| only == rung)
    }

    /// Option of test binaries for tests that have the attribute `ignore`.
    fn long(&self) -> Option<&'static str> {
        self.all.then_some("--include-ignored")
    }
}

/// Runs one rung, or every rung; a rung that fails does not hide the next one.
pub fn run(options: &Options) -> Result<()> {
    let only = options.rung;
    if only.is_none_or(Rung::needs_root) {
        let without = "`cargo xtask test --rung core`, `memory` or `cli`, which need none";
        privilege::require_root("this part of the test ladder", "test", Some(without))?;
    }
    let mut failures = Vec::new();
    if only.is_none_or(|rung| rung == Rung::Core) {
        eprintln!("== Each crate by itself: no privilege ==");
        failures.extend(process::run(process::cargo("test").arg("--no-fail-fast")).err());
    }
    if only != Some(Rung::Core) {
        eprintln!("== Across crates ==");
        failures.extend(across_crates(options).err());
    }
    if !options.all && only != Some(Rung::Core) {
        let cluster = if only.is_none() { " and the rung cluster" } else { "" };
        eprintln!("Long tests{cluster} were left out: `cargo xtask test --all` runs them, too.");
    }
    for failure in &failures {
        eprintln!("failed: {failure:#}");
    }
    match failures.len() {
        0 => Ok(()),
        count => bail!("{count} part(s) of the test ladder failed"),
    }
}

fn across_crates(options: &Options) -> Result<()> {
    let mut rungs: Vec<Rung> =
        Rung::value_variants().iter().copied().filter(|&rung| options.has(rung)).collect();
    let needs = |what: fn(Rung) -> bool| rungs.iter().any(|&rung| what(rung));
    if needs(Rung::needs_network_tools) {
        packages::iproute()?;
        packages::ping()?;
        packages::iperf3()?;
    }
    binaries::build()?;
    let mut cargo = process::cargo("test");
    cargo.args(["--workspace", "--no-fail-fast"]);
    if needs(Rung::needs_dissectors) {
        packages::tshark()?;
        let python = packages::python_with_scapy().context("the tests call Python with scapy")?;
        cargo.env(packages::PYTHON_VARIABLE, python);
    }
    if needs(Rung::needs_tap_parsers) {
        packages::perl()?;
        cargo.env(packages::KERNEL_TESTING_VARIABLE, packages::kernel_testing()?);
    }
    if needs(Rung::needs_python_tools) {
        let python = packages::python_with_tools().context("the tests call Python with them")?;
        cargo.env(packages::TOOLS_PYTHON_VARIABLE, python);
    }
    let mut skipped = None;
    if needs(Rung::needs_slurm) {
        match packages::slurm() {
            Ok(root) => {
                packages::iproute()?;
                cargo.env(packages::SLURM_VARIABLE, root);
            }
            // A rung that is named, or that runs in continuous integration, is not skipped.
            Err(failure) if options.rung.is_some() || env::var_os("CI").is_some() => {
                return Err(failure.context("the tests start Slurm and munge"));
            }
            Err(failure) => skipped = Some(failure),
        }
    }
    rungs.retain(|rung| skipped.is_none() || !rung.needs_slurm());
    cargo.args(rungs.iter().filter_map(|rung| rung.folder()).flat_map(|it| ["--test", it]));
    cargo.args(["--", "--test-threads", &options.test_threads.to_string()]).args(options.long());
    let done = process::run(&mut cargo);
    if let Some(failure) = skipped {
        eprintln!(
            "skipped: the rung cluster, because slurm-wlm and munge cannot be had here: {failure:#}"
        );
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributing_says_what_each_rung_needs() {
        let text = include_str!("../../CONTRIBUTING.md");
        for &rung in Rung::value_variants() {
            let name = rung.to_possible_value().expect("no rung is hidden").get_name().to_owned();
            let row = text.lines().find(|line| line.starts_with(&format!("| {name}: ")));
            let row = row.unwrap_or_else(|| panic!("CONTRIBUTING.md has no row for {name}"));
            let needs = row.split('|').nth(3).expect("the third column").trim();
            let root = rung.needs_root().then_some("root");
            let tools = rung.needs_network_tools().then_some("iproute2, ping, iperf3");
            let dissectors = rung.needs_dissectors().then_some("tshark, scapy");
            let python = rung
                .needs_python_tools()
                .then_some("pandas, polars, pyarrow, matplotlib, kubernetes-validate");
            let parsers = rung.needs_tap_parsers().then_some("perl, the kernel's kunit parser");
            let slurm = rung.needs_slurm().then_some("Slurm, munge, iproute2");
            let all = [root, tools, dissectors, python, parsers, slurm];
            let all: Vec<&str> = all.into_iter().flatten().collect();
            let expected = if all.is_empty() { "nothing".to_owned() } else { all.join(", ") };
            assert_eq!(needs, expected, "{name}");
        }
    }
}
