//! Pauses of flows that switches have sent, and flows that a neighbour still holds back because a RESUME was
//! lost.

use std::collections::{BTreeMap, BTreeSet};

use fabric_core::hop_control::{HopControl, Order};
use fabric_core::priority::Priority;
use fabric_core::scheme::{Selected, Watched};
use results::{FlowPauseRow, UnresumedFlow};
use scenario::Scenario;
use topology::{NodeId, NodeKind, SwitchId};
use units::{Bytes, Picos};
use workload::Flow;

use super::Engine;
use super::journal::Entry;
use crate::datapath::Wires;

/// An ingress port of a switch, and a priority.
type Place = (NodeId, u16, u8);

/// As many decisions are kept before those of flows that are over are looked for.
const MIN_TO_PRUNE: usize = 4096;

/// The last decision about a flow at a neighbour.
#[derive(Clone, Copy, Debug)]
struct Decision {
    paused: bool,
    at: Picos,
}

/// See the module.
#[derive(Debug)]
pub struct FlowDecisions {
    /// Flow of each name that has started last.
    flows: BTreeMap<u32, u32>,
    /// Instant of the last pause by any switch, by the flow's name.
    paused: BTreeMap<u32, Picos>,
    /// The last decision about the flow of a name at each place.
    decisions: BTreeMap<(u32, Place), Decision>,
    /// Decisions that pause a flow, by place.
    paused_at: BTreeSet<(Place, u32)>,
    /// Number of decisions from which on those that no longer matter are forgotten.
    prune_from: usize,
}

impl Default for FlowDecisions {
    fn default() -> Self {
        Self {
            flows: BTreeMap::new(),
            paused: BTreeMap::new(),
            decisions: BTreeMap::new(),
            paused_at: BTreeSet::new(),
            prune_from: MIN_TO_PRUNE,
        }
    }
}

impl FlowDecisions {
    /// A flow starts.
    pub fn start(&mut self, scenario: &Scenario, flow: &Flow) {
        self.flows.insert(scenario.flow_name(flow), flow.id);
    }

    /// Instant at which a switch last paused the flow of a name at a neighbour.
    pub fn paused_at(&self, name: u32) -> Option<Picos> {
        self.paused.get(&name).copied()
    }

