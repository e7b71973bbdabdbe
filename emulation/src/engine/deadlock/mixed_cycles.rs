//! Cycles of queues that BFC has paused and of classes that PFC has paused beneath.
//!
//! A packet waits in a queue that its neighbour has paused by itself, or whose class it has paused, or both. A
//! pause of a queue lasts while a packet counted by its counter waits at the other end. A pause of a class lasts if
//! all bytes of its ingress queue wait there, no more frames are on their way, and other queues cannot make enough
//! room for it to resume. So a stop is stuck if the packets that would end it are held back by stuck stops. The
//! largest such set of stops never dissolves, and a cycle in it is a deadlock. Cycles of only queues and of only
//! classes have their own watches.
//!
//! Tables do not show a resume that is on its way. So a stop counts only if it was there at an earlier check, with
//! the same packet at the head of its queue, and if every frame sent before that check has arrived.

use std::collections::{BTreeMap, BTreeSet};

use fabric_core::hop_control::PauseLevel;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::QueueId;
use fabric_core::scheme::{Selected, Stays, Watched};
use fabric_core::tables::Tables;
use results::{DeadlockMember, WaitCause};
use scenario::ResumeTest;
use topology::{SwitchId, WireId, shortest_cycle};
use units::{Nanos, Picos};

use super::paused_queues::{Head, PausedQueue};
use super::{DeadlockRow, Engine, Lane, RunError};
use crate::datapath::Wires;

/// A reason why a queue does not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Queue(PausedQueue),
    Class(Lane),
}

/// A packet that is held back.
#[derive(Clone, Copy, Debug)]
struct HeldPacket {
    came_by: Lane,
    /// The neighbour's queue whose counter counts the packet, if any.
    counted: Option<QueueId>,
    bytes: u64,
    /// The stops of the packet's queue.
    behind: [Option<Stop>; 2],
}

/// Bytes of an ingress queue.
#[derive(Clone, Copy, Debug)]
struct Holding {
    switch: u32,
    held: u64,
    shared: u64,
}

/// All packets held back between switches, at one instant.
#[derive(Clone, Debug, Default)]
struct HeldBack {
    /// The stops, with the marks by which the next check recognises them.
    stops: BTreeMap<Stop, Head>,
    packets: Vec<HeldPacket>,
    /// The ingress queues of these packets.
    ingress: BTreeMap<Lane, Holding>,
}

/// A deadlock.
#[derive(Debug)]
pub struct MixedCycle {
    /// Stops in the order of waiting, from the lowest on.
    stops: Vec<Stop>,
    /// The earlier check, at which its stops were already there.
    found: Nanos,
    confirmed: Nanos,
}

/// Cycles of queues and classes known to the watch.
#[derive(Debug, Default)]
pub struct MixedCycles {
    /// The stops at an earlier check.
    before: Option<(Picos, BTreeMap<Stop, Head>)>,
    /// Deadlocks.
    pub confirmed: Vec<MixedCycle>,
}

impl HeldPacket {
    /// True if the packet's departure helps to end a stop.
    fn ends(&self, stop: Stop) -> bool {
        match stop {
            Stop::Queue(PausedQueue { wire, queue }) => {
                self.came_by.wire == wire && self.counted == Some(queue)
            }
            Stop::Class(lane) => self.came_by == lane,
        }
    }

    fn is_stuck(&self, stuck: &BTreeSet<Stop>) -> bool {
        self.behind.iter().flatten().any(|stop| stuck.contains(stop))
    }
}

impl HeldBack {
    /// The stops that never end. `may_resume` returns true if a class could resume without a departure of its
    /// packets.
    fn stuck(&self, may_resume: impl Fn(Lane, Stays) -> bool) -> BTreeSet<Stop> {
        let mut stuck: BTreeSet<Stop> = self.stops.keys().copied().collect();
        loop {
            let stays = self.that_stays(&stuck);
            let lasts = |stop: &Stop| match *stop {
                Stop::Queue(_) => {
                    self.packets.iter().any(|it| it.ends(*stop) && it.is_stuck(&stuck))
                }
                Stop::Class(lane) => self.ingress.get(&lane).is_some_and(|holding| {
                    let in_pool = stays.get(&holding.switch).copied().unwrap_or_default();
                    let stays = Stays { in_pool, ..Stays::default() };
                    self.all_stuck(lane, holding, &stuck) && !may_resume(lane, stays)
                }),
            };
            let still: BTreeSet<Stop> = stuck.iter().copied().filter(lasts).collect();
            if still.len() == stuck.len() {
                return stuck;
            }
            stuck = still;
        }
    }

