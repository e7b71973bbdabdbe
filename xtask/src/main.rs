//! The project's scripts, in Rust: what builds the eBPF object, what runs the test ladder, the demo
//! and the benchmarks, and what a change must pass before it is merged.
//!
//! Everything here needs only a stable toolchain to start. Each command installs what it lacks, or
//! says what is missing and how to get it.

mod bench;
mod checks;
mod crate_metadata;
mod demo;
mod ebpf;
mod ladder;
mod linker;
mod packages;
mod privilege;
mod process;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What `cargo xtask` can do.
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
    /// Run every rung of the test ladder, or one (root, except for `--rung core`)
    Test {
        /// Only this rung
        #[arg(long)]
        rung: Option<ladder::Rung>,
        /// Fabrics that the upper rungs may run at once
        #[arg(long, default_value_t = 2)]
        test_threads: usize,
    },
    /// Measure packet-hops per second beside the machine's raw ceiling (root for `kernel`)
    Bench {
        /// The datapath to measure
        #[arg(default_value = "kernel")]
        datapath: bench::Datapath,
    },
    /// Check what a change must pass besides its tests: format, lints, docs, the eBPF object
    Ci,
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
        Task::Test { rung, test_threads } => ladder::run(rung, test_threads),
        Task::Bench { datapath } => bench::run(datapath),
        Task::Ci => checks::run_all(),
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
