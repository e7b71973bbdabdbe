//! Buffer dependencies: the ingress queues that each ingress queue waits for, and the cycles among them.
//!
//! Under PFC the packets in ingress queue `(X, p)` that go on to switch `Y` wait while `Y` pauses `X`, that is,
//! while the ingress queue of `Y` at the other end of that link is full. A deadlock needs a cycle of such
//! dependencies (DSH, Fig. 16). The graph has a node for each wire into a switch, which is one ingress port, and an
//! edge for each turn that traffic between two hosts takes, or flows that have their own routes.
//! [`BackpressureGraph`](super::BackpressureGraph) is the corresponding graph of egress ports.

use std::collections::BTreeSet;

use super::cycle::{components, shortest_cycle};
use super::{Fabric, HostId, NodeKind, Racks, Reach, SwitchId, WireId};

/// Ports that depend on each other: a strongly connected component. A wire stands for the egress port that it
/// leaves and for the ingress port that it enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The wires of the component, ascending.
    pub members: Vec<WireId>,
    /// A shortest cycle through the first member: each wire's switch sends on over the next one,
    /// and the last one's over the first.
    pub example: Vec<WireId>,
}

/// All cycles of buffer dependency between the fabric's switches, by their first members.
///
/// `groups` are [`Racks::by_routes`].
pub fn cycles(fabric: &Fabric, groups: &Racks) -> Vec<Cycle> {
    cycles_of(&turns(fabric, groups))
}

/// All cycles of a graph of wires, by their first members.
pub(super) fn cycles_of(turns: &[Vec<u32>]) -> Vec<Cycle> {
    let mut cycles: Vec<Cycle> = components(turns)
        .into_iter()
        .filter(|members| members.len() > 1)
        .map(|members| {
            let example = shortest_cycle(turns, members[0])
                .expect("a component of several nodes has a cycle through each");
            let wires = |numbers: Vec<u32>| numbers.into_iter().map(WireId).collect();
            Cycle { members: wires(members), example: wires(example) }
        })
        .collect();
    cycles.sort_by_key(|cycle| cycle.members[0]);
    cycles
}

/// For each wire between switches, the wires that frames from it go on to, ascending.
pub(super) fn turns(fabric: &Fabric, groups: &Racks) -> Vec<Vec<u32>> {
    let mut turns = vec![BTreeSet::new(); fabric.wires().len()];
    let mut follow = |reach: Reach, receivers: &[HostId]| {
        let onward = |switch: SwitchId| {
            let wires = fabric.onward(switch, reach.traffic);
            wires.filter_map(|wire| match fabric.ends(wire).to {
                NodeKind::Switch(next) => Some((wire, next)),
                NodeKind::Host(_) => None,
            })
        };
        let last = fabric.edge(reach.traffic.destination);
        for &switch in &reach.switches {
            for (wire, next) in onward(switch) {
                let turns = &mut turns[wire.0 as usize];
                if next == last {
                    let downlink = |&host: &HostId| fabric.host(host).ports[0].reverse().0;
                    turns.extend(receivers.iter().map(downlink));
                } else {
                    turns.extend(onward(next).map(|(wire, _)| wire.0));
                }
            }
        }
    };
    for group in 0..groups.len() {
        let reaches = Reach::to_group(fabric, groups, group, None).into_iter();
        reaches.for_each(|reach| follow(reach, groups.hosts(group)));
    }
    for reach in Reach::for_flows(fabric, groups) {
        let receiver = reach.traffic.destination;
        follow(reach, &[receiver]);
    }
    turns.into_iter().map(|wires| wires.into_iter().collect()).collect()
}
