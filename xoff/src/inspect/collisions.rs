//! Where ECMP will put a permutation's flows: the hash is known, and so are its collisions.

use crate::build;
use crate::scenario::{Scenario, Source};
use crate::topology::NodeKind;

/// A permutation's flows on the wires between switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collisions {
    /// The workload's label.
    pub label: String,
    /// How many flows there are.
    pub flows: u64,
    /// How many wires between switches carry `n` flows, by `n`.
    pub wires_by_flows: Vec<u32>,
    /// Wires whose flows could send more than they carry, with the number of their flows; the most
    /// flows first.
    pub overloaded: Vec<(String, u32)>,
}

/// The collisions of each permutation of the scenario, as the switches will hash its flows.
pub(super) fn collisions(scenario: &Scenario) -> Vec<Collisions> {
    let fabric = scenario.fabric();
    let is_permutation = |source: &Source| matches!(source, Source::Permutation(_));
    let mut left: u64 = scenario
        .sources()
        .iter()
        .filter(|source| is_permutation(source))
        .map(Source::expected_flows)
        .sum();
    // Flows and the sum of their senders' rates, by source and wire.
    let mut by_source = vec![Vec::new(); scenario.sources().len()];
    let mut stream = scenario.flow_stream();
    while left > 0
        && let Some((number, flow)) = stream.next_from()
    {
        if !is_permutation(&scenario.sources()[number]) {
            continue;
        }
        left -= 1;
        let wires = &mut by_source[number];
        wires.resize(fabric.wires().len(), (0u32, 0u64));
        let (path, _) = build::paths(scenario, &flow);
        let rate = fabric.wire(path[0]).rate.0;
        for wire in path {
            let (flows, sum) = &mut wires[wire.0 as usize];
            *flows += 1;
            *sum += rate;
        }
    }
    let sources = scenario.sources().iter().zip(by_source);
    sources
        .filter_map(|(source, wires)| {
            let Source::Permutation(recipe) = source else { return None };
            let is_switch = |node| matches!(fabric.node(node).kind, NodeKind::Switch(_));
            let inner = fabric.wires().iter().zip(wires);
            let mut wires_by_flows = Vec::new();
            let mut overloaded = Vec::new();
            for (wire, (flows, sum)) in
                inner.filter(|(wire, _)| is_switch(wire.from) && is_switch(wire.to))
            {
                wires_by_flows.resize(wires_by_flows.len().max(flows as usize + 1), 0);
                wires_by_flows[flows as usize] += 1;
                if sum > wire.rate.0 {
                    overloaded.push((wire.name.clone(), flows));
                }
            }
            overloaded.sort_by_key(|(_, flows)| std::cmp::Reverse(*flows));
            let label = recipe.stamp.label.to_string();
            let flows = source.expected_flows();
            Some(Collisions { label, flows, wires_by_flows, overloaded })
        })
        .collect()
}
