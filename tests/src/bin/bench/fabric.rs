//! A scenario's event loop, on either datapath: no captures, no results folder.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use xoff::datapath::Datapath;
use xoff::engine::{Engine, Finished, Watch};
use xoff::results::Record;
use xoff::run;
use xoff::scenario::Scenario;

use crate::figure::{Rate, Stopwatch};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/incast.toml");
/// Makes the scenario large enough that its start does not count.
const OVERRIDES: [&str; 2] = ["flows.0.bytes=40MB", "duration=1s"];
/// What the overrides must come to.
const LEAST_HOPS: u64 = 1_000_000;

/// The scenario that is measured.
pub fn scenario() -> Result<Scenario> {
    Ok(Scenario::load(Path::new(SCENARIO), &OVERRIDES.map(str::to_owned))?)
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
    let datapath = run::deploy(scenario).context("the kernel benchmark needs root")?;
    let deploy = stopwatch.elapsed();
    Ok(KernelRun { rate: drive(scenario, datapath)?, deploy })
}

/// Runs the scenario in memory.
pub fn in_memory(scenario: &Scenario) -> Result<Rate> {
    drive(scenario, run::in_memory(scenario)?)
}

fn drive<D: Datapath>(scenario: &Scenario, datapath: D) -> Result<Rate> {
    let interrupted = AtomicBool::new(false);
    let mut progress = |_| {};
    let mut watch = Watch { interrupted: &interrupted, progress: &mut progress };
    let stopwatch = Stopwatch::start();
    let engine = Engine::new(scenario, datapath, Record::new(None), &[]);
    let Finished { counted, datapath, .. } = engine.run(&mut watch)?;
    let rate = stopwatch.rate(counted.packet_hops);
    drop(datapath);
    let unfinished = counted.flows_total - counted.flows_completed;
    ensure!(unfinished == 0, "{unfinished} flows did not finish");
    ensure!(counted.books.is_empty(), "the books do not balance: {:?}", counted.books);
    let hops = counted.packet_hops;
    ensure!(hops >= LEAST_HOPS, "{hops} packet-hops are too few to measure");
    Ok(rate)
}
