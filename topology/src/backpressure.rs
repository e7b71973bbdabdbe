//! The backpressure graph: which egress port can hold back which (BFC, Goyal et al., NSDI 2022, Appendix B).
//!
//! A node is an egress port of a switch, towards a switch or a host. If a packet can go from port A over its wire to port B
//! of the next switch and trigger backpressure there, B can pause queues of A: the paper's edge B -> A. A deadlock of BFC
//! needs a cycle of these (Theorem 1). Hosts have no part in one: they hold nobody back.

#[cfg(test)]
mod tests;

use super::dependencies::{Cycle, cycles_of, turns};
use super::{Fabric, NodeKind, Racks, SwitchId, Wire, WireId};

/// A way through a switch: frames come in at one port and leave by another, or by the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    /// The switch.
    pub switch: SwitchId,
    /// Where frames come in.
    pub ingress: u16,
    /// Where they leave.
    pub egress: u16,
}

/// The backpressure graph of a fabric. Egress ports are the wires that leave them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackpressureGraph {
    /// How many egress ports switches have.
    nodes: u32,
    /// By wire A: the wires B of the next switch to which its packets go on and which hold it back, ascending. Nothing
    /// at wires of hosts.
    turns: Vec<Vec<u32>>,
}

impl BackpressureGraph {
    /// The graph of the routes that there are: shortest paths, static routes, and those of flows.
    ///
    /// `groups` are [`Racks::by_routes`].
    pub fn of_routes(fabric: &Fabric, groups: &Racks) -> Self {
        Self { nodes: egress_ports(fabric), turns: turns(fabric, groups) }
    }

    /// The graph of all turns of all switches, back to the port where frames came in included: of any routes, also wrong
    /// ones, and after any failure of links.
    pub fn of_all_turns(fabric: &Fabric) -> Self {
        let onward = |wire: &Wire| {
            let ends = [wire.from, wire.to].map(|node| fabric.node(node));
            if ends.iter().any(|node| matches!(node.kind, NodeKind::Host(_))) {
                return Vec::new();
            }
            let mut onward: Vec<u32> = ends[1].ports.iter().map(|wire| wire.0).collect();
            onward.sort_unstable();
            onward
        };
        let turns = fabric.wires().iter().map(onward).collect();
        Self { nodes: egress_ports(fabric), turns }
    }

    /// The same if packets that take some turns trigger no backpressure.
    #[must_use]
    pub fn without(mut self, fabric: &Fabric, elides: impl Fn(Turn) -> bool) -> Self {
        for (wire, onward) in fabric.wires().iter().zip(&mut self.turns) {
            let NodeKind::Switch(switch) = fabric.node(wire.to).kind else { continue };
            onward.retain(|&next| {
                let egress = fabric.wire(WireId(next)).from_port;
                !elides(Turn { switch, ingress: wire.to_port, egress })
            });
        }
        self
    }

    /// How many nodes it has: all egress ports of switches.
    pub const fn node_count(&self) -> u32 {
        self.nodes
    }

    /// How many edges it has.
    pub fn edge_count(&self) -> u64 {
        self.turns.iter().map(|onward| onward.len() as u64).sum()
    }

    /// Its cycles, by their first members, each in the direction of the packets: against that of the paper's edges. No
    /// port holds itself back, so a cycle has two members or more.
    pub fn cycles(&self) -> Vec<Cycle> {
        cycles_of(&self.turns)
    }
}

fn egress_ports(fabric: &Fabric) -> u32 {
    (0..fabric.switch_count())
        .map(|switch| u32::from(fabric.switch(SwitchId(switch)).port_count()))
        .sum()
}
