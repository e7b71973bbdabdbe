//! Setup of a fabric: namespaces and links, programs and sockets.
//!
//! Programs, maps, sockets and interfaces end with the process and its namespaces: nothing is pinned.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::thread;

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::policy::Policy;
use fabric_core::record::MAX_FRAME;
use fabric_core::wire::{LinkAddresses, ethernet};
use linux::af_xdp;
use linux::packet_socket::PacketSocket;
use netns::{Deployment, EndSpec, LinkSpec, NamespaceSpec, Plan, StackSpec, Tap};
use scenario::{HookKind, LinkKind};
use switch_user::hook::Hook;
use switch_user::program::{HostProgram, ProgramError, SocketTakes, SwitchProgram};
use switch_user::tables::{Capacity, SwitchTables};
use topology::{Fabric, HostId, NodeId, NodeKind, Wire};

use super::{Links, Switch};
use crate::switch_settings::FIRST_INTERFACE;

/// Interface index of host 0. Hosts have different indices, so that one program can distinguish its hosts.
pub const FIRST_HOST_INTERFACE: u32 = 1000;
/// An interface's MTU: the longest frame that a record holds, less the Ethernet header.
const MTU: u32 = 3218;
const _: () = assert!(MTU as usize + ethernet::LEN == MAX_FRAME);

/// Reason why a fabric could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// Namespaces or links could not be created.
    #[error(transparent)]
    Netns(#[from] netns::Error),
    /// An eBPF program could not be loaded or attached.
    #[error("node {node}: {source}")]
    Program {
        /// The node.
        node: String,
        /// Reason for the failure.
        source: ProgramError,
    },
    /// An AF_XDP socket could not be opened.
    #[error("host {node}: {source}")]
    Host {
        /// The host.
        node: String,
        /// Reason for the failure.
        source: af_xdp::Error,
    },
    /// An AF_PACKET socket could not be opened.
    #[error("switch {node}: {source}")]
    Socket {
        /// The switch.
        node: String,
        /// Reason for the failure.
        source: linux::packet_socket::Error,
    },
}

/// Place of programs in a host's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// At the host's port, beside the emulated NIC: their frames go onto the wire unpaced, and disturb a run.
    Beside,
    /// Behind the NIC, at a separate interface.
    Behind {
        /// MTU of this interface, bytes.
        mtu: u32,
    },
}

/// Name and index of the interface of programs behind the NIC.
pub const STACK_INTERFACE: &str = "eth0";
const STACK_INDEX: u32 = 2;

/// The hook for the scenario's setting.
pub(super) fn hook(kind: HookKind) -> Hook {
    match kind {
        HookKind::Xdp => Hook::Xdp,
        HookKind::XdpGeneric => Hook::XdpGeneric,
        HookKind::Tc => Hook::Tc,
    }
}

/// The namespaces and links of a fabric.
pub(super) fn plan(
    fabric: &Fabric,
    kind: LinkKind,
    addresses: &[LinkAddresses],
    programs: Programs,
) -> Plan {
    let namespaces = fabric
        .nodes()
        .iter()
        .map(|node| NamespaceSpec { name: node.name.clone(), forwarding: false })
        .collect();
    let end = |node: NodeId, port: u16| {
        let wire = fabric.node(node).ports[port as usize];
        let addresses = &addresses[wire.0 as usize];
        let common = EndSpec {
            namespace: node.0 as usize,
            interface: fabric.wire(wire).port_name().to_owned(),
            mac: addresses.source,
            ..EndSpec::default()
        };
        match fabric.node(node).kind {
            NodeKind::Switch(_) => {
                EndSpec { index: Some(FIRST_INTERFACE + u32::from(port)), ..common }
            }
            NodeKind::Host(host) => {
                let index = Some(FIRST_HOST_INTERFACE + host.0);
                match programs {
                    Programs::Beside => {
                        EndSpec { index, ..reachable(fabric, host, addresses, common) }
                    }
                    Programs::Behind { .. } => EndSpec { index, ..common },
                }
            }
        }
    };
    let stacks = match programs {
        Programs::Beside => Vec::new(),
        Programs::Behind { mtu } => (0..fabric.host_count())
            .map(HostId)
            .map(|host| {
                let addresses = &addresses[fabric.host(host).ports[0].0 as usize];
                let interface = EndSpec {
                    namespace: fabric.host_node(host).0 as usize,
                    interface: STACK_INTERFACE.to_owned(),
                    index: Some(STACK_INDEX),
                    mac: addresses.source,
                    ..EndSpec::default()
                };
                StackSpec { end: reachable(fabric, host, addresses, interface), mtu }
            })
            .collect(),
    };
    let links = forth(fabric)
        .map(|wire| LinkSpec {
            a: end(wire.from, wire.from_port),
            b: end(wire.to, wire.to_port),
            mtu: MTU,
        })
        .collect();
    let link_kind = match kind {
        LinkKind::Veth => netns::LinkKind::Veth,
        LinkKind::Tap => netns::LinkKind::Tap,
    };
    Plan { namespaces, links, link_kind, stacks }
}

/// A host's interface with its address and the route to all other hosts, which is its switch.
fn reachable(
    fabric: &Fabric,
    host: HostId,
    addresses: &LinkAddresses,
    interface: EndSpec,
) -> EndSpec {
    let address = |host| Ipv4Addr::from(FIRST_HOST_ADDRESS + host);
    let others = (0..fabric.host_count()).filter(|other| *other != host.0);
    EndSpec {
        address: Some((address(host.0), 8)),
        neighbours: others.map(|other| (address(other), addresses.destination)).collect(),
        ..interface
    }
}

