//! Live fabrics: a fabric that stays up on the real clock, with programs in its hosts.
//!
//! The engine is the one of runs. Its windows wait for the wall clock ([`clock`]). Between windows the engine takes
//! frames from programs in the hosts' namespaces ([`stacks`]) and requests from users ([`desk`]). So order and
//! emulated time within the fabric are exact on any machine: a busy machine only changes when programs see the
//! result, and this lateness is measured for each node (`lateness.rs`). [`calibration`] finds the max speed of a
//! fabric.

pub mod calibration;
pub mod captures;
pub mod clock;
pub mod desk;
pub mod impairment;
pub(crate) mod lateness;
pub(crate) mod pauses;
pub mod stacks;
pub mod thread;
pub mod view;

use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use netns::FabricId;
use results::ResultsError;
use scenario::{DatapathKind, LinkKind, Scenario};
use topology::HostId;
use units::Picos;

use crate::closing::{self, Clock};
use crate::datapath::Deployed;
use crate::datapath::kernel::{DeployError, KernelWires, Programs};
use crate::engine::{Ended, Engine, Finished, RunError, Surroundings};
use crate::run::{self, Started, Threads};

use calibration::Calibration;
use desk::{Desk, Handle};
use stacks::{Stacks, Waiting};
use thread::{Hurry, Priority};
use view::StormEvent;

pub use crate::datapath::kernel::STACK_INTERFACE;

/// Reason why a live fabric ended, or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario's fabric cannot be live.
    #[error("{0}")]
    Unfit(&'static str),
    /// The fabric could not be set up.
    #[error("setting up the fabric: {0}")]
    Deploy(#[from] DeployError),
    /// Waiting for programs and requests failed.
    #[error("waiting for programs and requests: {0}")]
    Wait(#[from] std::io::Error),
    /// The system does not grant real-time priority to the fabric's threads.
    #[error(
        "cannot run the fabric in real time: {0}; leave --real-time out, or allow it (`ulimit -r`, cpu.rt_runtime_us)"
    )]
    RealTime(#[source] std::io::Error),
    /// The engine failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The results could not be written.
    #[error("there are no results: {0}")]
    Results(#[from] ResultsError),
}

/// Seconds of the wall clock per emulated second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dilation {
    /// The given number.
    Exactly(NonZeroU32),
    /// The min number with which the machine keeps up under load: see [`calibration`].
    Auto,
}

impl fmt::Display for Dilation {
    /// In the form of the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(dilation) => dilation.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// Settings of a live fabric.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// True if the flows of the scenario start as in a run.
    pub plays: bool,
    /// Speed of the fabric.
    pub dilation: Dilation,
    /// Threads that run the fabric.
    pub threads: Threads,
    /// Method of waiting for the next event.
    pub waiting: Waiting,
    /// Scheduling priority of the threads.
    pub priority: Priority,
    /// Folder for results. `None` writes no results.
    pub results: Option<&'a Path>,
}

/// A live fabric that forwards.
#[derive(Debug)]
pub struct Up {
    /// Handle for requests to the fabric.
    pub handle: Handle,
    /// The identifier in the names of its namespaces.
    pub fabric: FabricId,
    /// Full name of each host's namespace, by host.
    pub namespaces: Vec<String>,
    /// Seconds of the wall clock per emulated second.
    pub dilation: NonZeroU32,
    /// Calibration that chose the dilation; `None` if the dilation was given.
    pub calibration: Option<Calibration>,
    /// Start and end of PFC storms that watchdogs detect.
    pub storm_events: Receiver<StormEvent>,
}

/// Deploys a scenario's fabric and keeps it up, until a request or `interrupted` ends it. Calls `up` once the fabric
/// forwards, and `ending` before it takes the fabric down.
pub fn serve(
    scenario: Scenario,
    options: Options<'_>,
    interrupted: &AtomicBool,
    up: impl FnOnce(&Scenario, Up),
    ending: impl FnOnce(),
) -> Result<(), Error> {
    fitness(&scenario)?;
    // Claimed first, so that an unwritable folder is an error before anything is deployed.
    let folder = options.results.map(|folder| run::claim(&scenario, folder, &[])).transpose()?;
    let started = Started::now();
    let declared = scenario;
    let scenario = declared.clone().on_demand(options.plays, folder.is_some());
    let longest = scenario.link_frames().longest.0;
    let mtu = u32::try_from(longest.saturating_sub(ETHERNET_HEADER)).unwrap_or(u32::MAX);
    let mut fabric = run::deploy(&scenario, Programs::Behind { mtu })?;
    let namespaces = namespaces(&scenario, &fabric);
    let id = fabric.wires.deployment().fabric();
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    let mut stacks = Stacks::new(fabric.wires.take_stacks(), longest, options.waiting)?;
    let (mut desk, handle) = Desk::new(stacks.waker()?);
    // Ended after each phase: threads of clients must not run ahead of programs.
    let hurry = || Hurry::begin(options.priority).map_err(Error::RealTime);
    let (dilation, calibration) = match options.dilation {
        Dilation::Exactly(dilation) => (dilation, None),
        Dilation::Auto => {
            let _hurry = hurry()?;
            let (stacks, desk) = (&mut stacks, &mut desk);
            let tried = calibration::calibrate(
                &declared,
                fabric,
                calibration::Around { stacks, desk, handle: &handle, interrupted },
                options.threads,
            )?;
            fabric = tried.fabric;
            (tried.calibration.dilation(), Some(tried.calibration))
        }
    };
    let record = run::record(&scenario, folder);
    let threads = options.threads.for_a_run(&scenario);
    let mut engine = Engine::new(&scenario, fabric, record, &[], threads);
    engine.connect_stacks(&stacks);
    if let Some(folder) = options.results {
        engine.survive_loss_of(folder.to_owned());
    }
    let storm_events = engine.subscribe_to_storms();
    if interrupted.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted.into());
    }
    // Real-time priority is tried before `up` reports that the fabric runs.
    drop(hurry()?);
    up(&scenario, Up { handle, fabric: id, namespaces, dilation, calibration, storm_events });
    let (stacks, desk) = (&mut stacks, &mut desk);
    let hurry = hurry()?;
    let (from, trial) = (Picos::ZERO, None);
    let around = Surroundings { dilation, from, trial, stacks, desk, interrupted };
    let ended = engine.run_live(around);
    drop(hurry);
    ending();
    finish(&declared, ended?, &started, options.results.is_some())
}

