//! State and punctuality of a live fabric at one instant.

use std::time::Duration;

use fabric_core::drop_reason::DropReason;
use fabric_core::priority::{self, Priority};
use results::{FidelitySummary, is_good};
use topology::{HostId, NodeId, WireId};

use super::Engine;
use super::switch_node::SwitchNode;
use crate::datapath::kernel::KernelWires;
use crate::live::address;
use crate::live::clock::{Fidelity, RealClock, wall};
use crate::live::lateness::{Meter, Sum};
use crate::live::view::{HostView, NodeFidelity, PortView, ResultsView, SwitchView, View};

impl Engine<'_, KernelWires> {
    /// Current state of the fabric.
    pub(super) fn view(&mut self, clock: &mut RealClock) -> View {
        let fabric = self.scenario.fabric();
        let fidelity = self.fidelity(clock);
        let nodes = (0..self.nodes()).map(NodeId);
        let mut of_nodes: Vec<NodeFidelity> = nodes.map(|node| self.fidelity_of(node)).collect();
        let of_switches = of_nodes.split_off(fabric.host_count() as usize);
        let hosts = (0..fabric.host_count()).map(HostId).zip(of_nodes);
        View {
            emulated_ns: self.now.to_nanos().0,
            fidelity,
            active_flows: self.active.len() as u64,
            completed_flows: self.flows_completed,
            packet_hops: self.tally().packet_hops,
            results: self.view_of_results(),
            switches: self
                .switches()
                .zip(of_switches)
                .map(|(node, fidelity)| self.view_of_switch(node, fidelity))
                .collect(),
            hosts: hosts.map(|(host, fidelity)| self.view_of_host(host, fidelity)).collect(),
            storm_events: self.recent_storm_events(),
        }
    }

    /// Current punctuality of the fabric.
    fn fidelity(&mut self, clock: &mut RealClock) -> Fidelity {
        let (mut sum, now) = (Sum::new(), wall());
        for node in (0..self.nodes()).map(NodeId) {
            if let Some(meter) = self.meter_mut(node) {
                sum.add(meter, now);
            }
        }
        clock.fidelity(&sum, self.longest_window)
    }

    /// Punctuality of the fabric from its start to its end.
    pub(super) fn fidelity_summary(&mut self, clock: &mut RealClock) -> FidelitySummary {
        let Fidelity { all, sleeps, dilation, lost_ns, .. } = self.fidelity(clock);
        let fabric = self.scenario.fabric();
        let nodes = (0..).map(NodeId).zip(fabric.nodes());
        let nodes = nodes.map(|(id, node)| (node.name.clone(), self.fidelity_of(id).all));
        FidelitySummary {
            is_good: is_good(all.count(), sleeps.count(), Duration::from_nanos(lost_ns)),
            dilation,
            lateness: all,
            sleeps,
            lost_ns,
            nodes: nodes.collect(),
        }
    }

    fn nodes(&self) -> u32 {
        self.scenario.fabric().nodes().len() as u32
    }

    fn meter_mut(&mut self, node: NodeId) -> Option<&mut Meter> {
        let place = self.partition.place(node);
        let punctuality = self.parts[place.part as usize].punctuality.as_mut()?;
        Some(punctuality.meter_mut(place.index as usize))
    }

    fn fidelity_of(&mut self, node: NodeId) -> NodeFidelity {
        let Some(meter) = self.meter_mut(node) else { return NodeFidelity::default() };
        let sum = Sum::from_meter(meter, wall());
        let recent = sum.recent();
        NodeFidelity { is_good: recent.count().is_good(), recent, all: sum.all() }
    }

    fn view_of_results(&self) -> Option<ResultsView> {
        let folder = self.live.folder.as_ref()?.display().to_string();
        let stopped = self.recorder.lost.as_ref().map(ToString::to_string);
        Some(ResultsView { folder, stopped })
    }

    fn view_of_switch(&self, node: &SwitchNode, fidelity: NodeFidelity) -> SwitchView {
        let switch = self.scenario.fabric().switch(node.id);
        let tables = node.switch.tables();
        let state = tables.state();
        let dropped = |reason: &DropReason| match tables.dropped(*reason) {
            0 => None,
            frames => Some((reason.name().to_owned(), frames)),
        };
        SwitchView {
            name: switch.name.clone(),
            buffer_bytes: state.buffered_bytes(),
            most_buffer_bytes: node.most_buffered()[0],
            capacity_bytes: self.scenario.switch_at(node.id).buffer().0,
            ecn_marked: state.ecn_marked.load(),
            drops: DropReason::ALL.iter().filter_map(dropped).collect(),
            fidelity,
            ports: (0..node.ports()).map(|port| self.view_of_port(node, port)).collect(),
            storms: self.view_of_storms(node),
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
            victim: node.switch.states().map(|_| {
                let lossless = priority::in_mask(queues.lossless_classes);
                let is_victim =
                    |it: &Priority| node.switch.state(port, *it).is_some_and(|state| state.victim);
                lossless.filter(is_victim).map(Priority::number).collect()
            }),
        }
    }

    fn view_of_host(&self, host: HostId, fidelity: NodeFidelity) -> HostView {
        let node = self.host_node(host);
        let (out, inward) = node.wires();
        let of_programs = node.stack().map(|stack| (stack.counters, stack.waiting()));
        let (counters, waiting) = of_programs.unwrap_or_default();
        let paused = priority::all().filter(|&it| node.host.open_from(it, self.now) > self.now);
        let storms = priority::in_mask(node.host.storm_classes());
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
            fidelity,
            paused: paused.map(Priority::number).collect(),
            pause_frames: self.pause_frames(inward.wire),
            paused_ns: self.paused_ns(inward.wire),
            storms: storms.map(Priority::number).collect(),
            pfc_frames_sent: node.host.counters().pfc_frames_sent,
        }
    }

    fn pause_frames(&self, wire: WireId) -> [u64; 8] {
        self.live.pauses.as_ref().map_or([0; 8], |pauses| pauses.frames(wire))
    }

    fn paused_ns(&self, wire: WireId) -> [u64; 8] {
        let now = self.now.to_nanos();
        self.live.pauses.as_ref().map_or([0; 8], |pauses| pauses.held_ns(wire, now))
    }
}
