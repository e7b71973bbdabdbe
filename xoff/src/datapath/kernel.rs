//! The kernel datapath: namespaces, veth pairs, XDP switches, AF_XDP hosts.
//!
//! A frame sent on a veth has run the peer's native XDP program before the system call returns, so the
//! engine sends one frame, takes its record, and goes on. What does not come back is waited for, and
//! then the run fails: it never reports results that the substrate has falsified.

mod deploy;

use std::thread;
use std::time::Duration;

use fabric_core::frame::mark_admitted;
use fabric_core::policy::Policy;
use fabric_core::units::Nanos;
use fabric_core::wire::{LinkAddresses, LinkDelayFrame, PfcFrame, RocePacket, link_delay, pfc};
use host_agent::af_xdp;
use netns::Deployment;
use switch_user::packet_socket::PacketSocket;
use switch_user::program::{HostProgram, SwitchProgram};
use switch_user::tables::{Capacity, SwitchTables};

use super::slab::Slab;
use super::{Crossing, Datapath, DatapathError, FrameId, FrameKind, HostArrival, SwitchArrival};
use crate::build::{self, WireEnds};
use crate::topology::{Fabric, HostId, NodeKind, SwitchId, WireId};

pub use deploy::{DeployError, FIRST_HOST_INTERFACE, FIRST_SWITCH_INTERFACE};
use deploy::{plan, start_hosts, start_switches};

/// Looks into a ring before sleeping; a record is there at the first look but for rare deferrals.
const SPINS: u32 = 1000;
/// Sleeps of a millisecond before a frame counts as lost.
const SLEEPS: u64 = 1000;

/// Threads that close AF_XDP sockets.
const CLOSERS: usize = 16;

impl Drop for Sockets {
    /// The kernel waits for a grace period before it lets go of an AF_XDP socket: some 10 ms each, had at
    /// the same time.
    fn drop(&mut self) {
        let mut hosts = std::mem::take(&mut self.hosts);
        let share = hosts.len().div_ceil(CLOSERS).max(1);
        thread::scope(|scope| {
            while !hosts.is_empty() {
                let rest = hosts.split_off(share.min(hosts.len()));
                let closing = std::mem::replace(&mut hosts, rest);
                // Where no thread can be started, what it would have owned is dropped here.
                let _ = thread::Builder::new().spawn_scoped(scope, move || drop(closing));
            }
        });
    }
}

struct Switch {
    name: String,
    tables: SwitchTables,
    program: SwitchProgram,
    #[cfg(feature = "log-events")]
    events: switch_user::event_log::EventLog,
}

/// A deployed fabric.
///
/// Fields are dropped in this order. Sockets go first, because each keeps its namespace alive; then the
/// namespaces with their interfaces; then the programs, which are cheaper to detach from interfaces that
/// are gone.
pub struct KernelDatapath {
    sockets: Sockets,
    deployment: Deployment,
    switches: Vec<Switch>,
    _host_program: HostProgram,
    /// By wire.
    addresses: Vec<LinkAddresses>,
    wire_names: Vec<String>,
    /// The bytes of frames.
    frames: Slab<Vec<u8>>,
}

/// The ways onto the wires.
struct Sockets {
    switches: Vec<PacketSocket>,
    hosts: Vec<af_xdp::Socket>,
}

impl KernelDatapath {
    /// Makes the namespaces, loads and attaches the programs, opens the sockets. `capacities` has one
    /// entry per switch. The tables still have to be configured: see [`Datapath::tables_mut`].
    pub fn deploy(
        fabric: &Fabric,
        capacities: &[Capacity],
        policy: Policy,
    ) -> Result<Self, DeployError> {
        let addresses = build::addresses(fabric);
        let deployment = netns::deploy(&plan(fabric, &addresses))?;
        let (switches, packet_sockets) = start_switches(fabric, &deployment, capacities, policy)?;
        let (host_program, hosts) = start_hosts(fabric, &deployment)?;
        Ok(Self {
            sockets: Sockets { switches: packet_sockets, hosts },
            deployment,
            switches,
            _host_program: host_program,
            addresses,
            wire_names: fabric.wires().iter().map(|wire| wire.name.clone()).collect(),
            frames: Slab::default(),
        })
    }