/// Checks that results can be written to a folder. Leaves the folder unchanged.
pub fn check_results(scenario: &Scenario, folder: &Path) -> Result<(), ResultsError> {
    run::claim(scenario, folder, &[]).map(drop)
}

/// Takes the fabric down, and publishes results if they were requested.
fn finish(
    scenario: &Scenario,
    ended: Ended,
    started: &Started,
    leaves_results: bool,
) -> Result<(), Error> {
    let Ended { finished, fidelity, lost_results, .. } = ended;
    let Finished { record, end, mut counted, wires, switches, others_cpu, threads, failure } =
        finished;
    drop((wires, switches));
    if let Some(error) = lost_results {
        return Err(error.into());
    }
    if leaves_results {
        counted.threads = threads;
        counted.fidelity = Some(fidelity);
        started.report(&mut counted, others_cpu);
        closing::publish(scenario, record, end, counted, Clock::Real)?;
    }
    failure.map_or(Ok(()), |failure| Err(RunError::Datapath(failure).into()))
}

/// Full name of each host's namespace, by host.
fn namespaces(scenario: &Scenario, fabric: &Deployed<KernelWires>) -> Vec<String> {
    let deployment = fabric.wires.deployment();
    let hosts = (0..scenario.fabric().host_count()).map(HostId);
    hosts
        .map(|host| deployment.namespace(scenario.fabric().host_node(host).0 as usize))
        .map(|namespace| namespace.name().to_owned())
        .collect()
}

/// A host's IPv4 address.
pub fn address(host: HostId) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_HOST_ADDRESS + host.0)
}

/// Length of an Ethernet header, bytes. An MTU does not include it.
const ETHERNET_HEADER: u64 = 14;

/// Checks that a scenario's fabric can be live.
pub fn fitness(scenario: &Scenario) -> Result<(), Error> {
    if scenario.datapath.kind != DatapathKind::Kernel {
        let why = "a live fabric runs on the kernel datapath; write `[datapath] kind = \"kernel\"`, or leave it out";
        return Err(Error::Unfit(why));
    }
    if scenario.datapath.links != LinkKind::Veth {
        let why = "the links of a live fabric are veth pairs; write `[datapath] links = \"veth\"`, or leave it out";
        return Err(Error::Unfit(why));
    }
    if scenario.frames.lengths() != host_agent::frame_length::FrameLengths::default() {
        let why = "in a live fabric frames count as long as they are; leave `[frames]` out";
        return Err(Error::Unfit(why));
    }
    Ok(())
}
