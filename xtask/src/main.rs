//! The project's scripts, in Rust: the build of the eBPF object, the test ladder, the demo, the benchmarks, and the
//! checks that a change must pass before it is merged.
//!
//! Every command needs only a stable toolchain to start. It installs the tools that it lacks, or reports what is
//! missing and how to get it.
//!
//! A new command is a variant of `Task` and a file, with a line in CONTRIBUTING.md and in README.md's directory
//! index.

#![forbid(unsafe_code)]

mod apt;
mod bench;
mod binaries;
mod book;
mod browser;
mod checks;
mod cost;
mod crate_metadata;
mod demo;
mod dist;
mod ebpf;
mod figures;
mod fuzz;
mod kselftest;
mod ladder;
mod linker;
mod miri;
mod mutants;
mod oracle;
mod packages;
mod privilege;
mod process;
mod soak;
mod static_build;
mod toolchain;
mod vm;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of this repository: builds, tests, benchmarks and checks
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, long_about = None)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// One command.
#[derive(Subcommand)]
enum Task {
    /// Rebuild the committed eBPF object (installs its pinned compiler and linker)
    BuildEbpf {
        /// Compare a fresh build with the committed object, byte for byte, and change nothing
        #[arg(long)]
        check: bool,
        /// Build with events over aya-log, into the target folder instead of the committed object
        #[arg(long, conflicts_with = "check")]
        log_events: bool,
    },
    /// Run an incast with a victim flow through the kernel and show what happened (root)
    Demo,
    /// Run the test ladder, or one rung of it (root for test-run, kernel and cluster)
    Test(ladder::Options),
    /// Measure packet-hops per second beside the machine's raw ceiling (root for `kernel`)
    Bench(bench::Options),
    /// Make the archive that is handed out: static binaries, manual pages, completions, documents
    Dist {
        /// Make it once more from a copy of the last commit in another folder, and compare the bytes
        #[arg(long)]
        check: bool,
    },
    /// Write a folder for tools/testing/selftests of a kernel's source: static binary, Makefile, config, scenarios
    KselftestDir {
        /// Folder to write to; must be empty or not exist
        out: std::path::PathBuf,
    },
    /// Run that folder by the rules of the kernel's own runner, in a tree and installed (root)
    Kselftest,
    /// Boot other kernels in virtual machines: `xoff selftest`, their logs, and results as those of the memory datapath
    Vm {
        /// Each a series (`6.1`: the newest of it that the distribution's packages have), a series of another suite (`7.2@testing`,
        /// `newest@testing`), a package's file or the path of an image
        #[arg(default_values = ["6.1", "6.12"])]
        kernels: Vec<String>,
        /// Also show what their verifiers make of each program
        #[arg(long)]
        programs: bool,
    },
    /// Open a report of `xoff report` in headless Chromium, light, dark and narrow, and check that it works (installs
    /// Chromium)
    Browser,
    /// Keep two live fabrics under traffic, with commands, hang-ups, signals and kills at random, and check that
    /// nothing is left of them (root)
    Soak(soak::Options),
    /// Compare help, schemas, errors and results of these sources with the committed record, or write it anew (root, some minutes)
    Oracle {
        /// `record` or `check`
        action: oracle::Action,
    },
    /// Count the instructions of a packet-hop in memory, and check them against a bound (installs valgrind)
    Cost,
    /// Repeat the papers' figures whose numbers ship, with the binary that is handed out, and compare
    Figures,
    /// Make an HTML book of the documents, and check its links (builds mdBook)
    Book,
    /// Run the checks that a change must pass besides its tests: format, lints, docs, the eBPF object
    Ci,
    /// Change the code in small ways, one at a time, and check that the tests notice (hours)
    Mutants(mutants::Options),
    /// Fuzz the parsers of bytes and texts, a minute for each target, and look for inputs that break them
    Fuzz(fuzz::Options),
    /// Run the tests of unsafe code in Miri, which finds undefined behaviour and data races
    Miri,
    /// Check licences, advisories and sources of the dependencies (builds cargo-deny: minutes)
    Deny,
}

fn main() -> ExitCode {
    if let Some(failure) = crate_metadata::compile_if_asked() {
        eprintln!("error: {failure:#}");
        return ExitCode::FAILURE;
    }
    let done = match Arguments::parse().task {
        Task::BuildEbpf { check: true, .. } => ebpf::check(),
        Task::BuildEbpf { log_events: true, .. } => ebpf::build_with_events(),
        Task::BuildEbpf { .. } => ebpf::build_committed(),
        Task::Demo => demo::run(),
        Task::Test(options) => ladder::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Dist { check } => dist::run(check),
        Task::KselftestDir { out } => kselftest::write_folder(&out),
        Task::Kselftest => kselftest::check(),
        Task::Vm { kernels, programs } => vm::run(&kernels, programs),
        Task::Browser => browser::run(),
        Task::Soak(options) => soak::run(&options),
        Task::Oracle { action } => oracle::run(action),
        Task::Cost => cost::run(),
        Task::Figures => figures::run(),
        Task::Book => book::run(),
        Task::Ci => checks::run_all(),
        Task::Mutants(options) => mutants::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Miri => miri::run(),
        Task::Deny => checks::dependencies(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        super::Arguments::command().debug_assert();
    }
}