    /// A switch's program.
    pub fn program_mut(&mut self, switch: u32) -> &mut SwitchProgram {
        &mut self.switches[switch as usize].program
    }

    /// The namespaces.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    fn set_clocks(&self, wire: &WireEnds, now: Nanos) {
        for node in [wire.from, wire.to] {
            if let NodeKind::Switch(SwitchId(switch)) = node {
                self.switches[switch as usize].tables.set_clock(now);
            }
        }
    }

    fn send(&mut self, crossing: Crossing, frame: FrameId) -> Result<(), DatapathError> {
        let wire = &crossing.ends;
        self.set_clocks(wire, crossing.now);
        let frame = self.frames[frame].as_slice();
        let sent = match wire.from {
            NodeKind::Switch(SwitchId(switch)) => {
                // The auditor at TC egress reads the frame's age from the mark.
                let age = u32::try_from(crossing.now.0 - crossing.started.0).unwrap_or(u32::MAX);
                let interface = FIRST_SWITCH_INTERFACE + u32::from(wire.from_port);
                let socket = &self.sockets.switches[switch as usize];
                socket.send(interface, frame, age).map_err(Into::into)
            }
            NodeKind::Host(HostId(host)) => {
                self.sockets.hosts[host as usize].send(frame).map_err(Into::into)
            }
        };
        sent.map_err(|source| DatapathError::Send { wire: self.name(crossing), source })
    }

    fn name(&self, crossing: Crossing) -> String {
        self.wire_names[crossing.wire.0 as usize].clone()
    }

    fn lost(&self, crossing: Crossing) -> DatapathError {
        DatapathError::Lost { wire: self.name(crossing), now: crossing.now, waited_ms: SLEEPS }
    }

    fn foreign(&self, crossing: Crossing, what: String) -> DatapathError {
        DatapathError::Foreign { wire: self.name(crossing), what, now: crossing.now }
    }
}

/// Makes `buffer` hold `bytes`.
fn fill(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}

fn insert(frames: &mut Slab<Vec<u8>>, bytes: &[u8]) -> FrameId {
    let frame = frames.add();
    fill(&mut frames[frame], bytes);
    frame
}

