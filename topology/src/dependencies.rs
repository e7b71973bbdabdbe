//! Buffer dependencies: which ingress queue waits for which, and whether any wait in a circle.
//!
//! Under PFC the packets in ingress queue `(X, p)` that go on to switch `Y` wait while `Y` pauses
//! `X`, that is while the ingress queue of `Y` at the other end of that link is full. A cycle of such
//! dependencies is what a deadlock needs (DSH, Fig. 16). The graph has a node for each wire into a
//! switch, which is one ingress port, and an edge for each turn that the traffic of some pair of
//! hosts takes.

use std::collections::BTreeSet;

use super::cycle::{components, shortest_cycle};
use super::{Fabric, NodeKind, Racks, SwitchId, WireId};

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
            let example = shortest_cycle(&turns, members[0])
                .expect("a component of several nodes has a cycle through each");
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
