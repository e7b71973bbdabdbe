//! The engine on the real clock: windows run when the wall clock has come to them. See [`crate::live`].

mod wires;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use fabric_core::drop_reason::DropReason;
use fabric_core::priority::{self, Priority};
use results::{FlowRow, RunEnd, Slowdown};
use scenario::{CaptureFilter, MAX_FLOWS, ON_DEMAND};
use topology::{HostId, WireId};
use units::Picos;
use workload::Flow;

use super::crew::Crew;
use super::host_node::HostNode;
use super::stack::{MOST_WAITING, StackFrame};
use super::switch_node::SwitchNode;
use super::transmitter::{Receiver, Transmitter};
use super::{Engine, Finished, RunError};
use crate::datapath::kernel::KernelWires;
use crate::live::address;
use crate::live::captures;
use crate::live::clock::RealClock;
use crate::live::desk::{Delivery, Desk, Order, Request};
use crate::live::pauses::Pauses;
use crate::live::stacks::{Sent, Stacks};
use crate::live::view::{HostView, PortView, SwitchView, View};
use crate::partition::Place;

/// Windows that run before programs and users are asked again, while the engine is behind the wall clock.
const WINDOWS_AT_ONCE: u32 = 16;
/// An idle fabric looks at least so often at whether it is interrupted.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// What a program has sent.
struct Foreign {
    bytes: Box<[u8]>,
    priority: Priority,
}

/// Who waits for flows, by their numbers.
pub type Waiting = BTreeMap<u32, Sender<Delivery>>;

