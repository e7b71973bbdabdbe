//! The kernel datapath: namespaces, links, switches at XDP or TC, AF_XDP hosts.
//!
//! When a frame is sent on a veth, the peer's program nearly always runs before the system call returns: by native
//! XDP in the peer's poll, by generic XDP and TC in the poll of the processor's backlog. The kernel polls both at
//! the end of the call, unless it defers them to a thread (ksoftirqd, threaded polls) or another processor (RPS).
//! When a frame is written to a tap device, its program runs within the call. So the engine sends one frame, takes
//! its record, and goes on, and frames keep their order even if the kernel defers a program. If the record does not
//! come, the engine waits, and then the run fails: it never reports results that a lost frame has falsified.
//!
//! Each frame sent must leave one record, or appear in one AF_XDP ring, with the port and the time of its sending.
//! A frame without a sender ends the run, too.
//!
//! The egress auditor (`fabric_core::audit`) runs when a transmission begins, in memory and over tap devices. Over veth
//! pairs a frame leaves the sending port's interface only at its arrival instant: a TC program audits it there, and the
//! socket's mark holds the begin of its transmission.

mod deploy;
mod frames;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fabric_core::arrival::Outcome;
use fabric_core::audit::audit;
use fabric_core::cell::Sharing;
use fabric_core::frame::ByteFrame;
use fabric_core::policy::Policy;
use host_agent::frame_length::FrameLengths;
use linux::af_xdp;
use linux::packet_socket::PacketSocket;
use netns::{Deployment, Tap};
use scenario::Datapath;
use switch_user::program::{HostProgram, SocketTakes, SwitchProgram};
use switch_user::tables::{Capacity, SwitchTables};
use topology::{Fabric, HostId, NodeKind, SwitchId};
use units::Nanos;

use super::slab::Slab;
use super::{Crossing, DatapathError, Departing, Deployed, FrameId, HostArrival, Orders, Wires};
use crate::mac_addresses;
use crate::partition::{Members, Partition};
use crate::switch_settings::FIRST_INTERFACE;

pub use deploy::{DeployError, FIRST_HOST_INTERFACE, Programs, STACK_INTERFACE};
use deploy::{hook, open_links, plan, start_hosts, start_switches};
use frames::fill;
pub use frames::{KernelFrame, KernelFrames};

/// Number of polls of a ring before the first sleep.
const SPINS: u32 = 1000;
/// Number of polls until a frame counts as lost: beyond [`SPINS`], a millisecond lies between two polls.
const ATTEMPTS: u32 = SPINS + 1000;

/// Threads that close AF_XDP sockets.
const CLOSERS: usize = 16;

impl Drop for Sockets {
    /// Closes the sockets in parallel: the kernel waits for a grace period of some 10 ms before it releases an
    /// AF_XDP socket.
    fn drop(&mut self) {
        let mut hosts: Vec<_> = self.0.drain(..).flatten().collect();
        let share = hosts.len().div_ceil(CLOSERS).max(1);
        thread::scope(|scope| {
            while !hosts.is_empty() {
                let rest = hosts.split_off(share.min(hosts.len()));
                let closing = std::mem::replace(&mut hosts, rest);
                // If no thread can be started, its share is dropped here.
                let _ = thread::Builder::new().spawn_scoped(scope, move || drop(closing));
            }
        });
    }
}

struct Switch {
    name: String,
    program: SwitchProgram,
    #[cfg(feature = "log-events")]
    events: switch_user::event_log::EventLog,
}

/// The wires of a deployed fabric, or those that lead to the nodes of a part of it.
///
/// Fields are dropped in this order. Sockets go first, because each keeps its namespace alive; then the
/// namespaces with their interfaces; then the programs, which are cheaper to detach from interfaces that
/// are gone.
pub struct KernelWires {
    /// Sockets by host, of this part only. A host is in the part of its switch, so one part sends and receives on
    /// it.
    hosts: Sockets,
    /// Links of the whole fabric: a part sends the frames that arrive at its nodes.
    links: Links,
    deployment: Arc<Deployment>,
    /// Switches by number, of this part only.
    switches: Vec<Option<Switch>>,
    /// Keeps the program attached while this value lives.
    host_program: Arc<HostProgram>,
    wire_names: Arc<[String]>,
    /// Interfaces of the hosts' stacks, by host, until they are taken; empty if programs are beside the NICs.
    stacks: Vec<Tap>,
}

/// Sockets or devices through which frames are sent.
#[derive(Clone)]
enum Links {
    /// Veth pairs: the sockets of switches, by number. Hosts send through their own sockets.
    Veth(Arc<[PacketSocket]>),
    /// Tap devices: the device at the end of each wire, by wire.
    Tap(Arc<[Tap]>),
}

/// The sockets of hosts, by number, of a part only.
struct Sockets(Vec<Option<af_xdp::Socket>>);