/// Calls `look` until it finds something, first without and then with sleeping.
fn wait_for<T, E>(mut look: impl FnMut() -> Result<Option<T>, E>) -> Result<Option<T>, E> {
    for _ in 0..SPINS {
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        std::hint::spin_loop();
    }
    for _ in 0..SLEEPS {
        thread::sleep(Duration::from_millis(1));
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

impl Datapath for KernelDatapath {
    fn tables(&self, switch: u32) -> &SwitchTables {
        &self.switches[switch as usize].tables
    }

    fn tables_mut(&mut self, switch: u32) -> &mut SwitchTables {
        &mut self.switches[switch as usize].tables
    }

    fn roce(&mut self, wire: WireId, packet: &RocePacket) -> FrameId {
        let frame = self.frames.add();
        let buffer = &mut self.frames[frame];
        buffer.resize(packet.frame_length(), 0);
        packet
            .emit(&self.addresses[wire.0 as usize], buffer)
            .expect("hosts send packets whose fields are in range");
        frame
    }

    fn pfc(&mut self, frame: &PfcFrame) -> FrameId {
        let mut bytes = [0; pfc::LEN];
        frame.emit(&mut bytes);
        insert(&mut self.frames, &bytes)
    }

    fn link_delay(&mut self, message: &LinkDelayFrame) -> FrameId {
        let mut bytes = [0; link_delay::LEN];
        message.emit(&mut bytes);
        insert(&mut self.frames, &bytes)
    }

    fn stamp(&mut self, frame: FrameId, sent: Nanos) {
        let frame = &mut self.frames[frame];
        if let Ok(mut message) = LinkDelayFrame::parse(frame)
            && let Some(bytes) = frame.first_chunk_mut()
        {
            message.stamp(sent);
            message.emit(bytes);
        }
    }

    fn read_link_delay(&self, frame: FrameId) -> LinkDelayFrame {
        LinkDelayFrame::parse(&self.frames[frame]).expect("eBPF has parsed it")
    }

    fn arrive_at_switch(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<SwitchArrival, DatapathError> {
        self.send(crossing, frame)?;
        let wire = &crossing.ends;
        let NodeKind::Switch(SwitchId(number)) = wire.to else {
            unreachable!("the wire ends at a switch")
        };
        let port = wire.to_port;
        // What eBPF makes of the frame takes the place of the sender's copy.
        let mut queued = std::mem::take(&mut self.frames[frame]);
        let mut pause = None;
        let frames = &mut self.frames;
        let switch = &mut self.switches[number as usize];
        let records = wait_for(|| {
            switch.program.take_records(
                |_, bytes| fill(&mut queued, bytes),
                |_, bytes| pause = Some(insert(frames, bytes)),
            )
        })
        .map_err(|source| DatapathError::Program { switch: switch.name.clone(), source })?;
        #[cfg(feature = "log-events")]
        switch.events.flush();
        let Some(records) = records else { return Err(self.lost(crossing)) };
        if records.port != u32::from(port) || records.time_ns != crossing.now.0 {
            let what = format!("a frame at port {}", records.port);
            return Err(self.foreign(crossing, what));
        }
        self.frames[frame] = queued;
        Ok(SwitchArrival { outcome: records.outcome, pause })
    }

    fn arrive_at_host(
        &mut self,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<HostArrival, DatapathError> {
        self.send(crossing, frame)?;
        let wire = &crossing.ends;
        let NodeKind::Host(HostId(host)) = wire.to else { unreachable!("the wire ends at a host") };
        let socket = &mut self.sockets.hosts[host as usize];
        let sent = self.frames[frame].as_slice();
        let mut parsed = None;
        // No switch counts what enters a host, so the frame itself must tell that it is the one sent.
        let mut read = |bytes: &[u8]| {
            let other = || Err("a frame that no node of the fabric sent".to_owned());
            parsed = Some(if bytes == sent {
                HostArrival::parse(bytes).map_err(|error| error.to_string())
            } else {
                other()
            });
        };
        let received =
            wait_for(|| Ok::<_, DatapathError>(socket.receive(&mut read).then_some(())))?;
        self.frames.remove(frame);
        match (received, parsed) {
            (None, _) | (_, None) => Err(self.lost(crossing)),
            (_, Some(Ok(arrival))) => Ok(arrival),
            (_, Some(Err(what))) => Err(self.foreign(crossing, what)),
        }
    }

    fn mark(&mut self, frame: FrameId) {
        mark_admitted(&mut self.frames[frame]);
    }

    fn discard(&mut self, frame: FrameId) {
        self.frames.remove(frame);
    }

    fn length(&self, frame: FrameId) -> u32 {
        self.frames[frame].len().try_into().expect("a frame is a few kB")
    }

    fn priority(&self, frame: FrameId) -> Option<u8> {
        match HostArrival::parse(&self.frames[frame]) {
            Ok(HostArrival::Roce(packet)) => Some(packet.dscp >> 3),
            _ => None,
        }
    }

    fn kind(&self, frame: FrameId) -> FrameKind {
        match HostArrival::parse(&self.frames[frame]) {
            Ok(HostArrival::Roce(packet)) => FrameKind::of_roce(&packet),
            Ok(HostArrival::Pfc(pfc)) => FrameKind::of_pfc(&pfc),
            Ok(HostArrival::LinkDelay(_)) => FrameKind::LinkDelay,
            // Only frames that hosts and switches of the fabric made are ever asked about.
            Err(_) => FrameKind::Data,
        }
    }

    fn bytes<'a>(&'a self, _: WireId, frame: FrameId, _: &'a mut Vec<u8>) -> &'a [u8] {
        &self.frames[frame]
    }

    fn substrate_losses(&mut self) -> u64 {
        self.sockets
            .hosts
            .iter()
            .map(|socket| socket.statistics().map_or(0, |statistics| statistics.frames_lost()))
            .sum()
    }
}
