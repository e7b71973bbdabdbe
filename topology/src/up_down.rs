//! An order of a fabric's nodes, by which each wire leads up or down.
//!
//! Paths that go up first and then down cannot close a cycle of dependencies: a cycle has to leave its lowest node
//! upwards and to reach it downwards (Autonet's up*/down* rule; Schroeder et al., IEEE JSAC 1991). So if packets
//! that come down and go up again pause nobody, no deadlock can form, whatever the routes are.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::{Fabric, NodeId, NodeKind, SwitchId, Turn, WireId};

/// An order of a fabric's nodes, from the hosts up.
///
/// Of two nodes the one further from the nearest host is higher ([`Fabric::levels`]): in a Clos, layer above layer.
/// In other fabrics switches of one layer can be neighbours. There the node nearer to a root is higher, so that in
/// a tree of such switches no path goes down and up again; at equal distance, the node with the lower number is
/// higher. The root of each connected part of the fabric is the first of its highest switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpDown {
    /// Position of each node in the order.
    places: Vec<u32>,
}

impl UpDown {
    /// The order of a fabric.
    pub fn new(fabric: &Fabric) -> Self {
        let (levels, distances) = (fabric.levels(), root_distances(fabric));
        let mut nodes: Vec<NodeId> = (0..levels.len()).map(NodeId::at).collect();
        let key = |node: &NodeId| {
            let at = node.0 as usize;
            (levels[at], Reverse(distances[at]), Reverse(node.0))
        };
        nodes.sort_unstable_by_key(key);
        let mut places = vec![0; nodes.len()];
        for (place, node) in (0..).zip(nodes) {
            places[node.0 as usize] = place;
        }
        Self { places }
    }

    /// True if a wire of the fabric leads to a higher node.
    pub fn is_up(&self, fabric: &Fabric, wire: WireId) -> bool {
        let wire = fabric.wire(wire);
        self.places[wire.to.0 as usize] > self.places[wire.from.0 as usize]
    }

    /// The turns of a switch by which frames come down and go up again: from each port that leads to a higher
    /// switch to each such port, itself included. Ordered by ingress port, then by egress port.
    ///
    /// Without them no cycle is left in [`from_all_turns`](super::BackpressureGraph::from_all_turns).
    pub fn elided(&self, fabric: &Fabric, switch: SwitchId) -> Vec<Turn> {
        let ports = (0..).zip(&fabric.switch(switch).ports);
        let up: Vec<u16> =
            ports.filter(|(_, wire)| self.is_up(fabric, **wire)).map(|(port, _)| port).collect();
        let of = |&ingress| up.iter().map(move |&egress| Turn { switch, ingress, egress });
        up.iter().flat_map(of).collect()
    }

    /// True if frames that take this turn come down and go up again.
    pub fn elides(&self, fabric: &Fabric, turn: Turn) -> bool {
        let ports = &fabric.switch(turn.switch).ports;
        let is_up = |port: u16| self.is_up(fabric, ports[usize::from(port)]);
        is_up(turn.ingress) && is_up(turn.egress)
    }
}

/// For each node, the number of links to the root of its part of the fabric, counted over switches only; hosts have
/// no value.
fn root_distances(fabric: &Fabric) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let levels = fabric.levels();
    let mut switches: Vec<NodeId> =
        (0..fabric.switch_count()).map(|switch| fabric.switch_node(SwitchId(switch))).collect();
    switches.sort_by_key(|node| Reverse(levels[node.0 as usize]));
    let mut distances = vec![NEW; fabric.nodes().len()];
    for root in switches {
        if distances[root.0 as usize] != NEW {
            continue;
        }
        distances[root.0 as usize] = 0;
        let mut waiting = VecDeque::from([root]);
        while let Some(here) = waiting.pop_front() {
            for &wire in &fabric.node(here).ports {
                let next = fabric.wire(wire).to;
                let is_switch = matches!(fabric.node(next).kind, NodeKind::Switch(_));
                if is_switch && distances[next.0 as usize] == NEW {
                    distances[next.0 as usize] = distances[here.0 as usize] + 1;
                    waiting.push_back(next);
                }
            }
        }
    }
    distances
}
