//! A fabric as a picture: nodes in rows by their distance from hosts, and links.
//!
//! [`Graph::of`] says what is drawn; [`dot`], [`mermaid`] and [`svg`] draw it.

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

/// Hosts up to which each has a node of its own, if nothing else is asked for.
const FEW_HOSTS: u32 = 64;

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// The scenario's name, and how many hosts and switches there are.
    pub title: String,
    /// In rows, the hosts first.
    pub rows: Vec<Vec<Node>>,
    /// In the order of their lower ends.
    pub links: Vec<Link>,
    /// Rate and delay of the kinds of links, the first being that of most.
    pub kinds: Vec<String>,
    /// Among `links`, the place of each link of the fabric.
    link_of: Vec<usize>,
}

/// A switch, a host, or the hosts of a rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, or of a rack `h0 .. h15`.
    pub label: String,
    /// Whether it is a switch.
    pub is_switch: bool,
}

/// The links of two nodes that have one rate and delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The end in the lower row.
    pub low: Place,
    /// The other.
    pub high: Place,
    /// How many there are.
    pub count: u32,
    /// Their place among [`Graph::kinds`].
    pub kind: usize,
    /// Whether one of them lies on a cycle of buffer dependency.
    pub on_cycle: bool,
    /// What the busiest of their wires carried, if the graph is [coloured](Graph::colour) by it.
    pub load: Option<Load>,
}

/// What a wire carried in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Share of what it carries at most, 0 to 1.
    pub utilisation: f64,
    /// Share of the run in which its sender had to stop a priority, 0 to 1: of the priority that was stopped longest.
    pub paused: f64,
}

/// A node by its row and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The row.
    pub row: usize,
    /// The place in it.
    pub column: usize,
}

/// Which hosts have a node of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// All, if there are not more than 64.
    #[default]
    IfFew,
    /// All.
    All,
    /// None: the hosts of a switch have one together.
    Racks,
}

impl Link {
    /// What is written beside it: how many links it stands for, and their kind, if the graph has several.
    pub fn label(&self, graph: &Graph) -> Option<String> {
        let count = (self.count > 1).then(|| format!("{} x", self.count));
        let kind = (graph.kinds.len() > 1).then(|| graph.kinds[self.kind].clone());
        let parts: Vec<String> = count.into_iter().chain(kind).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

impl Graph {
    /// The graph of a scenario's fabric, without links that have failed.
    pub fn of(scenario: &Scenario, hosts: Hosts) -> Self {
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

    /// Colours links by what their wires, which `load` gets by name, carried.
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

    /// All nodes with their places.
    pub fn nodes(&self) -> impl Iterator<Item = (Place, &Node)> {
        self.rows.iter().enumerate().flat_map(|(row, nodes)| {
            nodes.iter().enumerate().map(move |(column, node)| (Place { row, column }, node))
        })
    }
}

/// The rows, and where in them each node of the fabric is.
fn rows(fabric: &Fabric, racks: bool) -> (Vec<Vec<Node>>, Vec<Place>) {
    let levels = fabric.levels();
    let highest = levels.iter().copied().filter(|level| *level != u32::MAX).max().unwrap_or(0);
    let mut rows: Vec<Vec<Node>> = vec![Vec::new(); highest as usize + 1];
    let mut places = Vec::new();
    let mut of_rack: BTreeMap<NodeId, Place> = BTreeMap::new();
    for (node, &level) in fabric.nodes().iter().zip(&levels) {
        // A switch that no host reaches stands with the highest.
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

/// The links, what kinds there are, and which of the links each of the fabric's is.
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