    fn all_stuck(&self, lane: Lane, holding: &Holding, stuck: &BTreeSet<Stop>) -> bool {
        let of_lane = self.packets.iter().filter(|it| it.came_by == lane && it.is_stuck(stuck));
        of_lane.map(|it| it.bytes).sum::<u64>() == holding.held
    }

    /// Bytes of each switch's shared pool that are never released.
    fn that_stays(&self, stuck: &BTreeSet<Stop>) -> BTreeMap<u32, u64> {
        let mut stays = BTreeMap::new();
        for (lane, holding) in &self.ingress {
            if self.all_stuck(*lane, holding, stuck) {
                *stays.entry(holding.switch).or_default() += holding.shared;
            }
        }
        stays
    }

    /// Disjoint cycles of stuck stops, each with stops of both kinds.
    fn cycles(&self, stuck: &BTreeSet<Stop>, known: &BTreeSet<Stop>) -> Vec<Vec<Stop>> {
        let stops: Vec<Stop> = stuck.iter().copied().collect();
        let mut edges = vec![BTreeSet::new(); stops.len()];
        for packet in &self.packets {
            for (from, _) in stops.iter().enumerate().filter(|(_, stop)| packet.ends(**stop)) {
                let behind = packet.behind.iter().flatten();
                edges[from].extend(behind.filter_map(|stop| stops.binary_search(stop).ok()));
            }
        }
        let numbers = |edges: BTreeSet<usize>| edges.into_iter().map(|to| to as u32).collect();
        let edges: Vec<Vec<u32>> = edges.into_iter().map(numbers).collect();
        let (mut taken, mut cycles) = (known.clone(), Vec::new());
        for start in 0..stops.len() {
            if taken.contains(&stops[start]) {
                continue;
            }
            let Some(mut cycle) = shortest_cycle(&edges, start as u32) else { continue };
            let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
            cycle.rotate_left(lowest);
            let members: Vec<Stop> = cycle.iter().map(|&place| stops[place as usize]).collect();
            let classes = members.iter().filter(|it| matches!(it, Stop::Class(_))).count();
            if classes == 0
                || classes == members.len()
                || members.iter().any(|stop| taken.contains(stop))
            {
                continue;
            }
            taken.extend(&members);
            cycles.push(members);
        }
        cycles
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Looks for cycles now.
    pub(super) fn look_at_mixed_cycles(&mut self) {
        let settles = self.longest_settling();
        let held = self.held_back();
        let before = self.deadlocks.mixed.before.take();
        if let Some((found, before)) = &before
            && self.now >= *found + settles
            // A cycle of both kinds includes a class.
            && before.keys().any(|stop| matches!(stop, Stop::Class(_)))
        {
            let mut both = held.clone();
            both.stops.retain(|stop, head| before.get(stop) == Some(head));
            let tested = self.scenario.switch.resume_test != ResumeTest::Departure;
            let stuck =
                both.stuck(|lane, stays| tested && self.may_resume(lane, PauseLevel::Queue, stays));
            let confirmed = self.deadlocks.mixed.confirmed.iter();
            let known = confirmed.flat_map(|cycle| &cycle.stops).copied().collect();
            for stops in both.cycles(&stuck, &known) {
                let (found, confirmed) = (found.to_nanos(), self.now.to_nanos());
                self.deadlocks.mixed.confirmed.push(MixedCycle { stops, found, confirmed });
            }
        }
        self.deadlocks.mixed.before = match before {
            Some((found, before)) if self.now < found + settles => Some((found, before)),
            _ => Some((self.now, held.stops)),
        };
    }

    /// Collects all packets held back on watched wires.
    fn held_back(&self) -> HeldBack {
        let mut held = HeldBack::default();
        let queues = self.paused_queues();
        for &wire in &self.deadlocks.between_switches {
            if !self.deadlocks.follows(wire) {
                continue;
            }
            let paused = queues.range(
                PausedQueue { wire, queue: QueueId::data(0) }..PausedQueue {
                    wire: wire + 1,
                    queue: QueueId::data(0),
                },
            );
            let paused: BTreeMap<QueueId, Head> =
                paused.map(|(it, head)| (it.queue, *head)).collect();
            for class in priority::in_mask(self.scenario.switch.lossless.0) {
                self.add_held_back(&mut held, wire, class, &paused);
            }
        }
        held
    }

    /// Adds the packets of a class held back on a wire.
    fn add_held_back(
        &self,
        held: &mut HeldBack,
        wire: u32,
        class: Priority,
        paused: &BTreeMap<QueueId, Head>,
    ) {
        let lane = Lane { wire, class: class.number() };
        let by_class = self.settled_pause(lane);
        let (number, port) = (self.sender(wire), self.fabric_wire(wire).from_port);
        let switch = self.sending_switch(wire);
        let ports = &self.scenario.fabric().switch(SwitchId(number)).ports;
        for queue in switch.tables().settings().queues_of(class).queues().iter() {
            let paused_head = paused.get(&queue);
            if paused_head.is_none() && by_class.is_none() {
                continue;
            }
            let by_queue = paused_head.map(|_| Stop::Queue(PausedQueue { wire, queue }));
            let behind = [by_queue, by_class.map(|_| Stop::Class(lane))];
            for slot in switch.queues().slots(port.into(), queue) {
                let Some(packet) = switch.tables().descriptor(slot) else { continue };
                let ingress_port = packet.ingress_port.load();
                let came_by = ports[ingress_port as usize].reverse().0;
                let came_by = Lane { wire: came_by, class: packet.priority().number() };
                let ingress = switch.tables().ingress(ingress_port, packet.priority());
                held.ingress.entry(came_by).or_insert_with(|| Holding {
                    switch: number,
                    held: ingress.held_bytes(),
                    shared: ingress.shared_bytes.load(),
                });
                held.packets.push(HeldPacket {
                    came_by,
                    counted: Selected::queue_behind(switch.policy(), packet.note.load()),
                    bytes: packet.length.load().into(),
                    behind,
                });
            }
            let heads = [paused_head.copied(), by_class];
            let stops = behind.into_iter().zip(heads);
            held.stops.extend(stops.filter_map(|(stop, head)| stop.zip(head)));
        }
    }

    /// A mark of the class's pause, if its ingress queue has requested it and no more frames can arrive.
    fn settled_pause(&self, lane: Lane) -> Option<Head> {
        let port = self.fabric_wire(lane.wire).to_port.into();
        let class = Priority::from_bits(lane.class.into());
        let ingress = self.receiving_switch(lane.wire).tables().ingress(port, class);
        if ingress.off.load() == 0 || !self.is_stopped(lane) {
            return None;
        }
        Some((ingress.pauses.load(), 0))
    }

    /// At the end of the run, writes a row for each deadlock, and returns the first.
    pub(super) fn finish_mixed_cycles(&mut self) -> Result<Option<(Nanos, String)>, RunError> {
        let mut first: Option<(Nanos, String)> = None;
        let fabric = self.scenario.fabric();
        for cycle in std::mem::take(&mut self.deadlocks.mixed.confirmed) {
            let wire = |stop: &Stop| match *stop {
                Stop::Queue(PausedQueue { wire, .. }) | Stop::Class(Lane { wire, .. }) => {
                    fabric.wire(WireId(wire)).name.as_str()
                }
            };
            let member = |stop: &Stop| DeadlockMember {
                wire: wire(stop),
                priority: match *stop {
                    Stop::Queue(PausedQueue { queue, .. }) => self.priority_of(queue),
                    Stop::Class(lane) => lane.class,
                },
                cause: match *stop {
                    Stop::Queue(PausedQueue { queue, .. }) => WaitCause::FlowQueue(queue.number()),
                    Stop::Class(_) => WaitCause::Class(PauseLevel::Queue),
                },
            };
            let members: Vec<DeadlockMember<'_>> = cycle.stops.iter().map(member).collect();
            self.recorder.add(&DeadlockRow {
                cycle: self.deadlocks.cycles,
                onset: cycle.found,
                confirmed: Some(cycle.confirmed),
                survives_refresh: self.scenario.switch.resume_test != ResumeTest::Departure,
                end: None,
                members: &members,
            })?;
            self.deadlocks.cycles += 1;
            if first.as_ref().is_none_or(|(earliest, _)| cycle.found < *earliest) {
                let names: Vec<&str> = cycle.stops.iter().map(wire).collect();
                first = Some((cycle.found, names.join(" ")));
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

    fn class(wire: u32) -> Stop {
        Stop::Class(lane(wire))
    }

    fn queue(wire: u32) -> Stop {
        Stop::Queue(PausedQueue { wire, queue: QueueId::data(0) })
    }

    /// Stops, and packets of 10 bytes: the wire that each came by, whether a counter counts it, and what it is behind.
    /// Ingress queues hold these packets, and `beside` bytes.
    fn held(stops: &[Stop], packets: &[(u32, bool, Stop)], beside: u64) -> HeldBack {
        let packet = |&(wire, counted, behind): &(u32, bool, Stop)| HeldPacket {
            came_by: lane(wire),
            counted: counted.then_some(QueueId::data(0)),
            bytes: 10,
            behind: [Some(behind), None],
        };
        let packets: Vec<HeldPacket> = packets.iter().map(packet).collect();
        let mut ingress = BTreeMap::new();
        for it in &packets {
            let empty = Holding { switch: it.came_by.wire, held: beside, shared: beside };
            let holding = ingress.entry(it.came_by).or_insert(empty);
            holding.held += it.bytes;
            holding.shared += it.bytes;
        }
        HeldBack { stops: stops.iter().map(|stop| (*stop, (0, 0))).collect(), packets, ingress }
    }

    fn cycles(held: &HeldBack) -> Vec<Vec<Stop>> {
        held.cycles(&held.stuck(|_, _| false), &BTreeSet::new())
    }

    #[test]
    fn a_cycle_of_both_kinds_is_stuck() {
        let ring = [(0, true, class(1)), (1, false, queue(0))];
        let both = held(&[queue(0), class(1)], &ring, 0);
        assert_eq!(cycles(&both), [[queue(0), class(1)]]);
        assert!(both.stuck(|_, _| true).is_empty(), "the class could resume by itself");
        let known = BTreeSet::from([class(1)]);
        assert!(both.cycles(&both.stuck(|_, _| false), &known).is_empty());
    }

    #[test]
    fn a_class_that_holds_packets_which_may_leave_is_not_stuck() {
        let ring = [(0, true, class(1)), (1, false, queue(0))];
        assert!(cycles(&held(&[queue(0), class(1)], &ring, 1)).is_empty());
    }

    #[test]
    fn a_queue_waits_for_packets_that_count() {
        let ring = [(0, false, class(1)), (1, false, queue(0))];
        assert!(cycles(&held(&[queue(0), class(1)], &ring, 0)).is_empty());
        let one_of_two = [(0, false, class(1)), (0, true, class(1)), (1, false, queue(0))];
        assert_eq!(cycles(&held(&[queue(0), class(1)], &one_of_two, 0)).len(), 1);
    }

    #[test]
    fn cycles_of_one_kind_are_of_other_watches() {
        let of_classes = [(0, false, class(1)), (1, false, class(0))];
        assert!(cycles(&held(&[class(0), class(1)], &of_classes, 0)).is_empty());
        let of_queues = [(0, true, queue(1)), (1, true, queue(0))];
        assert!(cycles(&held(&[queue(0), queue(1)], &of_queues, 0)).is_empty());
    }
}
