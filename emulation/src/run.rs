//! One run from scenario to report.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use linux::region::Arena;
use results::{
    CaptureWire, Record, RecordOptions, ResultsError, ResultsFolder, ResultsOptions, RunEnd,
    RunReport, SizeClasses, Summary, TableFormat, ThroughputMeter, Window,
};
use scenario::{CaptureFilter, DatapathKind, Scenario, Throughput};
#[cfg(feature = "kernel")]
use switch_user::switch::Switch;
use switch_user::tables::SwitchTables;
use topology::{SwitchId, WireId};
use units::Bytes;

use crate::closing::{self, Clock};
use crate::cpu_time;
#[cfg(feature = "kernel")]
use crate::datapath::FrameId;
#[cfg(feature = "kernel")]
use crate::datapath::kernel::{DeployError, KernelFrames, KernelWires, Programs};
use crate::datapath::memory::{MemoryFrames, MemoryWires};
use crate::datapath::{DatapathError, Deployed, Wires};
use crate::engine::{Engine, Finished, RunError, ThreadUse, Watch};
use crate::hpcc_options::hpcc_options;
use crate::mac_addresses;
use crate::switch_settings::{self, RouteTables};
use crate::tables;
pub use crate::threads::Threads;

/// Reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The fabric could not be set up.
    #[cfg(feature = "kernel")]
    #[error("setting up the fabric: {0}")]
    Deploy(#[from] DeployError),
    /// The scenario asks for the kernel datapath.
    #[cfg(not(feature = "kernel"))]
    #[error("{}", crate::NO_KERNEL_DATAPATH)]
    NoKernelDatapath,
    /// Memory for the switches' tables could not be allocated.
    #[error("memory for the switches' tables: {0}")]
    Memory(#[from] std::io::Error),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// A report, with the time that its parts took.
#[derive(Debug)]
pub struct Outcome {
    /// Report of the run.
    pub report: RunReport,
    /// Time for making namespaces, loading programs and opening sockets; zero in memory.
    pub deploy: Duration,
    /// Processor time of the event loop alone.
    pub loop_cpu: Duration,
    /// Failure of the substrate that ended the run.
    pub failure: Option<DatapathError>,
}

impl Outcome {
    /// See [`results::Summary::is_sound`].
    pub fn is_sound(&self) -> bool {
        self.report.summary.is_sound()
    }
}

/// Results of a run that was interrupted or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partial {
    /// The results up to then are kept.
    Kept,
    /// There are no results.
    Discarded,
}

/// Runs a scenario on its datapath, with results in `folder` if given. A run that is interrupted, or fails because
/// the substrate breaks a promise, leaves its results up to then; the summary's `ended` has the reason.
pub fn run(
    scenario: &Scenario,
    folder: Option<&Path>,
    threads: Threads,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Error> {
    run_or_part(scenario, folder, threads, watch, Partial::Kept)
}

/// Runs a scenario as [`run`] does, but discards partial results: an interrupted or failed run is an error,
/// [`RunError::Interrupted`] or [`RunError::Datapath`].
pub fn run_whole(
    scenario: &Scenario,
    folder: Option<&Path>,
    threads: Threads,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Error> {
    run_or_part(scenario, folder, threads, watch, Partial::Discarded)
}

fn run_or_part(
    scenario: &Scenario,
    folder: Option<&Path>,
    threads: Threads,
    watch: &mut Watch<'_>,
    partial: Partial,
) -> Result<Outcome, Error> {
    let threads = threads.for_a_run(scenario);
    #[cfg(not(feature = "kernel"))]
    if scenario.datapath.kind == DatapathKind::Kernel {
        return Err(Error::NoKernelDatapath);
    }
    let captured = captured_wires(scenario);
    // Claimed first, so that an unwritable folder is an error before anything is deployed.
    let folder = folder.map(|folder| claim(scenario, folder, &captured)).transpose()?;
    let record = record(scenario, folder);
    let started = Started::now();
    #[cfg(feature = "kernel")]
    if scenario.datapath.kind == DatapathKind::Kernel {
        let datapath = deploy(scenario, Programs::Beside);
        let deployed = started.wall.elapsed();
        // A signal makes some system calls fail; then the interrupt is the cause to report.
        if watch.interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(RunError::Interrupted.into());
        }
        let fabric = datapath?;
        return drive(
            scenario, fabric, record, &captured, threads, watch, &started, deployed, partial,
        );
    }
    let datapath = in_memory(scenario)?;
    drive(scenario, datapath, record, &captured, threads, watch, &started, Duration::ZERO, partial)
}

/// Runs a scenario as [`run`] does, on a fabric of this scenario that [`deploy`] has just made.
#[cfg(feature = "kernel")]
pub fn run_on(
    scenario: &Scenario,
    fabric: Deployed<KernelWires>,
    folder: Option<&Path>,
    threads: Threads,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Error> {
    let threads = threads.for_a_run(scenario);
    let captured = captured_wires(scenario);
    let folder = folder.map(|folder| claim(scenario, folder, &captured)).transpose()?;
    let (record, started) = (record(scenario, folder), Started::now());
    let (deployed, partial) = (Duration::ZERO, Partial::Kept);
    drive(scenario, fabric, record, &captured, threads, watch, &started, deployed, partial)
}

/// A deployed and configured fabric.
#[cfg(feature = "kernel")]
pub fn deploy(
    scenario: &Scenario,
    programs: Programs,
) -> Result<Deployed<KernelWires>, DeployError> {
    let fabric = scenario.fabric();
    let switches = || (0..fabric.switch_count()).map(SwitchId);
    let routes: Vec<_> = switches().map(|switch| RouteTables::new(scenario, switch)).collect();
    let capacity = |(switch, routes)| switch_settings::capacity(scenario, switch, routes);
    let capacities: Vec<_> = switches().zip(&routes).map(capacity).collect();
    let (kind, policy) = (scenario.datapath, switch_settings::policy(scenario));
    let mut datapath = KernelWires::deploy(
        fabric,
        kind,
        &capacities,
        policy,
        scenario.frames.lengths(),
        programs,
    )?;
    configure(scenario, routes, &mut datapath.tables);
    Ok(datapath)
}

/// Configures the empty tables of all switches.
#[cfg(feature = "kernel")]
fn configure(scenario: &Scenario, routes: Vec<RouteTables>, tables: &mut [SwitchTables]) {
    let order = scenario.deadlock_prevention();
    for ((switch, routes), tables) in (0..).map(SwitchId).zip(routes).zip(tables) {
        switch_settings::configure(scenario, switch, routes, order.as_ref(), tables);
    }
}

/// Makes a used fabric as new. It must have no frames under way.
#[cfg(feature = "kernel")]
pub(crate) fn renew(
    scenario: &Scenario,
    wires: KernelWires,
    switches: Vec<Switch<FrameId>>,
) -> Deployed<KernelWires> {
    let fabric = scenario.fabric();
    let mut tables: Vec<_> = switches.into_iter().map(Switch::into_tables).collect();
    tables.iter_mut().for_each(SwitchTables::clear);
    let switches = (0..fabric.switch_count()).map(SwitchId);
    let routes = switches.map(|switch| RouteTables::new(scenario, switch)).collect();
    configure(scenario, routes, &mut tables);
    let frames = KernelFrames::new(&mac_addresses::addresses(fabric), scenario.frames.lengths());
    Deployed { frames, wires, tables }
}

/// A configured fabric in memory.
pub fn in_memory(scenario: &Scenario) -> std::io::Result<Deployed<MemoryWires>> {
    let fabric = scenario.fabric();
    let order = scenario.deadlock_prevention();
    let mut arena = Arena::default();
    let tables = (0..fabric.switch_count())
        .map(SwitchId)
        .map(|switch| {
            let routes = RouteTables::new(scenario, switch);
            let capacity = switch_settings::capacity(scenario, switch, &routes);
            let mut tables = SwitchTables::owned_in(&mut arena, capacity)?;
            switch_settings::configure(scenario, switch, routes, order.as_ref(), &mut tables);
            Ok(tables)
        })
        .collect::<std::io::Result<Vec<_>>>()?;
    let frames =
        MemoryFrames::new(mac_addresses::addresses(fabric).into(), scenario.frames.lengths());
    Ok(Deployed { frames, wires: MemoryWires::new(switch_settings::policy(scenario)), tables })
}

/// The record of a run of `scenario`.
pub fn record(scenario: &Scenario, folder: Option<ResultsFolder>) -> Record {
    let results = &scenario.results;
    let meter = |throughput: &Throughput| {
        let labels = scenario.labels().into_iter().filter(|label| throughput.covers(label));
        ThroughputMeter::new(throughput.interval, labels.map(str::to_owned).collect())
    };
    let options = RecordOptions {
        flow_queues: scenario.switch.pauses_queues().then_some(results.queue_period.to_nanos()),
        flow_tables: results.flow_tables && scenario.switch.pauses_flows(),
        port_queues: results.port_queues,
        port_states: scenario.switch.has_port_states(),
        watchdog: scenario.switch.watchdog.is_some(),
        flow_size_bins: results.flow_size_bins.clone(),
        capacities: capacities(scenario),
        size_classes: SizeClasses::new(results.size_classes.clone()),
        window: window(results),
        throughput: results.throughput.as_ref().map(meter),
    };
    Record::new(folder, options)
}

/// The time span that results also evaluate separately.
pub(crate) fn window(results: &scenario::Results) -> Option<Window> {
    let window = results.window()?;
    Some(Window { from: window.from.to_nanos(), to: window.to.to_nanos() })
}

/// Capacity of each switch's buffer.
fn capacities(scenario: &Scenario) -> BTreeMap<String, Bytes> {
    let fabric = scenario.fabric();
    let of = |switch| (fabric.switch(switch).name.clone(), scenario.switch_at(switch).buffer());
    (0..fabric.switch_count()).map(SwitchId).map(of).collect()
}

#[expect(clippy::too_many_arguments, reason = "all of a run, from one place")]
fn drive<W: Wires>(
    scenario: &Scenario,
    fabric: Deployed<W>,
    record: Record,
    captured: &[(WireId, CaptureFilter)],
    threads: ThreadUse,
    watch: &mut Watch<'_>,
    started: &Started,
    deploy: Duration,
    partial: Partial,
) -> Result<Outcome, Error> {
    let cpu_before = cpu_time::thread_time();
    let engine = Engine::new(scenario, fabric, record, captured, threads);
    let Finished { record, end, mut counted, wires, switches, others_cpu, threads, failure } =
        engine.run(watch)?;
    let loop_cpu = others_cpu + cpu_time::thread_time().saturating_sub(cpu_before);
    drop((wires, switches));
    if partial == Partial::Discarded {
        if let Some(failure) = failure {
            return Err(RunError::Datapath(failure).into());
        }
        if counted.ended == RunEnd::Interrupted {
            return Err(RunError::Interrupted.into());
        }
    }
    counted.threads = threads;
    started.report(&mut counted, others_cpu);
    let report = closing::publish(scenario, record, end, counted, Clock::Virtual)?;
    Ok(Outcome { report, deploy, loop_cpu, failure })
}

/// The wires of the capture: each (wire, filter) once, in the order of the wires.
fn captured_wires(scenario: &Scenario) -> Vec<(WireId, CaptureFilter)> {
    let mut captured: Vec<(WireId, CaptureFilter)> = Vec::new();
    for (number, wire) in (0..).zip(scenario.fabric().wires()) {
        for capture in scenario.captures.iter().filter(|capture| capture.covers(&wire.name)) {
            let entry = (WireId(number), capture.filter);
            if !captured.contains(&entry) {
                captured.push(entry);
            }
        }
    }
    captured
}

/// The format of a run's tables.
pub const fn table_format(scenario: &Scenario) -> TableFormat {
    match scenario.results.format {
        scenario::TableFormat::Csv => TableFormat::Csv,
        scenario::TableFormat::Parquet => TableFormat::Parquet,
    }
}

/// Claims the folder for results.
pub(crate) fn claim(
    scenario: &Scenario,
    folder: &Path,
    captured: &[(WireId, CaptureFilter)],
) -> Result<ResultsFolder, ResultsError> {
    let wires = captured
        .iter()
        .map(|(wire, _)| {
            let wire = scenario.fabric().wire(*wire);
            CaptureWire { name: wire.name.clone(), rate: wire.rate }
        })
        .collect();
    let options = ResultsOptions {
        tables: tables::written(scenario).map(|table| table.name).collect(),
        format: table_format(scenario),
        port_states: scenario.switch.has_port_states(),
        flow_trace_rows: scenario.results.flow_trace.as_ref().map(|trace| trace.rows),
        wires,
        snap_bytes: 0,
        hpcc: hpcc_options(scenario),
        wire_log: scenario.results.explain,
    };
    ResultsFolder::create(folder, &options)
}

/// Start of a run. Processor time is measured for its threads, because other threads may run other scenarios.
pub(crate) struct Started {
    wall: Instant,
    cpu: Duration,
}

impl Started {
    #[expect(clippy::disallowed_methods, reason = "reported beside the results, never in them")]
    pub fn now() -> Self {
        Self { wall: Instant::now(), cpu: cpu_time::thread_time() }
    }

    /// Adds the times of the run to the summary; other threads took `others_cpu`.
    pub fn report(&self, summary: &mut Summary, others_cpu: Duration) {
        summary.wall_seconds = self.wall.elapsed().as_secs_f64();
        let own_cpu = cpu_time::thread_time().saturating_sub(self.cpu);
        summary.cpu_seconds = (own_cpu + others_cpu).as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use fabric_core::drop_reason::DropReason;

    use super::*;
    use std::sync::atomic::AtomicBool;

    const STAR: &str = "[datapath]\nkind = \"memory\"\n[topology]\nkind = \"star\"\nhosts = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";

    type Change = fn(&mut Outcome);

    #[test]
    fn a_run_that_misses_something_is_not_sound() {
        let scenario = Scenario::parse(STAR, Path::new("star.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        // Changes of a run's summary in order, with true if it is still sound.
        let rows: [(Change, bool); 5] = [
            (|_| {}, true),
            (|run| run.report.summary.unfinished = Some("a flow".into()), false),
            (|run| run.report.summary.books.push("something".into()), false),
            (|run| drop_frame(run, DropReason::SubstrateLoss), false),
            (|run| drop_frame(run, DropReason::InjectedLoss), true),
        ];
        for (row, (change, sound)) in rows.into_iter().enumerate() {
            let interrupted = AtomicBool::new(false);
            let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
            let mut outcome =
                run(&scenario, None, Threads::ONE, &mut watch).expect("no file to write");
            change(&mut outcome);
            assert_eq!(outcome.is_sound(), sound, "row {row}");
        }
    }

    #[cfg(not(feature = "kernel"))]
    #[test]
    fn a_build_without_the_kernel_datapath_says_how_to_get_it() {
        let kernel = ["datapath.kind=\"kernel\"".to_owned()];
        let scenario = Scenario::parse(STAR, Path::new("star.toml"), &kernel);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let interrupted = AtomicBool::new(false);
        let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
        let error =
            run(&scenario, None, Threads::ONE, &mut watch).expect_err("it has no such datapath");
        assert!(error.to_string().contains("feature `kernel`"), "{error}");
    }

    fn drop_frame(run: &mut Outcome, reason: DropReason) {
        run.report.summary.drops.add(reason, 1);
    }
}
