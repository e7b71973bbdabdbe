//! Builds the graph of waiting from the current tables of the switches.

use fabric_core::hop_control::PauseLevel;
use fabric_core::map_abi::{IngressQueue, class_row};
use fabric_core::priority::Priority;
use fabric_core::scheme::{Ingress, Scheme, Selected, Stays};
use fabric_core::tables::Tables;
use switch_user::switch::Switch;
use topology::{NodeId, NodeKind, SwitchId, Wire, WireId};
use units::{Bytes, Nanos, Picos};

use super::Engine;
use super::wait_graph::{HeldQueue, Lane, OffPort, PausedLane, WaitGraph, Waiting};
use crate::datapath::{FrameId, Wires};

impl<W: Wires> Engine<'_, W> {
    /// The paused lanes among `wires`, and the packets behind them. `wires` is ascending and joins switches only.
    /// `port_paused` returns the start of the pause of a wire's sender by a port, if there is one.
    pub(super) fn wait_graph(
        &self,
        wires: &[u32],
        port_paused: impl Fn(u32) -> Option<Nanos>,
    ) -> WaitGraph {
        let counts_by_port = self.scenario.switch.thresholds_are_of_ports();
        let mut graph = WaitGraph { counts_by_port, ..WaitGraph::default() };
        for &wire in wires {
            self.add_paused_lanes(&mut graph, wire);
            if self.port_is_off(wire) {
                let since = port_paused(wire).unwrap_or(self.now.to_nanos());
                let port = self.off_port(&graph, wire, since);
                graph.ports.insert(wire, port);
            }
        }
        for behind in 0..graph.paused.len() {
            self.add_waiting(&mut graph, behind as u32);
        }
        graph
    }

    fn add_paused_lanes(&self, graph: &mut WaitGraph, wire: u32) {
        let port_off = self.port_is_off(wire);
        for class in self.scenario.switch.lossless.iter() {
            let lane = Lane { wire, class };
            let queue_off = self.ingress_queue(lane).off.load() != 0;
            if self.is_stopped(lane) && (queue_off || port_off) {
                let tables = self.sending_switch(wire).tables();
                let port = self.fabric_wire(wire).from_port.into();
                let row = class_row(port, Priority::new(class));
                let row = tables.egress_class(row);
                let binds = row.map_or(0, |row| row.pause.binds_ns.load());
                let since = Nanos(binds.saturating_sub(self.response(wire).0));
                if Picos::from_nanos(since) + self.lookahead > self.now {
                    continue;
                }
                let settled = self.now >= Picos::from_nanos(since) + self.settling_time(wire);
                graph.paused.push(PausedLane { lane, since, settled, queue_off });
            }
        }
    }

    /// State of the OFF port behind a wire. The wire's paused lanes must be in `graph` already.
    fn off_port(&self, graph: &WaitGraph, wire: u32, since: Nanos) -> OffPort {
        let lanes = || self.scenario.switch.lossless.iter().map(|class| Lane { wire, class });
        let is_settled =
            |lane| graph.place(lane).is_some_and(|place| graph.paused[place as usize].settled);
        let held = lanes().map(|lane| held(self.ingress_queue(lane)));
        OffPort { since, settled: lanes().all(is_settled), held: Bytes(held.sum()) }
    }

    /// Adds the packets in the egress queue of a paused lane to the ingress queues that hold them.
    fn add_waiting(&self, graph: &mut WaitGraph, behind: u32) {
        let Lane { wire, class } = graph.lane(behind);
        let (switch, port) = (self.sender(wire), self.fabric_wire(wire).from_port);
        let node = self.switch(SwitchId(switch));
        let tables = node.tables();
        let ports = &self.scenario.fabric().switch(SwitchId(switch)).ports;
        let of_class = tables.settings().queues_of(Priority::new(class)).queues();
        let slots = of_class.iter().flat_map(|queue| node.queues().slots(port.into(), queue));
        for slot in slots {
            let packet = tables.descriptor(slot).expect("a queued slot has a descriptor");
            let port = packet.ingress_port.load();
            let priority = packet.priority();
            let wire = ports[port as usize].reverse().0;
            let came_by = Lane { wire, class: priority.number() };
            let ingress = graph.ingress.entry(came_by).or_insert_with(|| {
                let queue = tables.ingress(port, priority);
                HeldQueue {
                    switch,
                    held: Bytes(held(queue)),
                    shared: Bytes(queue.shared_bytes.load()),
                    waiting: Vec::new(),
                }
            });
            let length = u64::from(packet.length.load());
            let since = Nanos(packet.arrival_ns.load());
            match ingress.waiting.last_mut() {
                Some(last) if last.behind == behind => {
                    last.bytes.0 += length;
                    // One queue is in the order of arrivals; several queues of a class are not.
                    last.since = last.since.min(since);
                }
                _ => ingress.waiting.push(Waiting { behind, bytes: Bytes(length), since }),
            }
        }
    }

    /// True if the OFF queue of a lane, or its port, could turn ON without a departure of its packets, if only
    /// `stays` were left of other queues' bytes.
    pub(super) fn may_resume(&self, lane: Lane, level: PauseLevel, stays: Stays) -> bool {
        let switch = self.receiving_switch(lane.wire);
        let port = self.fabric_wire(lane.wire).to_port.into();
        let at = Ingress::new(
            switch.tables(),
            switch.policy(),
            port,
            Priority::from_bits(lane.class.into()),
        )
        .expect("the port has its rows");
        Selected::may_resume(&at, level, switch.computed_policy(), stays)
    }

    /// True if the sender of a lane is paused and the pause has not expired.
    pub(super) fn is_stopped(&self, lane: Lane) -> bool {
        let port = self.fabric_wire(lane.wire).from_port.into();
        let tables = self.sending_switch(lane.wire).tables();
        tables.pause_expiry(port, Priority::new(lane.class)) > self.now.to_nanos()
    }

    /// True if the port at the end of a wire is OFF.
    pub(super) fn port_is_off(&self, wire: u32) -> bool {
        self.receiving_switch(wire).port_use(self.fabric_wire(wire).to_port).off
    }

    /// Time from the reception of a PAUSE until the last frame that may have started has arrived.
    pub(super) fn settling_time(&self, number: u32) -> Picos {
        let (switch, port) = (self.sender(number), self.fabric_wire(number).from_port);
        let (out, _) = self.switch_node(SwitchId(switch)).wires(port);
        let longest = self.scenario.longest_frame().0 as u32;
        Picos::from_nanos(self.response(number)) + out.longest_flight(longest)
    }

    /// Response time of a wire's sender to a PAUSE.
    fn response(&self, wire: u32) -> Nanos {
        let port = self.fabric_wire(wire).from_port.into();
        let row = self.sending_switch(wire).tables().port(port);
        Nanos(row.map_or(0, |row| row.response_ns.load()))
    }

    fn ingress_queue(&self, lane: Lane) -> &IngressQueue {
        let port = self.fabric_wire(lane.wire).to_port.into();
        self.receiving_switch(lane.wire).tables().ingress(port, Priority::new(lane.class))
    }

    pub(super) fn fabric_wire(&self, wire: u32) -> &Wire {
        self.scenario.fabric().wire(WireId(wire))
    }

    pub(super) fn sender(&self, wire: u32) -> u32 {
        self.switch_number(self.fabric_wire(wire).from)
    }

    pub(super) fn sending_switch(&self, wire: u32) -> &Switch<FrameId> {
        self.switch(SwitchId(self.sender(wire)))
    }

    pub(super) fn receiving_switch(&self, wire: u32) -> &Switch<FrameId> {
        let number = self.switch_number(self.fabric_wire(wire).to);
        self.switch(SwitchId(number))
    }

    fn switch_number(&self, node: NodeId) -> u32 {
        match self.scenario.fabric().node(node).kind {
            NodeKind::Switch(SwitchId(switch)) => switch,
            NodeKind::Host(_) => unreachable!("a watched wire is between switches"),
        }
    }
}

fn held(queue: &IngressQueue) -> u64 {
    queue.private_bytes.load() + queue.shared_bytes.load() + queue.headroom_bytes.load()
}
