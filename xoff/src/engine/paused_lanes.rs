//! What the switches' tables say of paused lanes: the graph of waiting as it is now.

use fabric_core::dsh::pools::keeps_insurance;
use fabric_core::flow_control::Ingress;
use fabric_core::map_abi::{self, SwitchState};
use fabric_core::policy::ThresholdScheme;
use fabric_core::tables::{Tables, ingress_index};
use fabric_core::threshold;
use fabric_core::units::{Bytes, Nanos, Picos};

use super::Engine;
use super::wait_graph::{IngressQueue, Lane, OffPort, PausedLane, WaitGraph, Waiting};
use crate::build;
use crate::datapath::Datapath;
use crate::topology::{NodeId, NodeKind, SwitchId, Wire, WireId};

impl<D: Datapath> Engine<'_, D> {
    /// The paused lanes among `wires`, which ascend and lead from switch to switch, and what waits behind
    /// them. `port_paused` says since when the sender of a wire has been paused by a port, if it has.
    pub(super) fn wait_graph(
        &self,
        wires: &[u32],
        port_paused: impl Fn(u32) -> Option<Nanos>,
    ) -> WaitGraph {
        let mut graph = WaitGraph::default();
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
            let queue_off = self.ingress_queue(lane).is_some_and(|queue| queue.off.load() != 0);
            if self.is_stopped(lane) && (queue_off || port_off) {
                let row = ingress_index(self.fabric_wire(wire).from_port.into(), class.into());
                let row = self.datapath.tables(self.sender(wire)).lane(row);
                let binds = row.map_or(0, |row| row.pause.binds_ns.load());
                let since = Nanos(binds.saturating_sub(self.response(wire).0));
                let settled = self.now >= Picos::from_nanos(since) + self.settling_time(wire);
                graph.paused.push(PausedLane { lane, since, settled, queue_off });
            }
        }
    }

    /// `graph` has the wire's paused lanes already.
    fn off_port(&self, graph: &WaitGraph, wire: u32, since: Nanos) -> OffPort {
        let lanes = || self.scenario.switch.lossless.iter().map(|class| Lane { wire, class });
        let is_settled =
            |lane| graph.place(lane).is_some_and(|place| graph.paused[place as usize].settled);
        let held = lanes().filter_map(|lane| self.ingress_queue(lane)).map(held);
        OffPort { since, settled: lanes().all(is_settled), held: Bytes(held.sum()) }
    }

    /// Adds the packets in the egress queue of a paused lane to what their ingress queues wait for.
    fn add_waiting(&self, graph: &mut WaitGraph, behind: u32) {
        let Lane { wire, class } = graph.lane(behind);
        let (switch, port) = (self.sender(wire), self.fabric_wire(wire).from_port);
        let tables = self.datapath.tables(switch);
        let ports = &self.scenario.fabric().switch(SwitchId(switch)).ports;
        let manager = &self.switches[switch as usize].manager;
        for slot in manager.slots(usize::from(port), usize::from(class)) {
            let packet = tables.descriptor(slot).expect("a queued slot has a descriptor");
            let (port, priority) = (packet.ingress_port.load(), packet.priority.load());
            let came_by = Lane { wire: ports[port as usize].reverse().0, class: priority as u8 };
            let ingress = graph.ingress.entry(came_by).or_insert_with(|| {
                let queue = tables.ingress_queue(ingress_index(port, priority));
                IngressQueue {
                    switch,
                    held: Bytes(queue.map_or(0, held)),
                    shared: Bytes(queue.map_or(0, |queue| queue.shared_bytes.load())),
                    waiting: Vec::new(),
                }
            });
            let length = u64::from(packet.length.load());
            match ingress.waiting.last_mut() {
                Some(last) if last.behind == behind => last.bytes.0 += length,
                _ => ingress.waiting.push(Waiting {
                    behind,
                    bytes: Bytes(length),
                    since: Nanos(packet.arrival_ns.load()),
                }),
            }
        }
    }

    /// Whether the port that is OFF at the end of `wire` could turn ON without a departure of its packets,
    /// when nothing but `stays` is left of its switch's shared pool.
    ///
    /// It does so when its pause is renewed (`dsh::two_level`) and finds X_pon at or above its occupancy,
    /// with all that it had in insurance moved to the shared pool (`dsh::pools::settle`): what it holds
    /// in both together does not change before. If a queue that is OFF keeps insurance, because it gets no
    /// shared headroom, that never comes. The threshold can rise no further than with insurance moved and
    /// all gone that may go; one that the control plane stores may date from before either.
    pub(super) fn port_may_resume(&self, wire: u32, stays: Bytes) -> bool {
        let tables = self.datapath.tables(self.receiver(wire));
        let port = self.fabric_wire(wire).to_port.into();
        let class = tables.settings().lossless_classes.trailing_zeros();
        let at = Ingress::of(tables, self.policy, port, class).expect("the port has its rows");
        if keeps_insurance(&at) {
            return false;
        }
        let insurance = at.port.insurance_bytes.load();
        let left = SwitchState::default();
        let highest = match self.policy.threshold() {
            ThresholdScheme::Stored => {
                left.shared_bytes.store(stays.0);
                let policy = build::control_plane_policy(self.scenario);
                threshold::evaluate(policy, at.config, &left, at.port, at.queue).max(at.threshold())
            }
            ThresholdScheme::Dynamic | ThresholdScheme::Static => {
                left.shared_bytes.store(stays.0 + insurance);
                threshold::evaluate(self.policy, at.config, &left, at.port, at.queue)
            }
        };
        let xon = at.port_xoff(highest).saturating_sub(at.config.port_xon_offset_bytes);
        at.port.shared_bytes.load() + insurance <= xon
    }

    /// Whether the sender of a lane has been paused, and the pause has not run out.
    pub(super) fn is_stopped(&self, lane: Lane) -> bool {
        let port = self.fabric_wire(lane.wire).from_port.into();
        let tables = self.datapath.tables(self.sender(lane.wire));
        tables.pause_expiry(port, lane.class.into()) > self.now.to_nanos()
    }

    /// Whether the port at the end of a wire is OFF.
    pub(super) fn port_is_off(&self, wire: u32) -> bool {
        let port = self.fabric_wire(wire).to_port.into();
        let tables = self.datapath.tables(self.receiver(wire));
        tables.port(port).is_some_and(|port| port.off.load() != 0)
    }

    /// From the reception of a PAUSE until the last frame has arrived that may have left in spite of it.
    pub(super) fn settling_time(&self, number: u32) -> Picos {
        let wire = self.fabric_wire(number);
        let longest = self.scenario.longest_frame().0 + self.scenario.switch.wire_overhead.0;
        Picos::from_nanos(self.response(number)) + wire.rate.serialise(longest) + wire.delay
    }

    /// How long a PAUSE for a wire may go unanswered.
    fn response(&self, wire: u32) -> Nanos {
        let port = self.fabric_wire(wire).from_port.into();
        let row = self.datapath.tables(self.sender(wire)).port(port);
        Nanos(row.map_or(0, |row| row.response_ns.load()))
    }

    fn ingress_queue(&self, lane: Lane) -> Option<&map_abi::IngressQueue> {
        let row = ingress_index(self.fabric_wire(lane.wire).to_port.into(), lane.class.into());
        self.datapath.tables(self.receiver(lane.wire)).ingress_queue(row)
    }

    pub(super) fn fabric_wire(&self, wire: u32) -> &Wire {
        self.scenario.fabric().wire(WireId(wire))
    }

    pub(super) fn sender(&self, wire: u32) -> u32 {
        self.switch_number(self.fabric_wire(wire).from)
    }

    fn receiver(&self, wire: u32) -> u32 {
        self.switch_number(self.fabric_wire(wire).to)
    }

    fn switch_number(&self, node: NodeId) -> u32 {
        match self.scenario.fabric().node(node).kind {
            NodeKind::Switch(SwitchId(switch)) => switch,
            NodeKind::Host(_) => unreachable!("a watched wire is between switches"),
        }
    }
}

fn held(queue: &map_abi::IngressQueue) -> u64 {
    queue.private_bytes.load() + queue.shared_bytes.load() + queue.headroom_bytes.load()
}
