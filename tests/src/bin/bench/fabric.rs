//! A scenario's event loop on the kernel datapath: no captures, no results folder.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use aya::sys::{Stats, enable_stats};
use emulation::datapath::kernel::Programs;
use emulation::datapath::{Deployed, Wires};
use emulation::engine::{Engine, Finished, ThreadUse, Watch};
use emulation::run;
use scenario::{HookKind, Scenario};

use crate::figure::{Rate, Stopwatch};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/incast.toml");
/// Makes the scenario large enough that its start does not count.
const OVERRIDES: [&str; 2] = ["flows.0.bytes=40MB", "duration=1s"];
/// Min packet-hops of the scenario with the overrides.
const MIN_HOPS: u64 = 1_000_000;

/// The scenario that is measured, at one of the hooks.
pub fn scenario(hook: HookKind) -> Result<Scenario> {
    let mut overrides = OVERRIDES.map(str::to_owned).to_vec();
    overrides.push(format!("datapath.hook={}", hook.name()));
    Ok(Scenario::load(Path::new(SCENARIO), &overrides)?)
}

/// The scenario in words.
pub fn describe(scenario: &Scenario) -> String {
    format!("scenarios/{}.toml with {}", scenario.name, OVERRIDES.join(" and "))
}

/// One run on the kernel datapath.
pub struct KernelRun {
    /// Packet-hops per second.
    pub rate: Rate,
    /// Making namespaces, loading programs, opening sockets.
    pub deploy: Duration,
}

/// Deploys the scenario's fabric and runs it.
pub fn on_kernel(scenario: &Scenario) -> Result<KernelRun> {
    let stopwatch = Stopwatch::start();
    let datapath =
        run::deploy(scenario, Programs::Beside).context("the kernel benchmark needs root")?;
    let deploy = stopwatch.elapsed();
    let (rate, _) = drive(scenario, datapath)?;
    Ok(KernelRun { rate, deploy })
}

/// Mean duration of an arrival in a run on the kernel datapath, in nanoseconds. Counting slows the run down, so it is a
/// separate run.
pub fn arrival_ns(scenario: &Scenario) -> Result<f64> {
    let datapath = run::deploy(scenario, Programs::Beside)?;
    let _while_open = enable_stats(Stats::RunTime)?;
    let (_, mut wires) = drive(scenario, datapath)?;
    let (mut time, mut runs) = (Duration::ZERO, 0);
    for switch in 0..scenario.fabric().switch_count() {
        let program = wires.program_mut(switch).arrival_info()?;
        time += program.run_time();
        runs += program.run_count();
    }
    Ok(time.as_nanos() as f64 / runs as f64)
}

fn drive<W: Wires>(scenario: &Scenario, fabric: Deployed<W>) -> Result<(Rate, W)> {
    let interrupted = AtomicBool::new(false);
    let mut progress = |_| {};
    let mut watch = Watch { interrupted: &interrupted, progress: &mut progress };
    let stopwatch = Stopwatch::start();
    let engine = Engine::new(scenario, fabric, run::record(scenario, None), &[], ThreadUse::ONE);
    let Finished { counted, wires, .. } = engine.run(&mut watch)?;
    let rate = stopwatch.rate(counted.packet_hops);
    let unfinished = counted.flows_total - counted.flows_completed;
    ensure!(unfinished == 0, "{unfinished} flows did not finish");
    ensure!(counted.books.is_empty(), "the books do not balance: {:?}", counted.books);
    let hops = counted.packet_hops;
    ensure!(hops >= MIN_HOPS, "{hops} packet-hops are too few to measure");
    Ok((rate, wires))
}
