//! Cycles of queues that BFC has paused one by one.
//!
//! Such a queue resumes when its pause counter at the other end is zero, that is, when every packet counted by it
//! has left. So it waits for each paused queue there that holds one of these packets, and a cycle of waiting is a
//! deadlock, unless a resume is on its way. Tables do not show such a resume. So a cycle counts only if it is found
//! twice, with the same packets at the heads of its queues, and with enough time in between for every resume to
//! arrive.
//!
//! The watch finds deadlocks only, not cycles that may dissolve.

use std::collections::BTreeMap;

use fabric_core::priority;
use fabric_core::queue::QueueId;
use fabric_core::scheme::{Selected, Watched};
use fabric_core::tables::Tables;
use results::{DeadlockMember, WaitCause};
use topology::{SwitchId, WireId, shortest_cycle};
use units::{Nanos, Picos};

use super::{DeadlockRow, Engine, LOOK_PERIOD, RunError, Task};
use crate::datapath::Wires;

/// An egress queue between switches that is paused and holds packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PausedQueue {
    /// Wire on which it sends.
    pub wire: u32,
    pub queue: QueueId,
}

/// The first packet of a queue: its slot, and its arrival.
pub(super) type Head = (u32, u64);

/// A cycle of waiting.
#[derive(Debug)]
pub struct QueueCycle {
    /// Queues in the order of waiting, from the lowest on.
    queues: Vec<PausedQueue>,
    heads: Vec<Head>,
    /// The check that found it first.
    found: Picos,
}

/// Cycles of paused queues known to the watch.
#[derive(Debug, Default)]
pub struct QueueCycles {
    /// Cycles found once.
    candidates: Vec<QueueCycle>,
    /// Deadlocks, with the instants of their confirmation.
    pub confirmed: Vec<(QueueCycle, Nanos)>,
}

impl<W: Wires> Engine<'_, W> {
    /// Looks for cycles now, and repeats this while there are flows.
    pub(in crate::engine) fn look_at_paused_queues(&mut self) {
        let found = self.cycles_of_paused_queues();
        let earlier = std::mem::take(&mut self.deadlocks.queues.candidates);
        for mut cycle in found {
            let same =
                |other: &&QueueCycle| other.queues == cycle.queues && other.heads == cycle.heads;
            if let Some(earlier) = earlier.iter().find(same) {
                cycle.found = earlier.found;
            }
            let wires = cycle.queues.iter().map(|it| self.settling_time(it.wire));
            let settled = wires.max().is_some_and(|time| self.now >= cycle.found + time);
            if settled {
                self.deadlocks.queues.confirmed.push((cycle, self.now.to_nanos()));
            } else {
                self.deadlocks.queues.candidates.push(cycle);
            }
        }
        self.look_at_mixed_cycles();
        self.repeat(Task::PausedQueuesLook, Some(LOOK_PERIOD));
    }

    /// Cycles of queues, without queues in known deadlocks.
    fn cycles_of_paused_queues(&self) -> Vec<QueueCycle> {
        let heads_of = self.paused_queues();
        let nodes: Vec<PausedQueue> = heads_of.keys().copied().collect();
        let mut edges = vec![Vec::new(); nodes.len()];
        for (place, queue) in (0..).zip(&nodes) {
            for waiting in self.waiting_for(*queue) {
                if let Ok(from) = nodes.binary_search(&waiting) {
                    edges[from].push(place);
                }
            }
        }
        for edges in &mut edges {
            edges.dedup();
        }
        let confirmed = self.deadlocks.queues.confirmed.iter().flat_map(|(it, _)| &it.queues);
        let mut taken: Vec<PausedQueue> = confirmed.copied().collect();
        let mut cycles = Vec::new();
        for (place, queue) in (0..).zip(&nodes) {
            if taken.contains(queue) {
                continue;
            }
            let Some(mut cycle) = shortest_cycle(&edges, place) else { continue };
            let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
            cycle.rotate_left(lowest);
            let queues: Vec<_> = cycle.iter().map(|&place| nodes[place as usize]).collect();
            let heads = queues.iter().map(|queue| heads_of[queue]).collect();
            taken.extend(&queues);
            cycles.push(QueueCycle { queues, heads, found: self.now });
        }
        cycles
    }

    /// All paused queues on watched wires, with their heads.
    pub(super) fn paused_queues(&self) -> BTreeMap<PausedQueue, Head> {
        let mut paused = BTreeMap::new();
        for &wire in &self.deadlocks.between_switches {
            if !self.deadlocks.follows(wire) {
                continue;
            }
            let port = self.fabric_wire(wire).from_port;
            let switch = self.sending_switch(wire);
            for queue in switch.paused_queues(port, self.now).iter() {
                if let Some(slot) = switch.queues().slots(port.into(), queue).next() {
                    let packet = switch.tables().descriptor(slot);
                    let arrival = packet.map_or(0, |packet| packet.arrival_ns.load());
                    paused.insert(PausedQueue { wire, queue }, (slot, arrival));
                }
            }
        }
        paused
    }

    /// The queues of neighbours whose counters count packets in a paused queue.
    fn waiting_for(&self, PausedQueue { wire, queue }: PausedQueue) -> Vec<PausedQueue> {
        let switch = self.sending_switch(wire);
        let ports = &self.scenario.fabric().switch(SwitchId(self.sender(wire))).ports;
        let slots = switch.queues().slots(self.fabric_wire(wire).from_port.into(), queue);
        let waiting = slots.filter_map(|slot| {
            let packet = switch.tables().descriptor(slot)?;
            let queue = Selected::queue_behind(switch.policy(), packet.note.load())?;
            let wire = ports[packet.ingress_port.load() as usize].reverse().0;
            Some(PausedQueue { wire, queue })
        });
        waiting.collect()
    }

    /// At the end of the run, writes a row for each deadlock, and returns the first.
    pub(super) fn finish_paused_queues(&mut self) -> Result<Option<(Nanos, String)>, RunError> {
        if !self.scenario.switch.pauses_queues() {
            return Ok(None);
        }
        self.look_at_paused_queues();
        let confirmed = std::mem::take(&mut self.deadlocks.queues.confirmed);
        let fabric = self.scenario.fabric();
        let mut first: Option<(Nanos, String)> = None;
        for (cycle, at) in &confirmed {
            let wire = |queue: &PausedQueue| fabric.wire(WireId(queue.wire)).name.as_str();
            let member = |queue: &PausedQueue| DeadlockMember {
                wire: wire(queue),
                priority: self.priority_of(queue.queue),
                cause: WaitCause::FlowQueue(queue.queue.number()),
            };
            let members: Vec<DeadlockMember<'_>> = cycle.queues.iter().map(member).collect();
            let onset = cycle.found.to_nanos();
            self.recorder.add(&DeadlockRow {
                cycle: self.deadlocks.cycles,
                onset,
                confirmed: Some(*at),
                survives_refresh: true,
                end: None,
                members: &members,
            })?;
            self.deadlocks.cycles += 1;
            if first.as_ref().is_none_or(|(earliest, _)| onset < *earliest) {
                let names: Vec<&str> = cycle.queues.iter().map(wire).collect();
                first = Some((onset, names.join(" ")));
            }
        }
        Ok(first)
    }

    /// The priority that has a queue.
    pub(super) fn priority_of(&self, queue: QueueId) -> u8 {
        let paused = self.scenario.switch.paused_parts().0;
        let queues = crate::switch_settings::queues(self.scenario);
        let own = |class: &priority::Priority| queues[class.index()].queues().contains(queue);
        priority::in_mask(paused).find(own).map_or(0, priority::Priority::number)
    }
}
