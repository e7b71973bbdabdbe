//! A fabric as a drawing: nodes in rows by their distance from hosts, and links.
//!
//! [`Graph::new`] selects nodes and links; `dot`, `mermaid` and `svg` draw them.

mod dot;
mod mermaid;
mod svg;

#[cfg(test)]
mod tests;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;

use std::collections::BTreeMap;

use scenario::Scenario;
use topology::{Fabric, NodeId, NodeKind, Racks};
use units::{BitsPerSecond, Picos};

use crate::inspect::{buffer_dependency, rate, time};

/// Max number of hosts that are drawn as separate nodes by default.
const FEW_HOSTS: u32 = 64;

/// Content of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Scenario's name, and the numbers of hosts and switches.
    pub title: String,
    /// Nodes in rows, the hosts first.
    pub rows: Vec<Vec<Node>>,
    /// Links in the order of their lower ends.
    pub links: Vec<Link>,
    /// Rate and delay of each kind of link; the first kind is the most frequent one.
    pub kinds: Vec<String>,
    /// Index in `links` of each link of the fabric.
    link_of: Vec<usize>,
}

/// A switch, a host, or the hosts of a rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the node; for a rack `h0 .. h15`.
    pub label: String,
    /// True if the node is a switch.
    pub is_switch: bool,
}

/// Links between two nodes with equal rate and delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// End in the lower row.
    pub low: Place,
    /// Other end.
    pub high: Place,
    /// Number of links.
    pub count: u32,
    /// Index in [`Graph::kinds`].
    pub kind: usize,
    /// True if one of the links lies on a cycle of buffer dependency.
    pub on_cycle: bool,
    /// Load of the busiest wire, if the graph is [coloured](Graph::colour) by load.
    pub load: Option<Load>,
}

/// Load of a wire in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Utilisation of the wire's capacity, 0 to 1.
    pub utilisation: f64,
    /// Share of the run in which the sender was paused, 0 to 1, for the priority that was paused longest.
    pub paused: f64,
}

/// Position of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Row of the node.
    pub row: usize,
    /// Place in the row.
    pub column: usize,
}

/// Hosts that are drawn as separate nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// All hosts, if there are at most 64.
    #[default]
    IfFew,
    /// All hosts.
    All,
    /// No hosts: one node stands for all hosts of a switch.
    Racks,
}