    /// Notes a decision about flows, and returns its rows.
    pub fn record<'a>(
        &mut self,
        scenario: &'a Scenario,
        entry: &Entry,
        port: u16,
        order: &Order,
    ) -> Vec<FlowPauseRow<'a>> {
        let HopControl::Flows { priority, paused, ref flows } = order.control else {
            return Vec::new();
        };
        let priority = priority.number();
        let fabric = scenario.fabric();
        let (at, node) = (entry.at, entry.node);
        let mut rows = Vec::new();
        for &name in flows.hashes() {
            if paused {
                self.paused.insert(name, at);
            }
            let place = (node, port, priority);
            self.decisions.insert((name, place), Decision { paused, at });
            if paused {
                self.paused_at.insert((place, name));
            } else {
                self.paused_at.remove(&(place, name));
            }
            rows.push(FlowPauseRow {
                time: at.to_nanos(),
                node: &fabric.node(node).name,
                port,
                peer: &fabric.node(fabric.peer(node, port).node).name,
                priority,
                name,
                flow: self.flows.get(&name).copied(),
                paused,
                occupancy: Bytes(order.occupancy_bytes),
                threshold: Bytes(order.threshold_bytes),
            });
        }
        rows
    }

    /// Places where the last decision was to resume the flow of a name, and when it was made.
    fn resumed(&self, name: u32) -> impl Iterator<Item = (Place, Picos)> {
        let (first, last) = ((NodeId(0), 0, 0), (NodeId(u32::MAX), u16::MAX, u8::MAX));
        let of_name = self.decisions.range((name, first)..=(name, last));
        of_name
            .filter(|(_, decision)| !decision.paused)
            .map(|(&(_, place), decision)| (place, decision.at))
    }

    /// Names of flows about which the last decision was to pause them.
    fn paused_by(&self, place: Place) -> impl Iterator<Item = u32> {
        self.paused_at.range((place, 0)..=(place, u32::MAX)).map(|&(_, name)| name)
    }

    /// Returns true if decisions that no longer matter should be forgotten.
    pub fn is_large(&self) -> bool {
        self.decisions.len() >= self.prune_from
    }

    /// Forgets decisions to resume flows that are not under way, unless they may have `got_lost`. So decisions are as many as flows
    /// under way and what switches have paused, times two, and each costs a constant number of looks.
    fn prune(&mut self, under_way: &BTreeSet<u32>, got_lost: &BTreeSet<(u32, Place)>) {
        self.decisions.retain(|key, decision| {
            decision.paused || under_way.contains(&key.0) || got_lost.contains(key)
        });
        self.paused.retain(|name, _| under_way.contains(name));
        self.prune_from = MIN_TO_PRUNE.max(2 * self.decisions.len());
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Flows in progress that wait for a lost RESUME.
    pub(super) fn unresumed_flows(&self) -> Vec<UnresumedFlow> {
        if !self.scenario.switch.pauses_flows() {
            return Vec::new();
        }
        let fabric = self.scenario.fabric();
        let mut unresumed = Vec::new();
        for flow in self.active.values() {
            let name = self.scenario.flow_name(flow);
            for (place, at) in self.recorder.flow_decisions.resumed(name) {
                let (by, port, _) = place;
                if self.may_still_come(by, port, at) || !self.is_held_back(place, name) {
                    continue;
                }
                let holder = fabric.peer(by, port);
                unresumed.push(UnresumedFlow {
                    flow: flow.id,
                    node: fabric.node(holder.node).name.clone(),
                    port: holder.port,
                    by: fabric.node(by).name.clone(),
                    resumed_ns: at.to_nanos().0,
                });
            }
        }
        unresumed.sort();
        unresumed
    }

    /// Forgets decisions about flows that are over, if there are many.
    pub(super) fn prune_flow_decisions(&mut self) {
        let all = &self.recorder.flow_decisions;
        if !all.is_large() {
            return;
        }
        let under_way = self.active.values().map(|flow| self.scenario.flow_name(flow)).collect();
        let names: BTreeSet<u32> = all.decisions.keys().map(|&(name, _)| name).collect();
        let over = names.difference(&under_way);
        let resumed =
            over.flat_map(|&name| all.resumed(name).map(move |(at, when)| (name, at, when)));
        // A RESUME that was lost holds back the next flow of its name.
        let got_lost = resumed.filter(|&(name, place, at)| {
            self.may_still_come(place.0, place.1, at) || self.is_held_back(place, name)
        });
        let got_lost = got_lost.map(|(name, place, _)| (name, place)).collect();
        self.recorder.flow_decisions.prune(&under_way, &got_lost);
    }

    /// True if a frame that was due at `at` at a port of a switch may still be on its way, possibly behind another
    /// frame of the port.
    fn may_still_come(&self, by: NodeId, port: u16, at: Picos) -> bool {
        let NodeKind::Switch(switch) = self.scenario.fabric().node(by).kind else { return false };
        let node = self.switch_node(switch);
        let flight = node.wires(port).0.longest_flight(self.scenario.longest_frame().0 as u32);
        node.switch.has_control(port) || self.now <= at + flight + flight
    }

    /// True if the neighbour at an ingress port holds back the flow of a name.
    fn is_held_back(&self, (by, port, priority): Place, name: u32) -> bool {
        let fabric = self.scenario.fabric();
        let class = Priority::from_bits(priority.into());
        let holder = fabric.peer(by, port);
        let SwitchId(number) = match fabric.node(holder.node).kind {
            NodeKind::Switch(switch) => switch,
            NodeKind::Host(_) => {
                let place = self.partition.place(holder.node);
                let host = &self.parts[place.part as usize].hosts[place.index as usize].host;
                return host.holds_flow(class, name);
            }
        };
        let switch = self.switch(SwitchId(number));
        let (tables, policy, port_there) =
            (switch.tables(), switch.policy(), u32::from(holder.port));
        let is_paused = |name| Selected::holds_flow(tables, policy, port_there, class, name);
        // A paused flow without an entry stops the whole queue. This is an error if all flows that are to be paused
        // have entries.
        let stops_all = || {
            let unnamed = Selected::held_flows(tables, policy, port_there, class).stopped.is_some();
            let mut paused = self.recorder.flow_decisions.paused_by((by, port, priority));
            unnamed && paused.all(is_paused)
        };
        is_paused(name) || stops_all()
    }
}

/// Final clause of a sentence on flows that have not completed.
pub fn sentence(unresumed: &[UnresumedFlow]) -> String {
    const SHOWN: usize = 4;
    if unresumed.is_empty() {
        return String::new();
    }
    let name = |it: &UnresumedFlow| format!("flow {} at {}", it.flow, it.node);
    let mut names: Vec<String> = unresumed.iter().take(SHOWN).map(name).collect();
    if unresumed.len() > SHOWN {
        names.push(format!("{} more", unresumed.len() - SHOWN));
    }
    format!(", waiting for a RESUME that was lost: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of flow 1, under way, and of flows 2 and 3, which are over, a port has resumed the first two and paused the third.
    #[test]
    fn decisions_about_flows_that_are_over_are_forgotten_unless_something_waits() {
        let place = |port| (NodeId(7), port, 3);
        let mut all = FlowDecisions::default();
        for (name, port, paused) in [(1, 0, false), (2, 0, false), (2, 1, false), (3, 0, true)] {
            all.decisions.insert((name, place(port)), Decision { paused, at: Picos(5) });
            all.paused.insert(name, Picos(4));
        }
        let got_lost = BTreeSet::from([(2, place(1))]);
        all.prune(&BTreeSet::from([1]), &got_lost);
        let left: Vec<_> = all.decisions.keys().map(|&(name, (_, port, _))| (name, port)).collect();
        assert_eq!(left, [(1, 0), (2, 1), (3, 0)]);
        assert_eq!(all.paused.keys().copied().collect::<Vec<_>>(), [1]);
        assert_eq!(all.resumed(2).collect::<Vec<_>>(), [(place(1), Picos(5))]);
        assert!(!all.is_large());
    }
}
