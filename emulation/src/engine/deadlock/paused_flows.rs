//! Cycles of pauses of flows.
//!
//! A [`Lane`] waits, as a whole or in part, when its packets are held back: packets of paused flows in any queue,
//! and all packets if the class is paused. They may leave when the ingress queue at the lane's end resumes them,
//! which it does once it has fallen to `X_on`. So a lane is stuck if packets that never leave that ingress queue
//! exceed `X_on` plus the queue's private buffer; packets held back in stuck lanes never leave. Packets of other
//! flows may come and leave meanwhile, but the ingress queue never falls to `X_on`. A cycle of stuck lanes is a
//! deadlock.
//!
//! Tables do not show a RESUME that is on its way. So only packets that were also held back at the previous check
//! count. Checks are so far apart that every frame sent before one check has arrived before the next: while these
//! packets stay, no RESUME is sent. A flow counts only if it is still in the list of the switch at the lane's end.
//! A flow whose RESUME was lost is not in that list, and is not part of a cycle.
//!
//! Cycles of only paused classes are also found by the watch of classes; they are written once.

use std::collections::{BTreeMap, BTreeSet};

use fabric_core::hop_control::PauseLevel;
use fabric_core::priority::Priority;
use fabric_core::scheme::{Ingress, Scheme, Selected, Watched};
use fabric_core::tables::Tables;
use results::{DeadlockMember, WaitCause};
use topology::{SwitchId, shortest_cycle};
use units::{Bytes, Nanos, Picos};

use super::{DeadlockRow, Engine, LOOK_PERIOD, Lane, RunError, Task};
use crate::datapath::Wires;

/// A packet that is held back: its switch, its slot, and its arrival.
type Packet = (u32, u32, u64);

/// Position of a packet that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldPacket {
    /// The lane on which it cannot leave.
    behind: Lane,
    came_by: Lane,
    bytes: u64,
}

/// A lane that holds packets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HoldingLane {
    /// True if its class is paused, false if only flows of the class are.
    by_class: bool,
    /// Max bytes of its ingress queue at which it resumes all packets.
    resumes_at: Bytes,
}

/// All packets held back between switches, at one instant.
#[derive(Clone, Debug, Default)]
struct HeldFlows {
    lanes: BTreeMap<Lane, HoldingLane>,
    packets: BTreeMap<Packet, HeldPacket>,
}

/// A deadlock.
#[derive(Debug)]
pub struct FlowCycle {
    /// Lanes in the order of waiting, from the lowest on; true if the lane's class is paused.
    lanes: Vec<(Lane, bool)>,
    /// The check that found its packets held back.
    found: Nanos,
    confirmed: Nanos,
}

/// Cycles of paused flows known to the watch.
#[derive(Debug, Default)]
pub struct FlowCycles {
    /// The packets found by the last check, with its instant.
    before: Option<(Picos, BTreeMap<Packet, HeldPacket>)>,
    /// Deadlocks.
    pub confirmed: Vec<FlowCycle>,
}

impl HeldFlows {
    /// Keeps only packets that were held back in the same place `before`.
    fn retain_held(&mut self, before: &BTreeMap<Packet, HeldPacket>) {
        self.packets.retain(|packet, place| before.get(packet) == Some(place));
    }

    /// The lanes that never release all their packets: the largest set of lanes whose ingress queues never fall to
    /// `X_on`, because of packets held back in lanes of the set.
    fn stuck(&self) -> BTreeSet<Lane> {
        let mut stuck: BTreeSet<Lane> = self.lanes.keys().copied().collect();
        loop {
            let mut stays = BTreeMap::<Lane, u64>::new();
            for packet in self.packets.values().filter(|packet| stuck.contains(&packet.behind)) {
                *stays.entry(packet.came_by).or_default() += packet.bytes;
            }
            let lanes = stuck.len();
            let stay = |lane: &Lane| stays.get(lane).copied().unwrap_or_default();
            stuck.retain(|lane| stay(lane) > self.lanes[lane].resumes_at.0);
            if stuck.len() == lanes {
                return stuck;
            }
        }
    }