impl KernelWires {
    /// Makes the namespaces, loads and attaches the programs, opens the sockets. `capacities` has one
    /// entry per switch. The tables still have to be configured.
    pub fn deploy(
        fabric: &Fabric,
        datapath: Datapath,
        capacities: &[Capacity],
        policy: Policy,
        lengths: FrameLengths,
        programs: Programs,
    ) -> Result<Deployed<Self>, DeployError> {
        let (links, hook) = (datapath.links, hook(datapath.hook));
        let addresses = mac_addresses::addresses(fabric);
        let mut deployment = netns::deploy(&plan(fabric, links, &addresses, programs))?;
        let mut switches = Vec::with_capacity(capacities.len());
        let mut tables = Vec::with_capacity(capacities.len());
        for started in start_switches(fabric, (links, hook), &deployment, capacities, policy)? {
            switches.push(Some(started.switch));
            tables.push(started.tables);
        }
        let takes = match programs {
            Programs::Beside => SocketTakes::Ours,
            Programs::Behind { .. } => SocketTakes::All,
        };
        let (host_program, hosts) = start_hosts(fabric, hook, &deployment, takes)?;
        let wires = Self {
            stacks: deployment.take_stacks(),
            hosts: Sockets(hosts.into_iter().map(Some).collect()),
            links: open_links(fabric, links, &mut deployment)?,
            deployment: Arc::new(deployment),
            switches,
            host_program: Arc::new(host_program),
            wire_names: fabric.wires().iter().map(|wire| wire.name.clone()).collect(),
        };
        let frames = KernelFrames::new(&addresses, lengths);
        Ok(Deployed { frames, wires, tables })
    }

    /// A switch's program.
    pub fn program_mut(&mut self, switch: u32) -> &mut SwitchProgram {
        &mut self.switch_mut(switch).program
    }

    fn switch_mut(&mut self, switch: u32) -> &mut Switch {
        self.switches[switch as usize].as_mut().expect("the switch is in this part")
    }

    fn host_mut(&mut self, host: u32) -> &mut af_xdp::Socket {
        self.hosts.0[host as usize].as_mut().expect("the host, or its switch, is in this part")
    }

    /// The first host of this part whose interface is down or gone, with the kernel's error.
    pub fn host_down(&self) -> Option<(HostId, af_xdp::Error)> {
        let hosts = (0..).map(HostId).zip(&self.hosts.0);
        let mut hosts = hosts.filter_map(|(host, socket)| Some((host, socket.as_ref()?)));
        hosts.find_map(|(host, socket)| Some((host, socket.check().err()?)))
    }

    /// Takes the interfaces of the hosts' stacks, by host; empty if programs are beside the NICs.
    pub fn take_stacks(&mut self) -> Vec<Tap> {
        std::mem::take(&mut self.stacks)
    }

    /// The namespaces.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The namespaces, for readers while the fabric runs. They are removed once all owners have dropped them.
    pub fn shared_deployment(&self) -> Arc<Deployment> {
        Arc::clone(&self.deployment)
    }

    fn name(&self, crossing: &Crossing) -> String {
        self.wire_names[crossing.wire.0 as usize].clone()
    }

    fn foreign(&self, crossing: &Crossing, what: String) -> DatapathError {
        DatapathError::Foreign { wire: self.name(crossing), what, now: crossing.now.to_nanos() }
    }
}

/// An instant in the form in which the auditor reads it from a frame's mark.
#[expect(clippy::cast_possible_truncation, reason = "the auditor knows the rest")]
const fn low_half(instant: Nanos) -> u32 {
    instant.0 as u32
}

impl Sharing for KernelWires {
    const SHARED: bool = true;
}

impl Wires for KernelWires {
    type Frames = KernelFrames;

    fn divide(mut self, frames: KernelFrames, partition: &Partition) -> Vec<(Self, KernelFrames)> {
        let part = |members: &Members| {
            let mut part = Self {
                hosts: Sockets(self.hosts.0.iter().map(|_| None).collect()),
                links: self.links.clone(),
                deployment: Arc::clone(&self.deployment),
                switches: self.switches.iter().map(|_| None).collect(),
                host_program: Arc::clone(&self.host_program),
                wire_names: Arc::clone(&self.wire_names),
                stacks: Vec::new(),
            };
            for host in members.hosts.iter().map(|host| host.0 as usize) {
                part.hosts.0[host] = self.hosts.0[host].take();
            }
            for switch in members.switches.iter().map(|switch| switch.0 as usize) {
                part.switches[switch] = self.switches[switch].take();
            }
            let addresses = Arc::clone(&frames.addresses);
            (part, KernelFrames { frames: Slab::default(), lengths: frames.lengths, addresses })
        };
        partition.members().iter().map(part).collect()
    }

    fn join(parts: Vec<Self>) -> Self {
        let whole = parts.into_iter().reduce(|mut whole, mut part| {
            for (place, host) in whole.hosts.0.iter_mut().zip(&mut part.hosts.0) {
                *place = place.take().or_else(|| host.take());
            }
            for (place, switch) in whole.switches.iter_mut().zip(&mut part.switches) {
                *place = place.take().or_else(|| switch.take());
            }
            whole
        });
        whole.expect("a division has at least one part")
    }

