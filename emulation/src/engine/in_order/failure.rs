//! A link that goes down while HPCC's simulator runs. Written from the simulator's source; no run of it has been compared.
//!
//! At the instant, before all events that others have inserted for it:
//!
//! - Switches have routes around the link. Packets that wait at other ports stay there.
//! - Both ports are dead: they begin no frame any more, and frames that arrive are lost, before a random number is drawn.
//! - Packets that wait at a dead port are lost, and their buffer is never given back. They stay in their queues for this.
//!   A RESUME that becomes due at a dead port is made, with its random number, and never leaves.
//! - Each host takes up its queue pairs anew, in the order of a hash table, and looks for a packet after each.

use std::sync::Arc;

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use host_agent::ns3::Flow;
use scenario::{LinkFailure, Scenario, SimulatorRoutes};
use topology::{HostId, NodeKind, WireId};
use units::Picos;

use super::InOrder;
use super::hash_table::HashTable;
use super::queue::{Queue, What};
use crate::datapath::Wires;
use crate::engine::faults::FaultTally;
use crate::engine::part::Part;
use crate::engine::switch_node::SwitchNode;

/// See the module.
#[derive(Debug)]
pub struct Failure {
    pub(super) link: LinkFailure,
    /// Ends of the link: node and port.
    ends: [(NodeKind, u16); 2],
    /// Routes around the link.
    pub(super) routes: Arc<SimulatorRoutes>,
    /// Uncompleted queue pairs of each host.
    tables: Box<[HashTable]>,
    /// True once the link is down.
    is_down: bool,
    /// Frames lost on both wires.
    lost: [u64; 2],
}

impl Failure {
    /// The failure of a scenario's link, if one fails. Its event is inserted into the queue.
    pub fn new(scenario: &Scenario, queue: &mut Queue) -> Option<Self> {
        let (link, routes) = scenario.link_failure().zip(scenario.routes_after_failure())?;
        let fabric = scenario.fabric();
        let end = |wire: WireId| (fabric.ends(wire).from, fabric.wire(wire).from_port);
        queue.insert(link.at, 0, What::LinkDown);
        let tables = (0..fabric.host_count()).map(|_| HashTable::default());
        Some(Self {
            link,
            ends: [link.link, link.link.reverse()].map(end),
            routes: routes.clone(),
            tables: tables.collect(),
            is_down: false,
            lost: [0; 2],
        })
    }

    /// True once the link of a wire is down.
    #[inline]
    fn is_dead(&self, wire: WireId) -> bool {
        self.is_down && self.link.covers(wire)
    }

    fn count_lost(&mut self, wire: WireId) {
        self.lost[usize::from(wire != self.link.link)] += 1;
    }

    /// Key of a queue pair in its host's table: address of the receiver, source port and class.
    fn key(&self, flow: &Flow) -> u64 {
        let receiver = HostId(flow.destination.wrapping_sub(FIRST_HOST_ADDRESS));
        let address = u64::from(self.routes.address(receiver));
        let port = u64::from(flow.source_port);
        address << 32 | port << 16 | u64::from(flow.priority.number())
    }

    /// Counters of both wires, by the fault's index and the wire.
    fn tallies(&self) -> impl Iterator<Item = (u32, u32, FaultTally)> {
        let LinkFailure { fault, link, .. } = self.link;
        let wires = [link, link.reverse()].into_iter().zip(self.lost);
        wires.map(move |(wire, frames)| {
            (fault, wire.0, FaultTally { seen: frames, frames, ..FaultTally::default() })
        })
    }
}

impl InOrder {
    /// True once the link of a wire is down.
    #[inline]
    pub(super) fn is_dead(&self, wire: WireId) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_dead(wire))
    }

    /// Counts a frame that a dead port receives.
    #[cold]
    pub(super) fn count_dead(&mut self, wire: WireId) {
        if let Some(failure) = &mut self.failure {
            failure.count_lost(wire);
        }
    }

    /// True once a link is down.
    pub fn has_failed(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_down)
    }

    /// Ends of the link that is down: nodes and dead ports.
    fn dead_ports(&self) -> impl Iterator<Item = (NodeKind, u16)> {
        self.failure.iter().filter(|failure| failure.is_down).flat_map(|failure| failure.ends)
    }

    /// Counters of faults that act where frames arrive, by the fault's index and the wire.
    pub fn tallies(&self) -> impl Iterator<Item = (u32, u32, FaultTally)> {
        let drawn = self.draws.iter().flat_map(super::draws::Draws::tallies);
        drawn.chain(self.failure.iter().flat_map(Failure::tallies))
    }

    /// Notes the queue pair that a host has created.
    pub(super) fn note_created(&mut self, host: u32, flow: &Flow) {
        if let Some(failure) = &mut self.failure {
            let key = failure.key(flow);
            failure.tables[host as usize].insert(key, flow.qp);
        }
    }

    /// Notes that a queue pair is complete.
    pub(super) fn note_completed(&mut self, host: u32, flow: &Flow) {
        if let Some(failure) = &mut self.failure {
            failure.tables[host as usize].remove(flow.qp);
        }
    }
}

impl<W: Wires> Part<W> {
    /// Takes the link down that fails.
    pub(super) fn take_link_down(&mut self, order: &mut InOrder, now: Picos) {
        let Some(failure) = &mut order.failure else { return };
        failure.is_down = true;
        for node in &mut self.switches {
            node.routes = Some(failure.routes.clone());
        }
        for (node, port) in failure.ends {
            match node {
                NodeKind::Host(host) => self.hosts[host.0 as usize].stop(),
                NodeKind::Switch(switch) => {
                    let place = switch.0 as usize;
                    self.bury(failure, place, port, now);
                }
            }
        }
        let mut hosts: Vec<u32> = (0..).take(self.hosts.len()).collect();
        hosts.sort_by_key(|&host| failure.routes.address(HostId(host)));
        for host in hosts {
            let queue_pairs = failure.tables[host as usize].queue_pairs();
            self.hosts[host as usize].redistribute(&mut self.core, (now, host), queue_pairs);
        }
    }

    /// Makes a switch's port dead, and counts the packets that wait there as lost.
    fn bury(&mut self, failure: &mut Failure, switch: usize, port: u16, now: Picos) {
        let node = &mut self.switches[switch];
        let out = node.out_of(port);
        out.busy_until = Picos::MAX;
        let (wire, id) = (out.wire, node.node());
        let queues = node.switch.queues();
        for queue in queues.non_empty(port.into()).iter() {
            for packet in queues.waiting(port.into(), queue) {
                self.core.lose_waiting(now, id, wire, packet.frame);
                failure.count_lost(wire);
            }
        }
    }

    /// True if a switch holds no packets but those at a dead port.
    pub fn holds_no_packet(&self, node: &SwitchNode) -> bool {
        node.switch.holds_no_packet()
            || self.in_order.iter().flat_map(|order| order.dead_ports()).any(|end| {
                let (NodeKind::Switch(switch), port) = end else { return false };
                let queues = node.switch.queues();
                let packets = |queue| queues.queue_packets(port.into(), queue) as usize;
                let at_port = || queues.non_empty(port.into()).iter().map(packets).sum::<usize>();
                switch == node.id && queues.total_packets() == at_port()
            })
    }
}