    /// Disjoint cycles of stuck lanes, without lanes in `known`.
    fn cycles(&self, known: &BTreeSet<Lane>) -> Vec<Vec<(Lane, bool)>> {
        let lanes: Vec<Lane> = self.stuck().into_iter().collect();
        let place = |lane: &Lane| lanes.binary_search(lane).ok();
        let mut edges = vec![BTreeSet::new(); lanes.len()];
        for packet in self.packets.values() {
            if let (Some(from), Some(to)) = (place(&packet.came_by), place(&packet.behind)) {
                edges[from].insert(to as u32);
            }
        }
        let edges: Vec<Vec<u32>> =
            edges.into_iter().map(|edges| edges.into_iter().collect()).collect();
        let (mut taken, mut cycles) = (known.clone(), Vec::new());
        for (start, lane) in (0..).zip(&lanes) {
            if taken.contains(lane) {
                continue;
            }
            let Some(mut cycle) = shortest_cycle(&edges, start) else { continue };
            let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
            cycle.rotate_left(lowest);
            let members: Vec<Lane> = cycle.iter().map(|&place| lanes[place as usize]).collect();
            if members.iter().any(|lane| taken.contains(lane)) {
                continue;
            }
            taken.extend(&members);
            let member = |lane| (lane, self.lanes[&lane].by_class);
            cycles.push(members.into_iter().map(member).collect());
        }
        cycles
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Looks for cycles now, and repeats this while there are flows.
    pub(in crate::engine) fn look_at_paused_flows(&mut self) {
        let settles = self.longest_settling();
        let held = self.held_flows();
        let before = self.deadlocks.flows.before.take();
        if let Some((found, before)) = &before
            && self.now >= *found + settles
        {
            let mut both = held.clone();
            both.retain_held(before);
            let confirmed = &mut self.deadlocks.flows.confirmed;
            let known = confirmed.iter().flat_map(|it| &it.lanes).map(|(lane, _)| *lane).collect();
            for lanes in both.cycles(&known) {
                let (found, now) = (found.to_nanos(), self.now.to_nanos());
                confirmed.push(FlowCycle { lanes, found, confirmed: now });
            }
        }
        self.deadlocks.flows.before = match before {
            Some((found, before)) if self.now < found + settles => Some((found, before)),
            _ => Some((self.now, held.packets)),
        };
        self.repeat(Task::PausedFlowsLook, Some(LOOK_PERIOD.max(settles)));
    }

    /// Max time from a switch's sending of a frame to its arrival, over any wire.
    pub(super) fn longest_settling(&self) -> Picos {
        let wires = self.deadlocks.between_switches.iter();
        wires.map(|&wire| self.settling_time(wire)).max().unwrap_or_default()
    }

    /// All packets held back on watched wires.
    fn held_flows(&self) -> HeldFlows {
        let mut held = HeldFlows::default();
        if !self.scenario.switch.pauses_flows() {
            return held;
        }
        for &wire in &self.deadlocks.between_switches {
            if self.deadlocks.follows(wire) {
                for class in self.scenario.switch.paused_parts().iter() {
                    self.add_held(&mut held, Lane { wire, class });
                }
            }
        }
        held
    }

    fn add_held(&self, held: &mut HeldFlows, lane: Lane) -> Option<()> {
        let (wire, priority) =
            (self.fabric_wire(lane.wire), Priority::from_bits(lane.class.into()));
        let (port, to_port) = (u32::from(wire.from_port), u32::from(wire.to_port));
        let (switch, next) = (self.sending_switch(lane.wire), self.receiving_switch(lane.wire));
        let tables = switch.tables();
        let own = Selected::held_flows(tables, switch.policy(), port, priority);
        let at = Ingress::new(next.tables(), next.policy(), to_port, priority)?;
        let by_class = self.is_stopped(lane) && at.queue.off.load() != 0;
        if !by_class && own.flows == 0 || next.has_control(wire.to_port) {
            return None;
        }
        let mut reported = BTreeSet::new();
        Selected::paused_flows(&at, &mut |name| {
            reported.insert(name);
        });
        let stopped = own.stopped.filter(|_| !reported.is_empty());
        let xon = Selected::threshold(&at).saturating_sub(at.config.xon_offset_bytes);
        let resumes_at = Bytes(xon + at.config.private_bytes);
        held.lanes.insert(lane, HoldingLane { by_class, resumes_at });

        let number = self.sender(lane.wire);
        let arrives_at = &self.scenario.fabric().switch(SwitchId(number)).ports;
        for queue in tables.settings().queues_of(priority).iter() {
            for slot in switch.queues().slots(port as usize, queue) {
                let packet = tables.descriptor(slot)?;
                let note = packet.note.load();
                let flow = Selected::held_flow(tables, switch.policy(), port, priority, note);
                let is_paused = flow.is_some_and(|name| reported.contains(&name));
                if is_paused || by_class || stopped == Some(queue) {
                    let came_by = arrives_at[packet.ingress_port.load() as usize].reverse().0;
                    let came_by = Lane { wire: came_by, class: lane.class };
                    let bytes = packet.length.load().into();
                    let place = HeldPacket { behind: lane, came_by, bytes };
                    held.packets.insert((number, slot, packet.arrival_ns.load()), place);
                }
            }
        }
        Some(())
    }

    /// At the end of the run, writes a row for each deadlock that shares no lane with a deadlock of paused classes,
    /// and returns the first.
    pub(super) fn finish_paused_flows(
        &mut self,
        of_classes: &[Lane],
    ) -> Result<Option<(Nanos, String)>, RunError> {
        if !self.scenario.switch.pauses_flows() {
            return Ok(None);
        }
        self.look_at_paused_flows();
        let mut first: Option<(Nanos, String)> = None;
        for cycle in std::mem::take(&mut self.deadlocks.flows.confirmed) {
            if cycle.lanes.iter().any(|(lane, _)| of_classes.contains(lane)) {
                continue;
            }
            let member = |&(lane, by_class): &(Lane, bool)| DeadlockMember {
                wire: &self.scenario.fabric().wire(topology::WireId(lane.wire)).name,
                priority: lane.class,
                cause: if by_class {
                    WaitCause::Class(PauseLevel::Queue)
                } else {
                    WaitCause::Flows
                },
            };
            let members: Vec<DeadlockMember<'_>> = cycle.lanes.iter().map(member).collect();
            self.recorder.add(&DeadlockRow {
                cycle: self.deadlocks.cycles,
                onset: cycle.found,
                confirmed: Some(cycle.confirmed),
                survives_refresh: true,
                end: None,
                members: &members,
            })?;
            self.deadlocks.cycles += 1;
            if first.as_ref().is_none_or(|(earliest, _)| cycle.found < *earliest) {
                let lanes: Vec<Lane> = cycle.lanes.iter().map(|(lane, _)| *lane).collect();
                first = Some((cycle.found, self.names_of(&lanes)));
            }
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(wire: u32) -> Lane {
        Lane { wire, class: 3 }
    }

    /// Lanes that resume all packets at 10 bytes, and packets: the lane by which each came, the lane that holds it
    /// back, its bytes.
    fn held(lanes: u32, packets: &[(u32, u32, u64)]) -> HeldFlows {
        let holds = HoldingLane { by_class: false, resumes_at: Bytes(10) };
        let packet = |(slot, &(came_by, behind, bytes)): (u32, &(u32, u32, u64))| {
            let place = HeldPacket { behind: lane(behind), came_by: lane(came_by), bytes };
            ((0, slot, 0), place)
        };
        HeldFlows {
            lanes: (0..lanes).map(|wire| (lane(wire), holds)).collect(),
            packets: (0..).zip(packets).map(packet).collect(),
        }
    }

    fn cycles(held: &HeldFlows) -> Vec<Vec<u32>> {
        let cycles = held.cycles(&BTreeSet::new());
        let wires = |cycle: &Vec<(Lane, bool)>| cycle.iter().map(|(lane, _)| lane.wire).collect();
        cycles.iter().map(wires).collect()
    }

    #[test]
    fn a_ring_that_holds_more_than_x_on_is_stuck() {
        let ring = |bytes| held(3, &[(0, 1, 11), (1, 2, 6), (1, 2, bytes), (2, 0, 11)]);
        assert_eq!(cycles(&ring(5)), [[0, 1, 2]]);
        assert_eq!(cycles(&ring(4)), [[0; 0]; 0], "the second falls to X_on by its other packets");
    }

    #[test]
    fn what_waits_behind_a_cycle_is_stuck_and_in_none() {
        let tail = held(3, &[(0, 1, 11), (1, 0, 11), (2, 0, 11)]);
        assert_eq!(tail.stuck().len(), 3);
        assert_eq!(cycles(&tail), [[0, 1]]);
        let chain = held(3, &[(0, 1, 99), (1, 2, 99)]);
        assert!(chain.stuck().is_empty());
    }

    #[test]
    fn a_packet_counts_if_it_was_held_back_there_before() {
        let before = held(2, &[(0, 1, 11), (1, 0, 6), (1, 0, 5)]);
        let mut same = before.clone();
        same.retain_held(&before.packets);
        assert_eq!(cycles(&same), [[0, 1]]);
        // Another packet in a slot.
        let mut other = before.clone();
        let place = other.packets.remove(&(0, 2, 0)).expect("it is there");
        other.packets.insert((0, 2, 7), place);
        assert_eq!(cycles(&other), [[0, 1]]);
        other.retain_held(&before.packets);
        assert!(cycles(&other).is_empty());
    }

    #[test]
    fn cycles_have_no_lane_in_common() {
        let eight = held(3, &[(0, 1, 11), (1, 0, 11), (1, 2, 11), (2, 1, 11)]);
        assert_eq!(cycles(&eight), [[0, 1]]);
        assert_eq!(eight.cycles(&BTreeSet::from([lane(0)])).len(), 1);
        assert!(eight.cycles(&BTreeSet::from([lane(1)])).is_empty());
    }
}
