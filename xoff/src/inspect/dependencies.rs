//! Buffer dependencies: which ingress queue waits for which, and whether any wait in a circle.
//!
//! Under PFC the packets in ingress queue `(X, p)` that go on to switch `Y` wait while `Y` pauses
//! `X`, that is while the ingress queue of `Y` at the other end of that link is full. A cycle of such
//! dependencies is what a deadlock needs (DSH, Fig. 16). The graph has a node for each wire into a
//! switch, which is one ingress port, and an edge for each turn that the traffic of some pair of
//! hosts takes.

use std::collections::BTreeSet;

use crate::topology::{Fabric, NodeKind, Racks, SwitchId, WireId};

/// Ingress ports that depend on each other: a strongly connected component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The wires that enter all ports of the component, ascending.
    pub members: Vec<WireId>,
    /// A shortest cycle through the first member: each wire's switch sends on over the next one,
    /// and the last one's over the first.
    pub example: Vec<WireId>,
}

/// All cycles of buffer dependency between the fabric's switches, by their first members.
pub fn cycles(fabric: &Fabric, racks: &Racks) -> Vec<Cycle> {
    let turns = turns(fabric, racks);
    let mut cycles: Vec<Cycle> = components(&turns)
        .into_iter()
        .filter(|members| members.len() > 1)
        .map(|members| {
            let example = shortest_cycle(&turns, &members);
            let wires = |numbers: Vec<u32>| numbers.into_iter().map(WireId).collect();
            Cycle { members: wires(members), example: wires(example) }
        })
        .collect();
    cycles.sort_by_key(|cycle| cycle.members[0]);
    cycles
}

/// For each wire, the wires that frames from it go on to, ascending.
fn turns(fabric: &Fabric, racks: &Racks) -> Vec<Vec<u32>> {
    let mut turns = vec![BTreeSet::new(); fabric.wires().len()];
    let mut reached = vec![usize::MAX; fabric.wires().len()];
    for destination in 0..racks.len() {
        let host = racks.hosts(destination)[0];
        let onward = |switch: SwitchId| {
            let ports = fabric.routes(switch).ports_to(host).iter();
            let wires = ports.map(move |&port| fabric.switch(switch).ports[port as usize]);
            wires.filter(|wire| {
                matches!(fabric.node(fabric.wire(*wire).to).kind, NodeKind::Switch(_))
            })
        };
        let sources = (0..racks.len()).filter(|&source| source != destination);
        let mut waiting: Vec<WireId> =
            sources.flat_map(|source| onward(racks.switch(source))).collect();
        while let Some(wire) = waiting.pop() {
            if std::mem::replace(&mut reached[wire.0 as usize], destination) == destination {
                continue;
            }
            let NodeKind::Switch(switch) = fabric.node(fabric.wire(wire).to).kind else { continue };
            for next in onward(switch) {
                turns[wire.0 as usize].insert(next.0);
                waiting.push(next);
            }
        }
    }
    turns.into_iter().map(|wires| wires.into_iter().collect()).collect()
}

/// Strongly connected components, each in ascending order (Tarjan's algorithm, without recursion).
fn components(graph: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let mut index = vec![NEW; graph.len()];
    let mut low = vec![NEW; graph.len()];
    let mut open = vec![false; graph.len()];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..graph.len() as u32 {
        if index[root as usize] != NEW {
            continue;
        }
        // A node and how many of its successors have been seen to.
        let mut calls = vec![(root, 0)];
        while let Some((node, done)) = calls.pop() {
            let at = node as usize;
            if done == 0 {
                (index[at], low[at], open[at]) = (next, next, true);
                stack.push(node);
                next += 1;
            } else {
                low[at] = low[at].min(low[graph[at][done - 1] as usize]);
            }
            let rest = &graph[at][done..];
            let step = rest.iter().position(|&to| {
                if index[to as usize] != NEW && open[to as usize] {
                    low[at] = low[at].min(index[to as usize]);
                }
                index[to as usize] == NEW
            });
            if let Some(step) = step {
                calls.push((node, done + step + 1));
                calls.push((rest[step], 0));
                continue;
            }
            if low[at] == index[at] {
                let start = stack.iter().rposition(|member| *member == node).unwrap_or(0);
                let mut members = stack.split_off(start);
                for member in &members {
                    open[*member as usize] = false;
                }
                members.sort_unstable();
                found.push(members);
            }
        }
    }
    found
}

/// A shortest cycle through the first of a component's members, breadth first.
fn shortest_cycle(graph: &[Vec<u32>], members: &[u32]) -> Vec<u32> {
    let first = members[0];
    let mut before = vec![None; graph.len()];
    let mut frontier = vec![first];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for node in frontier {
            for &to in graph[node as usize].iter().filter(|to| members.binary_search(to).is_ok()) {
                if to == first {
                    let mut cycle: Vec<u32> =
                        std::iter::successors(Some(node), |node| before[*node as usize]).collect();
                    cycle.reverse();
                    return cycle;
                }
                if before[to as usize].is_none() {
                    before[to as usize] = Some(node);
                    next.push(to);
                }
            }
        }
        frontier = next;
    }
    unreachable!("a component of several nodes has a cycle through each")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_found_and_sorted() {
        let graph = [vec![1], vec![2, 3], vec![0], vec![4], vec![5], vec![3], vec![]];
        let mut found = components(&graph);
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
        assert_eq!(shortest_cycle(&graph, &[3, 4, 5]), [3, 4, 5]);
    }
}
