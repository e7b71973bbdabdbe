//! ECMP collisions of permutations and long-lived workloads: the hash is known, so the path of each flow is.

use scenario::{Scenario, Source, Workload};
use topology::{NodeKind, WireId};

/// A workload's flows on the wires of the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collisions {
    /// Label of the workload.
    pub label: String,
    /// Number of flows.
    pub flows: u64,
    /// Number of wires between switches that carry `n` flows, by `n`.
    pub wires_by_flows: Vec<u32>,
    /// Wires whose flows could send more than the wire's rate; the most flows first.
    pub overloaded: Vec<Overload>,
}

/// A wire on which flows will wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    /// Overloaded wire.
    pub wire: WireId,
    /// Numbers of the wire's flows, ascending.
    pub flows: Vec<u32>,
}

/// The flows of one wire, and the sum of their senders' rates.
#[derive(Clone, Debug, Default)]
struct Shared {
    flows: Vec<u32>,
    rate: u64,
}

/// Returns the collisions of each permutation and long-lived workload of the scenario, as the switches will hash its
/// flows.
pub(super) fn collisions(scenario: &Scenario) -> Vec<Collisions> {
    let fabric = scenario.fabric();
    let lasts = |number: usize| label(&scenario.workloads[number].workload).is_some();
    let expected = scenario.sources().iter().enumerate();
    let expected = expected.filter(|(number, _)| lasts(*number));
    let mut left: u64 = expected.map(|(_, source)| source.expected_flows()).sum();
    // By source and wire.
    let mut by_source = vec![Vec::new(); scenario.sources().len()];
    let mut stream = scenario.flow_stream();
    while left > 0
        && let Some((number, flow)) = stream.next_from()
    {
        if !lasts(number) {
            continue;
        }
        left -= 1;
        let wires: &mut Vec<Shared> = &mut by_source[number];
        wires.resize_with(fabric.wires().len(), Shared::default);
        let (path, _) = scenario.path_of(&flow);
        let rate = fabric.wire(path[0]).rate.0;
        for wire in path {
            let shared = &mut wires[wire.0 as usize];
            shared.flows.push(flow.id);
            shared.rate += rate;
        }
    }
    let sources = scenario.workloads.iter().zip(scenario.sources()).zip(by_source);
    sources
        .filter_map(|((workload, source), wires)| {
            let label = label(&workload.workload)?.to_owned();
            Some(on_wires(scenario, label, source, wires))
        })
        .collect()
}

fn on_wires(scenario: &Scenario, label: String, source: &Source, wires: Vec<Shared>) -> Collisions {
    let fabric = scenario.fabric();
    let is_switch = |node| matches!(fabric.node(node).kind, NodeKind::Switch(_));
    let mut wires_by_flows = Vec::new();
    let mut overloaded = Vec::new();
    for ((number, wire), shared) in (0..).zip(fabric.wires()).zip(wires) {
        let count = shared.flows.len();
        if is_switch(wire.from) && is_switch(wire.to) {
            wires_by_flows.resize(wires_by_flows.len().max(count + 1), 0);
            wires_by_flows[count] += 1;
        }
        if shared.rate > wire.rate.0 {
            overloaded.push(Overload { wire: WireId(number), flows: shared.flows });
        }
    }
    overloaded.sort_by_key(|overload| std::cmp::Reverse(overload.flows.len()));
    Collisions { label, flows: source.expected_flows(), wires_by_flows, overloaded }
}

/// Returns the label of a workload whose flows are all active at the same time, so that they collide if their paths
/// overlap.
fn label(workload: &Workload) -> Option<&str> {
    match workload {
        Workload::Permutation { .. } | Workload::LongLived { .. } => Some(workload.label()),
        _ => None,
    }
}