impl Engine<'_, KernelWires> {
    /// Puts the kernel's network stacks behind the NICs.
    pub fn connect_stacks(&mut self, stacks: &Stacks) {
        for host in (0..self.scenario.fabric().host_count()).map(HostId) {
            let tap = stacks.tap(host.0 as usize);
            // An interface that is down, or deleted by its user, receives nothing.
            let to_stack = move |frame: &[u8]| drop(tap.deliver(frame));
            self.host_node_mut(host).connect_stack(Box::new(to_stack));
        }
    }

    /// Runs until a request or `interrupted` ends it.
    pub fn run_live(
        mut self,
        clock: &mut RealClock,
        stacks: &mut Stacks,
        desk: &mut Desk,
        interrupted: &AtomicBool,
    ) -> Result<Finished<KernelWires>, RunError> {
        self.pauses = Some(Pauses::new(self.scenario.fabric().wires().len()));
        let others_cpu = thread::scope(|scope| {
            let crew = Crew::start(scope, self.parts.len());
            self.follow(&crew, clock, stacks, desk, interrupted)?;
            Ok::<_, RunError>(crew.dismiss())
        })?;
        self.finish(RunEnd::Interrupted, others_cpu)
    }

    fn follow(
        &mut self,
        crew: &Crew<'_, KernelWires>,
        clock: &mut RealClock,
        stacks: &mut Stacks,
        desk: &mut Desk,
        interrupted: &AtomicBool,
    ) -> Result<(), RunError> {
        // All that lies before it has happened.
        let mut done = Picos::ZERO;
        let mut wait = Duration::ZERO;
        while !interrupted.load(Ordering::Relaxed) {
            stacks.wait(wait).map_err(RunError::Live)?;
            let at = self.next_due().min(clock.now()).max(done);
            self.now = at;
            while let Some(request) = desk.take() {
                match request {
                    Request::Look(answer) => {
                        // Who asked may have gone.
                        let _ = answer.send(Box::new(self.view(clock)));
                    }
                    Request::Send(orders, answer) => {
                        for order in &orders {
                            self.order(at, order, &answer);
                        }
                    }
                    Request::SetLinks { wires, state, reroute, done } => {
                        let _ = done.send(self.set_links(&wires, state, reroute));
                    }
                    Request::Impair { wires, change, done } => {
                        let _ = done.send(self.impair(&wires, change));
                    }
                    Request::Capture { wires, filter, sink, reader } => {
                        let interfaces = self.captures.add(wires, sink, reader);
                        self.capture(interfaces.into_iter().flatten(), filter);
                    }
                    Request::Stop => return Ok(()),
                }
            }
            self.take_of_programs(stacks, at);
            for _ in 0..WINDOWS_AT_ONCE {
                let due = self.next_due();
                if due > clock.now() {
                    break;
                }
                clock.serve(due);
                done = self.run_next_window(crew)?;
            }
            self.end_captures();
            wait = clock.until(self.next_due()).min(LONGEST_WAIT);
        }
        Ok(())
    }

    /// Runs the next window, and says when it ends.
    fn run_next_window(&mut self, crew: &Crew<'_, KernelWires>) -> Result<Picos, RunError> {
        let Some(mut window) = self.next_window()? else { return Err(RunError::LivedOut) };
        self.start_flows(&mut window);
        self.run_window(crew, window)?;
        self.exchange();
        self.tell_notes()?;
        Ok(window.end)
    }

    /// Hands what programs have sent to their NICs, at `at`.
    fn take_of_programs(&mut self, stacks: &mut Stacks, at: Picos) {
        let mut taken: Vec<(HostId, Option<Foreign>)> = Vec::new();
        let accepts = |host: usize| {
            let node = self.host_node(HostId(host as u32));
            node.stack()
                .is_some_and(|stack| stack.waiting_for_the_port(at, &node.host) < MOST_WAITING)
        };
        let take = |host: usize, sent: Sent<'_>| {
            let frame = match sent {
                Sent::Frame { bytes, priority } => {
                    Some(Foreign { bytes: bytes.into(), priority: Priority::of_bits(priority) })
                }
                Sent::TooLong => None,
            };
            taken.push((HostId(host as u32), frame));
        };
        stacks.take(accepts, take);
        if !taken.is_empty() {
            self.wake_resting(at);
        }
        for (host, frame) in taken {
            let Some(Foreign { bytes, priority }) = frame else {
                self.host_node_mut(host).refuse_of_stack();
                continue;
            };
            let Place { part, index } = self.place_of(host);
            let part = &mut *self.parts[part as usize];
            let (frame, length) = part.core.frames.foreign(&bytes);
            let frame = StackFrame { frame, length, priority };
            let node = &mut part.hosts[index as usize];
            let next = node.send_of_stack(&mut part.core, at, frame);
            part.core.upcoming.wake(index, next);
        }
        self.exchange();
    }

    /// Starts a flow that a user asks for.
    fn order(&mut self, at: Picos, order: &Order, answer: &Sender<Delivery>) {
        let Order { source, destination, bytes, priority } = *order;
        let pair = (source, destination);
        if self.stream.numbers_taken() as usize >= MAX_FLOWS {
            // Whoever waits sees that its channel is closed.
            return;
        }
        let mut flow = Flow::new(ON_DEMAND.into(), pair, bytes, at, priority);
        flow.id = self.stream.take_number();
        flow.workload = self.scenario.on_demand_workload();
        self.waiting.insert(flow.id, answer.clone());
        self.start_flow(flow);
        self.wake_resting(at);
    }

    /// Schedules tasks again that rest while there is no traffic.
    fn wake_resting(&mut self, at: Picos) {
        for (task, period) in std::mem::take(&mut self.resting) {
            self.agenda.schedule(at + period, task);
        }
    }

    /// Begins a capture. Whoever asked sees the end of one for which there was no room.
    fn capture(&mut self, interfaces: impl Iterator<Item = (WireId, u32)>, filter: CaptureFilter) {
        for (wire, interface) in interfaces {
            self.receiver_mut(wire).captures.push((interface, filter));
            if filter == CaptureFilter::Drops {
                self.transmitter_mut(wire).captures.push(interface);
            }
        }
    }

    /// Ends captures that nobody reads any more.
    fn end_captures(&mut self) {
        for (number, wires) in self.captures.remove_over() {
            for wire in wires {
                let is_other = |&interface: &u32| captures::number_of(interface) != number;
                self.receiver_mut(wire).captures.retain(|(interface, _)| is_other(interface));
                self.transmitter_mut(wire).captures.retain(is_other);
            }
        }
    }

    /// The sending end of a wire.
    fn transmitter_mut(&mut self, wire: WireId) -> &mut Transmitter {
        let fabric = self.scenario.fabric();
        let ends = fabric.ends(wire);
        let Place { part, index } = self.partition.place(fabric.wire(wire).from);
        let part = &mut self.parts[part as usize];
        let hosts = part.hosts.len();
        match (index as usize).checked_sub(hosts) {
            None => part.hosts[index as usize].out_mut(),
            Some(switch) => part.switches[switch].out_mut(ends.from_port),
        }
    }

    /// The receiving end of a wire.
    fn receiver_mut(&mut self, wire: WireId) -> &mut Receiver {
        let fabric = self.scenario.fabric();
        let ends = fabric.ends(wire);
        let Place { part, index } = self.partition.place(fabric.wire(wire).to);
        let part = &mut self.parts[part as usize];
        let hosts = part.hosts.len();
        match (index as usize).checked_sub(hosts) {
            None => part.hosts[index as usize].inward_mut(),
            Some(switch) => part.switches[switch].inward_mut(ends.to_port),
        }
    }

    /// How the fabric is now.
    fn view(&self, clock: &mut RealClock) -> View {
        let hosts = (0..self.scenario.fabric().host_count()).map(HostId);
        View {
            emulated_ns: self.now.to_nanos().0,
            fidelity: clock.fidelity(),
            active_flows: self.active.len() as u64,
            completed_flows: self.flows_completed,
            packet_hops: self.tally().packet_hops,
            switches: self.switches().map(|node| self.view_of_switch(node)).collect(),
            hosts: hosts.map(|host| self.view_of_host(host)).collect(),
        }
    }

    fn view_of_switch(&self, node: &SwitchNode) -> SwitchView {
        let switch = self.scenario.fabric().switch(node.id);
        let tables = node.switch.tables();
        let state = tables.state();
        let dropped = |reason: &DropReason| match tables.dropped(*reason) {
            0 => None,
            frames => Some((reason.name().to_owned(), frames)),
        };
        let pools = [&state.private_bytes, &state.shared_bytes, &state.headroom_bytes];
        SwitchView {
            name: switch.name.clone(),
            buffer_bytes: pools.iter().map(|pool| pool.load()).sum(),
            most_buffer_bytes: state.buffer_max_bytes.load(),
            capacity_bytes: self.scenario.switch_at(node.id).buffer.0,
            ecn_marked: state.ecn_marked.load(),
            drops: DropReason::ALL.iter().filter_map(dropped).collect(),
            ports: (0..node.ports()).map(|port| self.view_of_port(node, port)).collect(),
        }
    }

    fn view_of_port(&self, node: &SwitchNode, port: u16) -> PortView {
        let fabric = self.scenario.fabric();
        let tables = node.switch.tables();
        let (out, inward) = node.wires(port);
        let number = u32::from(port);
        let now = self.now.to_nanos();
        let queues = tables.settings();
        let mut queued_bytes = [0; 8];
        let mut ingress_bytes = [0; 8];
        for priority in priority::all() {
            let of_priority = queues.queues_of(priority).iter();
            queued_bytes[priority.index()] =
                of_priority.map(|queue| tables.egress_bytes(number, queue)).sum();
            let ingress = tables.ingress(number, priority);
            let pools = [&ingress.private_bytes, &ingress.shared_bytes, &ingress.headroom_bytes];
            ingress_bytes[priority.index()] = pools.iter().map(|pool| pool.load()).sum();
        }
        let waiting = tables.queues().map(|queue| node.switch.waiting(port, queue).count() as u64);
        let paused = priority::all().filter(|&it| tables.is_paused(number, it, now));
        PortView {
            peer: fabric.node(fabric.peer(fabric.switch_node(node.id), port).node).name.clone(),
            wire: fabric.wire(out.wire).name.clone(),
            rate_bps: out.timing.rate.0,
            sent_frames: out.sent,
            received_frames: inward.received,
            wire_state: self.view_of_wire(out, self.now),
            sent_bytes: out.sent_on_the_wire(),
            received_bytes: inward.received_on_the_wire(),
            queued_packets: waiting.sum(),
            queued_bytes,
            ingress_bytes,
            paused: paused.map(Priority::number).collect(),
            pause_frames: self.pause_frames(inward.wire),
            paused_ns: self.paused_ns(inward.wire),
        }
    }

    fn view_of_host(&self, host: HostId) -> HostView {
        let node = self.host_node(host);
        let (out, inward) = node.wires();
        let of_programs = node.stack().map(|stack| (stack.counters, stack.waiting()));
        let (counters, waiting) = of_programs.unwrap_or_default();
        let paused = priority::all().filter(|&it| node.host.open_from(it, self.now) > self.now);
        let fabric = self.scenario.fabric();
        HostView {
            name: fabric.host(host).name.clone(),
            address: address(host).to_string(),
            peer: fabric.node(fabric.wire(out.wire).to).name.clone(),
            wire: fabric.wire(out.wire).name.clone(),
            rate_bps: out.timing.rate.0,
            sent_frames: out.sent,
            received_frames: inward.received,
            wire_state: self.view_of_wire(out, self.now),
            sent_bytes: out.sent_on_the_wire(),
            received_bytes: inward.received_on_the_wire(),
            program_frames_sent: counters.sent,
            program_frames_received: counters.received,
            program_frames_waiting: waiting as u64,
            program_frames_too_long: counters.too_long,
            program_frames_dropped: counters.dropped,
            paused: paused.map(Priority::number).collect(),
            pause_frames: self.pause_frames(inward.wire),
            paused_ns: self.paused_ns(inward.wire),
        }
    }

    fn pause_frames(&self, wire: WireId) -> [u64; 8] {
        self.pauses.as_ref().map_or([0; 8], |pauses| pauses.frames(wire))
    }

    fn paused_ns(&self, wire: WireId) -> [u64; 8] {
        self.pauses.as_ref().map_or([0; 8], |pauses| pauses.held_ns(wire, self.now.to_nanos()))
    }

    fn place_of(&self, host: HostId) -> Place {
        self.partition.place(self.scenario.fabric().host_node(host))
    }

    fn host_node(&self, host: HostId) -> &HostNode {
        let Place { part, index } = self.place_of(host);
        &self.parts[part as usize].hosts[index as usize]
    }

    fn host_node_mut(&mut self, host: HostId) -> &mut HostNode {
        let Place { part, index } = self.place_of(host);
        &mut self.parts[part as usize].hosts[index as usize]
    }
}

/// What is told of a flow that is done.
pub fn delivery(row: &FlowRow<'_>) -> Delivery {
    let fct = row.fct.unwrap_or_default();
    Delivery {
        flow: row.flow,
        src: row.src.to_owned(),
        dst: row.dst.to_owned(),
        bytes: row.bytes.0,
        priority: row.priority,
        fct_ns: fct.0,
        ideal_ns: row.ideal.0,
        slowdown: Slowdown::of(fct, row.ideal).into(),
        retransmitted_packets: row.retransmitted_packets,
    }
}