/// For each link, the wire from the lower node.
fn forth(fabric: &Fabric) -> impl Iterator<Item = &Wire> {
    fabric.wires().iter().filter(|wire| wire.from.0 < wire.to.0)
}

/// Opens the switches' sockets, or takes the tap devices.
pub(super) fn open_links(
    fabric: &Fabric,
    kind: LinkKind,
    deployment: &mut Deployment,
) -> Result<Links, DeployError> {
    match kind {
        LinkKind::Veth => {
            let first = fabric.host_count() as usize;
            let open = |number: usize| {
                let node = || fabric.nodes()[number].name.clone();
                let opened = deployment.namespace(number).enter(PacketSocket::open)?;
                opened.map_err(|source| DeployError::Socket { node: node(), source })
            };
            let sockets: Result<_, _> = (first..fabric.nodes().len()).map(open).collect();
            Ok(Links::Veth(sockets?))
        }
        LinkKind::Tap => {
            let mut taps: Vec<Option<Tap>> = fabric.wires().iter().map(|_| None).collect();
            for (wire, [a, b]) in forth(fabric).zip(deployment.take_taps()) {
                // A port's wire leads away from it; frames of the reverse wire arrive there.
                let [forth, back] = [(wire.from, wire.from_port), (wire.to, wire.to_port)]
                    .map(|(node, port)| fabric.node(node).ports[usize::from(port)].0 as usize);
                (taps[forth], taps[back]) = (Some(b), Some(a));
            }
            let taps = taps.into_iter().map(|tap| tap.expect("a link is two wires"));
            Ok(Links::Tap(taps.collect()))
        }
    }
}

/// Loads the switches' programs and attaches them to their ports.
pub(super) fn start_switches(
    fabric: &Fabric,
    (links, hook): (LinkKind, Hook),
    deployment: &Deployment,
    capacities: &[Capacity],
    policy: Policy,
) -> Result<Vec<StartedSwitch>, DeployError> {
    let first = fabric.host_count() as usize;
    let start = |number: usize,
                 (mut program, tables): Loaded|
     -> Result<StartedSwitch, DeployError> {
        let capacity = capacities[number];
        let name = fabric.nodes()[first + number].name.clone();
        let of_node = |source| DeployError::Program { node: name.clone(), source };
        deployment.namespace(first + number).enter(|| {
            (FIRST_INTERFACE..).take(capacity.ports as usize).try_for_each(|interface| {
                let attached = match links {
                    LinkKind::Veth => program.attach(interface),
                    LinkKind::Tap => program.attach_arrival(interface),
                };
                attached.map_err(of_node)
            })
        })??;
        let switch = Switch {
            #[cfg(feature = "log-events")]
            events: switch_user::event_log::EventLog::new(&mut program, &name).map_err(of_node)?,
            name: name.clone(),
            program,
        };
        Ok(StartedSwitch { switch, tables })
    };
    // The verifier takes most of the time of a deployment, and runs on as many cores as threads call it.
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = capacities.len().div_ceil(workers);
    let numbers: Vec<usize> = (0..capacities.len()).collect();
    let start_share = |numbers: &[usize]| -> Result<Vec<_>, DeployError> {
        let of_share: Vec<Capacity> = numbers.iter().map(|&number| capacities[number]).collect();
        let loaded = SwitchProgram::load(&of_share, policy, hook, None)
            .map_err(|source| DeployError::Program { node: "of the switches".into(), source })?;
        numbers.iter().zip(loaded).map(|(&number, loaded)| start(number, loaded)).collect()
    };
    thread::scope(|scope| {
        let start_share = &start_share;
        let begin = |numbers| {
            let worker = thread::Builder::new().spawn_scoped(scope, move || start_share(numbers));
            (numbers, worker)
        };
        let shares: Vec<_> = numbers.chunks(share).map(begin).collect();
        let mut switches = Vec::with_capacity(capacities.len());
        for (numbers, worker) in shares {
            let started = match worker {
                Ok(worker) => worker.join().expect("a worker does not panic"),
                // The system allows no more threads.
                Err(_) => start_share(numbers),
            };
            switches.extend(started?);
        }
        Ok(switches)
    })
}

/// A running switch: its program and its tables.
pub(super) struct StartedSwitch {
    pub switch: Switch,
    pub tables: SwitchTables,
}

/// A switch's program and the tables that it works on.
type Loaded = (SwitchProgram, SwitchTables);

/// Opens the hosts' sockets and attaches their program.
pub(super) fn start_hosts(
    fabric: &Fabric,
    hook: Hook,
    deployment: &Deployment,
    takes: SocketTakes,
) -> Result<(HostProgram, Vec<af_xdp::Socket>), DeployError> {
    let count = fabric.host_count() as usize;
    let mut program =
        HostProgram::load(fabric.host_count(), FIRST_HOST_INTERFACE, takes, hook.host_hook())
            .map_err(|source| DeployError::Program { node: "of all hosts".into(), source })?;
    let mut hosts = Vec::with_capacity(count);
    for (number, interface) in (0..count).zip(FIRST_HOST_INTERFACE..) {
        let name = &fabric.nodes()[number].name;
        let socket = deployment.namespace(number).enter(|| {
            let socket = af_xdp::Socket::open(interface, 0)
                .map_err(|source| DeployError::Host { node: name.clone(), source })?;
            program
                .attach(interface, socket.as_raw_fd())
                .map_err(|source| DeployError::Program { node: name.clone(), source })?;
            Ok::<_, DeployError>(socket)
        })??;
        hosts.push(socket);
    }
    Ok((program, hosts))
}
