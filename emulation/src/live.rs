//! Live fabrics: a fabric that stays up on the real clock, with programs in its hosts.
//!
//! The engine is that of runs. Its windows wait for the wall clock ([`clock`]), and between two windows come in what
//! programs in the hosts' namespaces have sent (`stacks.rs`) and what users ask for ([`desk`]). So order and emulated time
//! within the fabric are exact whatever the machine does: what a busy machine changes is when programs see the result,
//! and that is measured.

pub(crate) mod captures;
pub mod clock;
pub mod desk;
pub mod impairment;
pub(crate) mod pauses;
pub(crate) mod stacks;
pub mod view;

use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use netns::FabricId;
use results::RunEnd;
use scenario::{DatapathKind, LinkKind, Scenario};
use topology::HostId;

use crate::datapath::kernel::{DeployError, Programs};
use crate::engine::{Engine, Finished, RunError, ThreadUse};
use crate::run::{self, Threads};

use clock::RealClock;
use desk::{Desk, Handle};
use stacks::Stacks;

pub use crate::datapath::kernel::STACK_INTERFACE;

/// Why a live fabric ended, or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario's fabric cannot be live.
    #[error("{0}")]
    Unfit(&'static str),
    /// The fabric could not be set up.
    #[error("setting up the fabric: {0}")]
    Deploy(#[from] DeployError),
    /// What programs send and users ask for cannot be waited for.
    #[error("waiting for programs and requests: {0}")]
    Wait(#[from] std::io::Error),
    /// It failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A fabric that is up.
#[derive(Clone, Debug)]
pub struct Up {
    /// What reaches it.
    pub handle: Handle,
    /// The identifier in the names of its namespaces.
    pub fabric: FabricId,
    /// By host: the full name of its namespace.
    pub namespaces: Vec<String>,
}

/// Deploys a scenario's fabric and keeps it up, until a request or `interrupted` ends it. `dilation`: how many seconds of the
/// wall clock an emulated second takes. Calls `up` once the fabric forwards.
///
/// With `plays` the flows of the scenario start as in a run. Calls `ending` before it takes the fabric down.
pub fn serve(
    scenario: Scenario,
    plays: bool,
    (dilation, threads): (NonZeroU32, Threads),
    interrupted: &AtomicBool,
    up: impl FnOnce(&Scenario, Up),
    ending: impl FnOnce(),
) -> Result<(), Error> {
    fitness(&scenario)?;
    let scenario = scenario.on_demand(plays);
    let longest = scenario.link_frames().longest.0;
    let mtu = u32::try_from(longest.saturating_sub(ETHERNET_HEADER)).unwrap_or(u32::MAX);
    let programs = Programs::Behind { mtu };
    let mut fabric = run::deploy(&scenario, programs)?;
    let taps = fabric.wires.take_stacks();
    let deployment = fabric.wires.deployment();
    let hosts = (0..scenario.fabric().host_count()).map(HostId);
    let namespaces = hosts
        .map(|host| deployment.namespace(scenario.fabric().host_node(host).0 as usize))
        .map(|namespace| namespace.name().to_owned())
        .collect();
    let id = deployment.fabric();
    let mut stacks = Stacks::new(taps, usize::try_from(longest).unwrap_or(usize::MAX))?;
    let (mut desk, handle) = Desk::new(stacks.waker()?);
    let ThreadUse { most, least_frames } = threads.for_a_run(&scenario);
    let record = run::record(&scenario, None);
    let mut engine = Engine::new(&scenario, fabric, record, &[], ThreadUse { most, least_frames });
    engine.connect_stacks(&stacks);
    if interrupted.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted.into());
    }
    up(&scenario, Up { handle, fabric: id, namespaces });
    let mut clock = RealClock::start(dilation);
    let finished = engine.run_live(&mut clock, &mut stacks, &mut desk, interrupted);
    ending();
    let Finished { counted, .. } = finished?;
    debug_assert_eq!(counted.ended, RunEnd::Interrupted);
    Ok(())
}

/// A host's IPv4 address.
pub fn address(host: HostId) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_HOST_ADDRESS + host.0)
}

/// Bytes of an Ethernet header, which an MTU leaves out.
const ETHERNET_HEADER: u64 = 14;

/// Whether a scenario's fabric can be live.
pub fn fitness(scenario: &Scenario) -> Result<(), Error> {
    if scenario.datapath.kind != DatapathKind::Kernel {
        let why = "a live fabric runs on the kernel datapath; write `[datapath] kind = \"kernel\"`, or leave it out";
        return Err(Error::Unfit(why));
    }
    if scenario.datapath.links != LinkKind::Veth {
        let why = "the links of a live fabric are veth pairs; write `[datapath] links = \"veth\"`, or leave it out";
        return Err(Error::Unfit(why));
    }
    if scenario.frames.lengths != host_agent::frame_length::FrameLengths::default() {
        let why = "in a live fabric frames count as long as they are; leave `[frames]` out";
        return Err(Error::Unfit(why));
    }
    Ok(())
}