impl Link {
    /// Returns the text beside the link: the number of links, and their kind if the graph has several.
    pub fn label(&self, graph: &Graph) -> Option<String> {
        let count = (self.count > 1).then(|| format!("{} x", self.count));
        let kind = (graph.kinds.len() > 1).then(|| graph.kinds[self.kind].clone());
        let parts: Vec<String> = count.into_iter().chain(kind).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

impl Graph {
    /// Makes the graph of a scenario's fabric, without failed links.
    pub fn new(scenario: &Scenario, hosts: Hosts) -> Self {
        let fabric = scenario.fabric();
        let (count, switches) = (fabric.host_count(), fabric.switch_count());
        let racks = match hosts {
            Hosts::IfFew => count > FEW_HOSTS,
            Hosts::All => false,
            Hosts::Racks => true,
        };
        let (rows, places) = rows(fabric, racks);
        let (links, kinds, link_of) = links(scenario, &places);
        let [hosts, switches] = [("host", count), ("switch", switches)]
            .map(|(what, count)| results::counted(count.into(), what));
        let title = format!("{}: {hosts}, {switches}", scenario.name);
        Self { title, rows, links, kinds, link_of }
    }

    /// Colours links by the load of their wires. `load` gets the name of a wire.
    pub fn colour(&mut self, scenario: &Scenario, load: impl Fn(&str) -> Load) {
        for (wires, &link) in scenario.fabric().wires().chunks(2).zip(&self.link_of) {
            let most = self.links[link].load.get_or_insert_default();
            for wire in wires {
                let of = load(&wire.name);
                most.utilisation = most.utilisation.max(of.utilisation);
                most.paused = most.paused.max(of.paused);
            }
        }
    }

    /// Returns all nodes with their places.
    pub fn nodes(&self) -> impl Iterator<Item = (Place, &Node)> {
        self.rows.iter().enumerate().flat_map(|(row, nodes)| {
            nodes.iter().enumerate().map(move |(column, node)| (Place { row, column }, node))
        })
    }
}

/// Returns the rows, and the position of each node of the fabric.
fn rows(fabric: &Fabric, racks: bool) -> (Vec<Vec<Node>>, Vec<Place>) {
    let levels = fabric.levels();
    let highest = levels.iter().copied().filter(|level| *level != u32::MAX).max().unwrap_or(0);
    let mut rows: Vec<Vec<Node>> = vec![Vec::new(); highest as usize + 1];
    let mut places = Vec::new();
    let mut of_rack: BTreeMap<NodeId, Place> = BTreeMap::new();
    for (node, &level) in fabric.nodes().iter().zip(&levels) {
        // A switch that no host reaches is placed in the highest row.
        let row = level.min(highest) as usize;
        let edge = node.ports.first().map(|wire| fabric.wire(*wire).to);
        let is_switch = matches!(node.kind, NodeKind::Switch(_));
        if let (true, false, Some(edge)) = (racks, is_switch, edge)
            && let Some(&place) = of_rack.get(&edge)
        {
            let Place { row, column } = place;
            let Node { label, .. } = &mut rows[row][column];
            let first = label.split(' ').next().unwrap_or_default();
            *label = format!("{first} .. {}", node.name);
            places.push(place);
            continue;
        }
        let place = Place { row, column: rows[row].len() };
        rows[row].push(Node { label: node.name.clone(), is_switch });
        places.push(place);
        if let (false, Some(edge)) = (is_switch, edge) {
            of_rack.insert(edge, place);
        }
    }
    (rows, places)
}

/// Returns the links, their kinds, and for each link of the fabric its index in the links.
fn links(scenario: &Scenario, places: &[Place]) -> (Vec<Link>, Vec<String>, Vec<usize>) {
    let fabric = scenario.fabric();
    let mut on_cycle = vec![false; fabric.wires().len()];
    for cycle in buffer_dependency(scenario, &Racks::by_routes(fabric)) {
        for member in cycle.members {
            on_cycle[member.0 as usize] = true;
        }
    }
    let mut numbers: BTreeMap<(BitsPerSecond, Picos), u32> = BTreeMap::new();
    let mut found: BTreeMap<(Place, Place, BitsPerSecond, Picos), (u32, bool)> = BTreeMap::new();
    let mut keys = Vec::new();
    for (number, wires) in fabric.wires().chunks(2).enumerate() {
        let wire = &wires[0];
        let mut ends = [wire.from, wire.to].map(|NodeId(node)| places[node as usize]);
        ends.sort_unstable();
        let [low, high] = ends;
        keys.push((low, high, wire.rate, wire.delay));
        *numbers.entry((wire.rate, wire.delay)).or_default() += 1;
        let (count, is_on_cycle) = found.entry((low, high, wire.rate, wire.delay)).or_default();
        *count += 1;
        *is_on_cycle |= on_cycle[2 * number] || on_cycle[2 * number + 1];
    }
    let mut kinds: Vec<_> = numbers.into_iter().collect();
    kinds.sort_by_key(|(_, links)| std::cmp::Reverse(*links));
    let kind = |of| kinds.iter().position(|(kind, _)| *kind == of).unwrap_or_default();
    let numbered: BTreeMap<_, usize> = found.keys().copied().zip(0..).collect();
    let link_of = keys.iter().map(|key| numbered[key]).collect();
    let links = found.into_iter().map(|((low, high, rate, delay), (count, on_cycle))| Link {
        low,
        high,
        count,
        kind: kind((rate, delay)),
        on_cycle,
        load: None,
    });
    let links = links.collect();
    let names = kinds.iter().map(|((of, delay), _)| format!("{}, {}", rate(*of), time(*delay)));
    (links, names.collect(), link_of)
}
