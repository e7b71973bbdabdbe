//! Pauses of flows that switches have sent (OFC), and flows that a neighbour still holds back because a RESUME was
//! lost.

use std::collections::BTreeMap;

use fabric_core::priority::Priority;
use fabric_core::scheme::ofc::Options;
use fabric_core::scheme::ofc::state::{self, FlowTable, PAUSED, RESUMES_NEXT};
use results::{FlowPauseRow, UnresumedFlow};
use scenario::Scenario;
use topology::{NodeId, NodeKind, SwitchId};
use units::{Bytes, Picos};
use workload::Flow;

use super::Engine;
use super::journal::{Entry, FlowsTold};
use crate::datapath::Wires;

/// An ingress port of a switch, a priority and the name of a flow there.
type Place = (NodeId, u16, u8, u32);

/// The last decision about a flow at a neighbour.
#[derive(Clone, Copy, Debug)]
struct Told {
    paused: bool,
    at: Picos,
}

/// See the module.
#[derive(Debug, Default)]
pub struct ToldFlows {
    /// Flow of each name that has started last.
    flows: BTreeMap<u32, u32>,
    /// Instant of the last pause by any switch, by the flow's name.
    paused: BTreeMap<u32, Picos>,
    told: BTreeMap<Place, Told>,
}

impl ToldFlows {
    /// A flow starts.
    pub fn start(&mut self, scenario: &Scenario, flow: &Flow) {
        self.flows.insert(scenario.flow_name(flow), flow.id);
    }

    /// Instant at which a switch last paused the flow of a name at a neighbour.
    pub fn paused_at(&self, name: u32) -> Option<Picos> {
        self.paused.get(&name).copied()
    }

    /// Notes a decision about flows, and returns its rows.
    pub fn tell<'a>(
        &mut self,
        scenario: &'a Scenario,
        entry: &Entry,
        told: &FlowsTold,
    ) -> Vec<FlowPauseRow<'a>> {
        let FlowsTold { port, priority, paused, ref flows, occupancy, threshold } = *told;
        let fabric = scenario.fabric();
        let (at, node) = (entry.at, entry.node);
        let mut rows = Vec::new();
        for &name in flows.hashes() {
            if paused {
                self.paused.insert(name, at);
            }
            self.told.insert((node, port, priority, name), Told { paused, at });
            rows.push(FlowPauseRow {
                time: at.to_nanos(),
                node: &fabric.node(node).name,
                port,
                peer: &fabric.node(fabric.peer(node, port).node).name,
                priority,
                name,
                flow: self.flows.get(&name).copied(),
                paused,
                occupancy: Bytes(occupancy),
                threshold: Bytes(threshold),
            });
        }
        rows
    }

    /// Places where the last decision was to resume the flow of a name, and when it was made.
    fn resumed(&self, name: u32) -> impl Iterator<Item = (Place, Picos)> {
        let of_name = self.told.iter().filter(move |((.., other), _)| *other == name);
        of_name.filter(|(_, told)| !told.paused).map(|(place, told)| (*place, told.at))
    }

    /// Names of flows about which the last decision was to pause them.
    fn paused_by(&self, node: NodeId, port: u16, priority: u8) -> impl Iterator<Item = u32> {
        let here = (node, port, priority, 0)..=(node, port, priority, u32::MAX);
        self.told.range(here).filter(|(_, told)| told.paused).map(|((.., name), _)| *name)
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Flows in progress that wait for a lost RESUME.
    pub(super) fn unresumed_flows(&self) -> Vec<UnresumedFlow> {
        if self.scenario.switch.ofc().is_none() {
            return Vec::new();
        }
        let fabric = self.scenario.fabric();
        let mut unresumed = Vec::new();
        for flow in self.active.values() {
            for (place, at) in self.recorder.told_flows.resumed(self.scenario.flow_name(flow)) {
                let (by, port, ..) = place;
                if self.may_still_come(by, port, at) || !self.is_held_back(place) {
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

    /// True if a frame that was due at `at` at a port of a switch may still be on its way, possibly behind another
    /// frame of the port.
    fn may_still_come(&self, by: NodeId, port: u16, at: Picos) -> bool {
        let NodeKind::Switch(switch) = self.scenario.fabric().node(by).kind else { return false };
        let node = self.switch_node(switch);
        let flight = node.wires(port).0.longest_flight(self.scenario.longest_frame().0 as u32);
        node.switch.has_control(port) || self.now <= at + flight + flight
    }

    /// True if the neighbour at an ingress port holds back the flow of a name.
    fn is_held_back(&self, (by, port, priority, name): Place) -> bool {
        let fabric = self.scenario.fabric();
        let class = Priority::of_bits(priority.into());
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
        let (tables, port_there) = (switch.tables(), u32::from(holder.port));
        let ports = tables.settings().ports;
        let table = FlowTable { options: Options::of(switch.policy()), ports, port: port_there };
        let is_paused = |name| {
            let found = table.find(tables, class, name, false);
            let flow = table.flow(tables, found);
            flow.is_some_and(|flow| flow.has(PAUSED) && !flow.has(RESUMES_NEXT))
        };
        // A paused flow without an entry stops the whole queue. This is an error if all flows that are to be paused
        // have entries.
        let stops_all = || {
            let unnamed = state::class(tables, ports, port_there, class)
                .is_some_and(|class| class.unnamed_flows.load() != 0);
            let mut paused = self.recorder.told_flows.paused_by(by, port, priority);
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
