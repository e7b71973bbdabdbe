//! The backpressure graph: the ports that each egress port can pause (BFC, Goyal et al., NSDI 2022, Appendix B).
//!
//! A node is an egress port of a switch, towards a switch or a host. If a packet can go from port A over its wire
//! to port B of the next switch and trigger backpressure there, B can pause queues of A: the paper's edge B -> A. A
//! deadlock of BFC needs a cycle of such edges (Theorem 1). Hosts are in no cycle, because they pause nobody.

#[cfg(test)]
mod tests;

use super::dependencies::{Cycle, cycles_of, turns};
use super::{Fabric, NodeKind, Racks, SwitchId, Wire, WireId};

/// A path through a switch. Frames may leave by the port at which they came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    /// The switch.
    pub switch: SwitchId,
    /// Port at which frames come in.
    pub ingress: u16,
    /// Port by which frames leave.
    pub egress: u16,
}

/// The backpressure graph of a fabric. Egress ports are the wires that leave them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackpressureGraph {
    /// Number of egress ports of all switches.
    nodes: u32,
    /// For each wire A, the wires B of the next switch to which packets of A go on and which can pause A,
    /// ascending. Empty for wires of hosts.
    turns: Vec<Vec<u32>>,
}

impl BackpressureGraph {
    /// The graph of the present routes: shortest paths, static routes, and routes of flows.
    ///
    /// `groups` are [`Racks::by_routes`].
    pub fn from_routes(fabric: &Fabric, groups: &Racks) -> Self {
        Self { nodes: egress_ports(fabric), turns: turns(fabric, groups) }
    }

    /// The graph of all turns of all switches, including turns back to the ingress port. It covers any routes,
    /// wrong ones included, and any failure of links.
    pub fn from_all_turns(fabric: &Fabric) -> Self {
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

    /// Removes the edges of turns for which `elides` is true: their packets trigger no backpressure.
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

    /// Number of nodes: all egress ports of switches.
    pub const fn node_count(&self) -> u32 {
        self.nodes
    }

    /// Number of edges.
    pub fn edge_count(&self) -> u64 {
        self.turns.iter().map(|onward| onward.len() as u64).sum()
    }

    /// Cycles of the graph, ordered by their first members. Each lists its ports in the direction of the packets,
    /// against the paper's edges. No port pauses itself, so a cycle has two members or more.
    pub fn cycles(&self) -> Vec<Cycle> {
        cycles_of(&self.turns)
    }
}

fn egress_ports(fabric: &Fabric) -> u32 {
    (0..fabric.switch_count())
        .map(|switch| u32::from(fabric.switch(SwitchId(switch)).port_count()))
        .sum()
}