    /// The auditor at TC egress sees the frame when its last bit arrives, and computes the beginning of its
    /// transmission from the mark and the switch's clock. So the clock must not be before that.
    ///
    /// A frame that is written to a tap device does not leave an interface. There the auditor is a call.
    fn depart(&mut self, frames: &mut KernelFrames, departing: &Departing<'_>, frame: FrameId) {
        let &Departing { switch, tables, port, now, .. } = departing;
        match self.links {
            Links::Veth(_) => self.switch_mut(switch).program.set_clock(now),
            Links::Tap(_) => {
                audit(
                    &ByteFrame(frames.frames[frame].bytes.as_mut_slice()),
                    tables,
                    port.into(),
                    now,
                );
            }
        }
    }

    fn send(
        &mut self,
        frames: &mut KernelFrames,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<(), DatapathError> {
        let wire = &crossing.ends;
        if let NodeKind::Switch(SwitchId(switch)) = wire.to {
            let program = &self.switch_mut(switch).program;
            program.set_clock(crossing.now.to_nanos());
            program.set_frame_length(crossing.length);
        }
        let KernelFrame { bytes: frame, late, .. } = &mut frames.frames[frame];
        let late = std::mem::take(late);
        let sent = match (&self.links, wire.from) {
            (Links::Tap(taps), _) => {
                taps[crossing.wire.0 as usize].deliver(frame).map_err(Into::into)
            }
            (Links::Veth(sockets), NodeKind::Switch(SwitchId(switch))) => {
                let interface = FIRST_INTERFACE + u32::from(wire.from_port);
                let mark = low_half(crossing.started(late));
                sockets[switch as usize].send(interface, frame, mark).map_err(Into::into)
            }
            (Links::Veth(_), NodeKind::Host(HostId(host))) => {
                self.host_mut(host).send(frame).map_err(Into::into)
            }
        };
        sent.map_err(|source| DatapathError::Send { wire: self.name(crossing), source })
    }

    fn poll_switch(
        &mut self,
        frames: &mut KernelFrames,
        crossing: &Crossing,
        _: &SwitchTables,
        frame: FrameId,
        outcome: &mut Outcome,
        orders: &mut Orders,
    ) -> Result<bool, DatapathError> {
        let NodeKind::Switch(SwitchId(number)) = crossing.ends.to else {
            unreachable!("the wire ends at a switch")
        };
        let switch = self.switch_mut(number);
        // The frame as changed by eBPF replaces the sender's copy.
        let mut queued = std::mem::take(&mut frames.frames[frame].bytes);
        let taken = switch.program.take_records(
            |_, bytes| fill(&mut queued, bytes),
            |_, order, bytes| orders.push((*order, Some(frames.insert_control(bytes)))),
        );
        frames.frames[frame].bytes = queued;
        let taken = taken
            .map_err(|source| DatapathError::Program { switch: switch.name.clone(), source })?;
        let Some(records) = taken else { return Ok(false) };
        #[cfg(feature = "log-events")]
        switch.events.flush();
        let port = u32::from(crossing.ends.to_port);
        if records.port != port || records.time_ns != crossing.now.to_nanos().0 {
            let what = format!("a frame at port {}", records.port);
            return Err(self.foreign(crossing, what));
        }
        *outcome = records.outcome;
        Ok(true)
    }

    fn poll_host(
        &mut self,
        frames: &mut KernelFrames,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<Option<HostArrival>, DatapathError> {
        let NodeKind::Host(HostId(host)) = crossing.ends.to else {
            unreachable!("the wire ends at a host")
        };
        let KernelFrame { bytes: sent, is_foreign, .. } = &frames.frames[frame];
        let mut parsed = None;
        // Arrivals at a host have no count, so the frame itself is compared with the sent one.
        let mut read = |bytes: &[u8]| {
            parsed = Some(if bytes != sent {
                Err("a frame that no node of the fabric sent".to_owned())
            } else if *is_foreign {
                Ok(HostArrival::Foreign)
            } else {
                HostArrival::parse(bytes).map_err(|error| error.to_string())
            });
        };
        self.host_mut(host).receive(&mut read);
        let Some(parsed) = parsed else { return Ok(None) };
        parsed.map(Some).map_err(|what| self.foreign(crossing, what))
    }

    /// The record is nearly always there at the first poll; rarely the kernel defers the program.
    fn wait(&self, crossing: &Crossing, attempts: u32) -> Result<(), DatapathError> {
        match attempts {
            ..SPINS => std::hint::spin_loop(),
            SPINS..ATTEMPTS => thread::sleep(Duration::from_millis(1)),
            _ => {
                let (wire, now) = (self.name(crossing), crossing.now.to_nanos());
                let waited_ms = (ATTEMPTS - SPINS).into();
                return Err(DatapathError::Lost { wire, now, waited_ms });
            }
        }
        Ok(())
    }

    fn substrate_losses(&mut self) -> u64 {
        self.hosts
            .0
            .iter()
            .flatten()
            .map(|socket| socket.statistics().map_or(0, |statistics| statistics.frames_lost()))
            .sum()
    }
}
