//! The memory datapath at the scale of papers: a whole run from the scenario's text to the results folder, in a
//! separate process, so that its peak memory can be measured.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use emulation::cpu_time;
use emulation::engine::Watch;
use emulation::run::{self, Threads};
use scenario::Scenario;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/bench/websearch.toml");

/// The work in words.
pub const ABOUT: &str =
    "leaf-spine, 100 Gbit/s, 1 us, WebSearch at 0.5 of the host links, DCQCN and PFC";

/// A leaf-spine fabric.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    /// Emulated time: the larger the fabric, the shorter, so that all runs have about as many hops.
    duration: &'static str,
}

/// 32, 64 and 1024 hosts, each with four hosts to an uplink.
pub const SIZES: [Size; 3] = [
    Size { leaves: 2, spines: 4, hosts_per_leaf: 16, duration: "20ms" },
    Size { leaves: 4, spines: 4, hosts_per_leaf: 16, duration: "10ms" },
    Size { leaves: 32, spines: 8, hosts_per_leaf: 32, duration: "1ms" },
];

/// Settings of a run with DCQCN whose receivers acknowledge every packet, as with HPCC.
pub const DCQCN: [&str; 1] = ["host.ack_interval=1"];

/// Settings of a run with HPCC, and so with stamps of three switches.
pub const HPCC: [&str; 1] = ["host.transport.congestion_control=hpcc"];

impl Size {
    /// The scenario of this size for another duration, in which it has fewer hops.
    pub fn scenario(&self, duration: &str) -> Result<Scenario> {
        let Self { leaves, spines, hosts_per_leaf, .. } = self;
        let name = format!("name=websearch-{}", leaves * hosts_per_leaf);
        scenario([leaves, spines, hosts_per_leaf], duration, &[name])
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leaves, spines, hosts_per_leaf, duration } = self;
        write!(f, "{leaves} x {spines} x {} hosts, {duration}", leaves * hosts_per_leaf)
    }
}

/// Cost of one run.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Packet-hops per second of processor time.
    pub hops_per_cpu_second: f64,
    /// Peak memory of the process, in 10^6 bytes.
    pub peak_megabytes: f64,
}

/// Runs `size`, with more settings, in a separate process.
pub fn in_a_process(size: &Size, settings: &[&str]) -> Result<Cost> {
    let Size { leaves, spines, hosts_per_leaf, duration } = size;
    let program = std::env::current_exe().context("the benchmark's own path")?;
    let output = Command::new(program)
        .arg("memory-run")
        .args([leaves, spines, hosts_per_leaf].map(u32::to_string))
        .arg(duration)
        .args(settings)
        .output()
        .context("starting a run")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the run of {size} failed: {errors}");
    let figures: Vec<f64> =
        printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [hops_per_cpu_second, peak_megabytes] = figures[..] else {
        anyhow::bail!("the run of {size} printed {printed:?}, not two figures")
    };
    Ok(Cost { hops_per_cpu_second, peak_megabytes })
}

/// The child process: one run, then its two figures on standard output.
pub fn run(arguments: &[String]) -> Result<()> {
    let [leaves, spines, hosts_per_leaf, duration, settings @ ..] = arguments else {
        anyhow::bail!("a run has leaves, spines, hosts per leaf and a duration")
    };
    let scenario = scenario([leaves, spines, hosts_per_leaf], duration, settings)?;
    let folder = tempfile::tempdir().context("a folder for the results")?;
    let interrupted = AtomicBool::new(false);
    let mut progress = |_| {};
    let mut watch = Watch { interrupted: &interrupted, progress: &mut progress };
    let outcome =
        run::run(&scenario, Some(&folder.path().join("results")), Threads::ONE, &mut watch)?;
    let hops = outcome.report.summary.packet_hops;
    ensure!(hops > 1_000_000, "{hops} packet-hops are too few to measure");
    println!("{} {}", hops as f64 / cpu_time::process_time().as_secs_f64(), peak_megabytes()?);
    Ok(())
}

/// Returns the scenario of a fabric with these numbers of leaves, spines and hosts per leaf, and further settings.
fn scenario(
    [leaves, spines, hosts_per_leaf]: [&dyn fmt::Display; 3],
    duration: &str,
    settings: &[String],
) -> Result<Scenario> {
    let size = [
        format!("topology.leaves={leaves}"),
        format!("topology.spines={spines}"),
        format!("topology.hosts_per_leaf={hosts_per_leaf}"),
        format!("duration={duration}"),
        format!("flows.0.stop={duration}"),
    ];
    let overrides = [&size[..], settings].concat();
    Ok(Scenario::load(Path::new(SCENARIO), &overrides)?)
}

fn peak_megabytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this process's status")?;
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse::<f64>().ok())
        .context("no peak of resident memory in /proc/self/status")?;
    Ok(kilobytes * 1024.0 / 1e6)
}
