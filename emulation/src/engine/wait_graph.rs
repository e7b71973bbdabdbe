//! The graph of waiting among paused queues, at one instant.
//!
//! A node is a paused [`Lane`]. Its egress queue waits until the ingress queue at its other end resumes; under DSH
//! also until the port of that ingress queue resumes. An ingress queue waits for the paused egress queues of its
//! switch that hold its packets. A port waits for paused egress queues that hold packets of any of its lossless
//! classes. So an edge leads from a paused lane to each paused lane that holds packets for whose departure it
//! waits.
//!
//! A queue that is OFF turns ON when one of its packets departs (`fabric_core::scheme`), a port when a packet of
//! any of its lossless classes departs. A port, and a queue if the switch tests it then, may also turn ON when its
//! pause is renewed: by then the switch's other ports may have drained, so that the threshold is higher and the
//! occupancy at or below X_on. So the caller of [`stuck`](WaitGraph::stuck) says if a queue or port could resume
//! without a departure of its packets if only stuck bytes were left in the shared pool.
//!
//! Under G-PFC a queue that is OFF turns ON by the bytes of all lossless queues of its port, so it waits for
//! packets of all of them.

use std::collections::BTreeMap;

use fabric_core::hop_control::PauseLevel;
use fabric_core::scheme::Stays;
use units::{Bytes, Nanos};

use topology::shortest_cycle;

/// One class on one wire: the egress queue that sends it, and the ingress queue at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    /// The wire.
    pub wire: u32,
    /// The class.
    pub class: u8,
}

/// A lane whose class is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedLane {
    /// The lane.
    pub lane: Lane,
    /// Reception of the PAUSE that still stops it.
    pub since: Nanos,
    /// True if no more frames can arrive over it before it resumes.
    pub settled: bool,
    /// True if its ingress queue is OFF, false if only the queue's port is.
    pub queue_off: bool,
}

/// A port that is OFF (DSH, Section IV-E).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffPort {
    /// Start of the sender's pause by the port.
    pub since: Nanos,
    /// True if no more frames of any lossless class can arrive before one of them resumes.
    pub settled: bool,
    /// Bytes of all its lossless ingress queues.
    pub held: Bytes,
}

/// Occupancy of a lossless ingress queue that has packets in paused egress queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldQueue {
    /// Its switch.
    pub switch: u32,
    /// All bytes of the queue.
    pub held: Bytes,
    /// Bytes that count as shared buffer.
    pub shared: Bytes,
    /// Bytes in paused egress queues.
    pub waiting: Vec<Waiting>,
}

/// Packets of one ingress queue in one paused egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Position of the egress queue in the graph.
    pub behind: u32,
    /// Bytes of these packets.
    pub bytes: Bytes,
    /// Arrival of the first of these packets.
    pub since: Nanos,
}

/// All paused lanes between switches, and the packets behind them.
#[derive(Clone, Debug, Default)]
pub struct WaitGraph {
    /// Paused lanes, ascending.
    pub paused: Vec<PausedLane>,
    /// Ports that are OFF, by the wire that leads to them.
    pub ports: BTreeMap<u32, OffPort>,
    /// Ingress queues that have packets in paused egress queues, by the lane that leads to them.
    pub ingress: BTreeMap<Lane, HeldQueue>,
    /// True if thresholds apply to all queues of a port together (G-PFC).
    pub counts_by_port: bool,
}

impl WaitGraph {
    /// Position of a lane, if it is paused.
    pub fn place(&self, lane: Lane) -> Option<u32> {
        self.paused.binary_search_by_key(&lane, |paused| paused.lane).ok().map(|place| place as u32)
    }

    /// The lane at a position.
    pub fn lane(&self, place: u32) -> Lane {
        self.paused[place as usize].lane
    }

    /// Level at which each member of a cycle waits for the next: the queue level if its ingress queue is OFF and
    /// has packets there, otherwise the port level.
    pub fn levels(&self, cycle: &[u32]) -> Vec<PauseLevel> {
        let next = cycle.iter().cycle().skip(1);
        let level = |(&place, &next)| {
            let paused = &self.paused[place as usize];
            let own = self.ingress.get(&paused.lane).filter(|_| paused.queue_off);
            let in_next = |queue: &HeldQueue| queue.waiting.iter().any(|it| it.behind == next);
            if own.is_some_and(in_next) { PauseLevel::Queue } else { PauseLevel::Port }
        };
        cycle.iter().zip(next).map(level).collect()
    }

    /// A shortest cycle through a lane, as positions, from the lowest lane on.
    pub fn cycle_through(&self, lane: Lane) -> Option<Vec<u32>> {
        let edges: Vec<Vec<u32>> = self
            .paused
            .iter()
            .map(|paused| self.edges(paused).map(|(_, behind)| behind).collect())
            .collect();
        let mut cycle = shortest_cycle(&edges, self.place(lane)?)?;
        let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at])?;
        cycle.rotate_left(lowest);
        Some(cycle)
    }

    /// True if each of these lanes waits for the next one, and the last for the first.
    pub fn is_cycle(&self, lanes: &[Lane]) -> bool {
        let next = lanes.iter().cycle().skip(1);
        lanes.iter().zip(next).all(|(&lane, &next)| {
            let (Some(place), Some(next)) = (self.place(lane), self.place(next)) else {
                return false;
            };
            self.edges(&self.paused[place as usize]).any(|(_, behind)| behind == next)
        })
    }

    /// Instant at which the last edge of a cycle arose: the latest of its pauses and of the arrivals of the packets
    /// that make each member wait for the next one.
    pub fn onset(&self, cycle: &[u32]) -> Nanos {
        let next = cycle.iter().cycle().skip(1);
        cycle
            .iter()
            .zip(next)
            .map(|(&place, &next)| {
                let paused = &self.paused[place as usize];
                let edges = self.edges(paused).filter(|(_, behind)| *behind == next);
                let edge = edges.map(|(since, _)| since).min();
                paused.since.max(edge.unwrap_or_default())
            })
            .max()
            .unwrap_or_default()
    }

    /// The lanes that can never resume: the largest set of lanes, each paused by a queue or port that gets no more
    /// packets and whose packets all wait behind lanes of the set. So no packet of these queues and ports departs.
    ///
    /// `may_resume` returns true if the queue of a lane, or its port, could turn ON without a departure of its
    /// packets if only these bytes of other queues were left.
    pub fn stuck(&self, may_resume: impl Fn(Lane, PauseLevel, Stays) -> bool) -> Vec<bool> {
        let mut stuck = vec![true; self.paused.len()];
        loop {
            let mut is_largest = true;
            for (place, paused) in self.paused.iter().enumerate() {
                if stuck[place]
                    && !self.queue_is_stuck(paused, &stuck, &may_resume)
                    && !self.port_is_stuck(paused.lane, &stuck, &may_resume)
                {
                    stuck[place] = false;
                    is_largest = false;
                }
            }
            if is_largest {
                return stuck;
            }
        }
    }

    fn queue_is_stuck(
        &self,
        paused: &PausedLane,
        stuck: &[bool],
        may_resume: &impl Fn(Lane, PauseLevel, Stays) -> bool,
    ) -> bool {
        let lane = paused.lane;
        let Some(queue) = self.ingress.get(&lane) else { return false };
        let stays = || {
            let beside = self.at_port(lane.wire).filter(|(of, _)| **of != lane);
            let beside = beside.map(|(_, queue)| queue.stuck_shared_bytes(stuck)).sum();
            Stays { in_pool: self.shared_that_stays(queue.switch, stuck).0, beside }
        };
        paused.queue_off
            && paused.settled
            && queue.stuck_bytes(stuck) == queue.held.0
            && !may_resume(lane, PauseLevel::Queue, stays())
    }

    fn port_is_stuck(
        &self,
        lane: Lane,
        stuck: &[bool],
        may_resume: &impl Fn(Lane, PauseLevel, Stays) -> bool,
    ) -> bool {
        let wire = lane.wire;
        let Some(port) = self.ports.get(&wire).filter(|port| port.settled) else { return false };
        let Some((_, first)) = self.at_port(wire).next() else { return false };
        let held: u64 = self.at_port(wire).map(|(_, queue)| queue.stuck_bytes(stuck)).sum();
        let stays = || {
            let in_pool = self.shared_that_stays(first.switch, stuck).0;
            Stays { in_pool, ..Stays::default() }
        };
        held == port.held.0 && !may_resume(lane, PauseLevel::Port, stays())
    }

    /// Bytes of a switch's shared pool that are never released: bytes of ingress queues from which no packet
    /// departs. All other bytes may leave.
    fn shared_that_stays(&self, switch: u32, stuck: &[bool]) -> Bytes {
        let queues = self.ingress.values().filter(|queue| queue.switch == switch);
        let stay = queues.filter(|queue| queue.stuck_bytes(stuck) == queue.held.0);
        Bytes(stay.map(|queue| queue.shared.0).sum())
    }

    /// The ingress queues of the port that a wire leads to.
    fn at_port(&self, wire: u32) -> impl Iterator<Item = (&Lane, &HeldQueue)> {
        self.ingress.range(Lane { wire, class: 0 }..=Lane { wire, class: u8::MAX })
    }

    /// Edges of a paused lane: the instant since which it waits, and the position of an egress queue.
    fn edges(&self, paused: &PausedLane) -> impl Iterator<Item = (Nanos, u32)> {
        let lane = paused.lane;
        let port = self.ports.get(&lane.wire);
        self.at_port(lane.wire).flat_map(move |(of, queue)| {
            let by_queue = paused.queue_off && (*of == lane || self.counts_by_port);
            let since = if by_queue { Some(Nanos(0)) } else { port.map(|port| port.since) };
            let waiting = since.map(|since| (since, queue.waiting.iter()));
            waiting.into_iter().flat_map(|(since, waiting)| {
                waiting.map(move |waiting| (waiting.since.max(since), waiting.behind))
            })
        })
    }
}

impl HeldQueue {
    fn stuck_bytes(&self, stuck: &[bool]) -> u64 {
        let waiting = self.waiting.iter().filter(|waiting| stuck[waiting.behind as usize]);
        waiting.map(|waiting| waiting.bytes.0).sum()
    }

    /// Min bytes of the stuck packets that are in the shared pool.
    fn stuck_shared_bytes(&self, stuck: &[bool]) -> u64 {
        let elsewhere = self.held.0 - self.shared.0;
        self.stuck_bytes(stuck).saturating_sub(elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: u8 = 3;

    /// Bytes of an ingress queue that do not wait, and (place, bytes) of those that do.
    type Held<'a> = (u64, &'a [(u32, u64)]);

    fn lane(wire: u32) -> Lane {
        Lane { wire, class: CLASS }
    }

    fn ingress(switch: u32, (other, waiting): Held<'_>) -> HeldQueue {
        let held = Bytes(other + waiting.iter().map(|(_, bytes)| bytes).sum::<u64>());
        let waiting = waiting
            .iter()
            .map(|&(behind, bytes)| Waiting { behind, bytes: Bytes(bytes), since: Nanos(bytes) })
            .collect();
        HeldQueue { switch, held, shared: held, waiting }
    }

    /// Wires 10, 11, .., each to the switch with this number, one class, queues OFF.
    fn graph(nodes: &[Held<'_>]) -> WaitGraph {
        let mut graph = WaitGraph::default();
        for (place, &held) in (0..).zip(nodes) {
            let since = Nanos(100 + u64::from(place));
            let lane = lane(10 + place);
            graph.paused.push(PausedLane { lane, since, settled: true, queue_off: true });
            if !held.1.is_empty() {
                graph.ingress.insert(lane, ingress(lane.wire, held));
            }
        }
        graph
    }

    /// Wires 10 and 11, two classes each, paused by their ports alone. Port 10 holds packets of class 5
    /// behind wire 11, port 11 packets of class 3 behind wire 10.
    fn ports() -> WaitGraph {
        let mut graph = WaitGraph::default();
        for wire in [10, 11] {
            for class in [3, 5] {
                let lane = Lane { wire, class };
                let since = Nanos(100);
                graph.paused.push(PausedLane { lane, since, settled: true, queue_off: false });
            }
            let port = OffPort { since: Nanos(200), settled: true, held: Bytes(40) };
            graph.ports.insert(wire, port);
        }
        let lanes = [(10, 5), (11, 3)].map(|(wire, class)| Lane { wire, class });
        graph.ingress.insert(lanes[0], ingress(10, (0, &[(3, 40)])));
        graph.ingress.insert(lanes[1], ingress(11, (0, &[(0, 40)])));
        graph
    }

    /// Only departures resume queues.
    fn never(_: Lane, _: PauseLevel, _: Stays) -> bool {
        false
    }

    #[test]
    fn a_ring_is_a_cycle_through_each_of_its_members() {
        let ring = graph(&[(0, &[(1, 5)]), (0, &[(2, 5)]), (0, &[(0, 5)])]);
        for wire in 10..13 {
            assert_eq!(ring.cycle_through(lane(wire)), Some(vec![0, 1, 2]));
        }
        assert_eq!(ring.cycle_through(lane(13)), None);
        assert_eq!(ring.cycle_through(Lane { wire: 10, class: 5 }), None);
        assert_eq!(ring.stuck(never), [true; 3]);
        assert!(ring.is_cycle(&[lane(11), lane(12), lane(10)]));
        assert!(!ring.is_cycle(&[lane(11), lane(10), lane(12)]));
        assert!(!ring.is_cycle(&[lane(10), lane(11), lane(13)]));
    }

    #[test]
    fn a_chain_is_none() {
        let chain = graph(&[(0, &[(1, 5)]), (0, &[(2, 5)]), (5, &[])]);
        assert!((10..13).all(|wire| chain.cycle_through(lane(wire)).is_none()));
        assert_eq!(chain.stuck(never), [false; 3]);
    }

    #[test]
    fn a_cycle_closes_with_its_last_pause_or_its_first_waiting_packet() {
        let by_pause = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        assert_eq!(by_pause.onset(&[0, 1]), Nanos(101));
        let by_packet = graph(&[(0, &[(1, 700)]), (0, &[(0, 5)])]);
        assert_eq!(by_packet.onset(&[0, 1]), Nanos(700));
        // The other edge from place 0 does not belong to this cycle.
        let beside = graph(&[(0, &[(1, 5), (2, 900)]), (0, &[(0, 5)]), (0, &[])]);
        assert_eq!(beside.onset(&[0, 1]), Nanos(101));
    }

    #[test]
    fn packets_that_can_leave_may_dissolve_a_cycle() {
        // Place 1 also holds a byte for a port that is free: it may resume, and with it all the others.
        let ring = graph(&[(0, &[(1, 5)]), (1, &[(2, 5)]), (0, &[(0, 5)])]);
        assert_eq!(ring.cycle_through(lane(10)), Some(vec![0, 1, 2]));
        assert_eq!(ring.stuck(never), [false; 3]);
    }

    #[test]
    fn what_waits_for_a_deadlock_is_stuck_with_it() {
        let tail = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)]), (0, &[(0, 5)]), (7, &[(0, 5)])]);
        assert_eq!(tail.cycle_through(lane(12)), None);
        assert_eq!(tail.stuck(never), [true, true, true, false]);
    }

    #[test]
    fn packets_on_their_way_may_still_dissolve_a_cycle() {
        let mut ring = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        ring.paused[1].settled = false;
        assert_eq!(ring.stuck(never), [false; 2]);
    }

    #[test]
    fn a_queue_that_waits_behind_two_is_stuck_only_with_both() {
        let both = graph(&[(0, &[(1, 5), (2, 5)]), (0, &[(0, 5)]), (0, &[(0, 5)])]);
        assert_eq!(both.cycle_through(lane(12)), Some(vec![0, 2]));
        assert_eq!(both.stuck(never), [true; 3]);
        let one = graph(&[(0, &[(1, 5), (2, 5)]), (0, &[(0, 5)]), (1, &[(0, 5)])]);
        assert_eq!(one.stuck(never), [false; 3]);
    }

    /// Class 3 of wire 10 has no packet at the other end, but waits for the port, that is for class 5.
    #[test]
    fn a_port_waits_for_packets_of_all_its_classes() {
        let mut ports = ports();
        let cycle = [(10, 3), (11, 5)].map(|(wire, class)| Lane { wire, class });
        for lane in cycle {
            assert_eq!(ports.cycle_through(lane), Some(vec![0, 3]));
        }
        for (wire, class) in [(10, 5), (11, 3)] {
            assert_eq!(ports.cycle_through(Lane { wire, class }), None, "nobody waits for it");
        }
        assert_eq!(ports.onset(&[0, 3]), Nanos(200), "the ports' pauses");
        assert!(ports.is_cycle(&cycle));
        assert_eq!(ports.levels(&[0, 3]), [PauseLevel::Port; 2]);

        ports.ports.remove(&11);
        ports.paused.iter_mut().for_each(|paused| paused.queue_off = true);
        assert!(!ports.is_cycle(&cycle), "queues wait for their own packets");
    }

    #[test]
    fn a_port_is_stuck_with_all_its_classes() {
        assert_eq!(ports().stuck(never), [true; 4]);

        let mut drains = ports();
        drains.ports.get_mut(&10).unwrap().held = Bytes(41);
        assert_eq!(drains.stuck(never), [false; 4], "a byte of some class can leave");

        let mut arrives = ports();
        arrives.ports.get_mut(&11).unwrap().settled = false;
        assert_eq!(arrives.stuck(never), [false; 4]);
    }

    #[test]
    fn a_stuck_queue_outlasts_its_port() {
        let mut ring = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        for wire in [10, 11] {
            let port = OffPort { since: Nanos(0), settled: true, held: Bytes(5) };
            ring.ports.insert(wire, port);
        }
        let ports_may = |_, level, _| level == PauseLevel::Port;
        assert_eq!(ring.stuck(ports_may), [true; 2]);
        assert_eq!(ring.levels(&[0, 1]), [PauseLevel::Queue; 2]);
        ring.paused[0].queue_off = false;
        assert_eq!(ring.stuck(ports_may), [false; 2]);
        assert_eq!(ring.levels(&[0, 1]), [PauseLevel::Port, PauseLevel::Queue]);
    }

    /// A port can resume without departures of its packets if others make room; stuck bytes make none.
    #[test]
    fn a_port_may_resume_by_room_that_others_make() {
        const HOST: Lane = Lane { wire: 7, class: 5 };
        let at_least = |bytes: u64| {
            move |lane: Lane, _, stays: Stays| lane.wire == 10 && stays.in_pool < bytes
        };
        assert_eq!(ports().stuck(at_least(40)), [true; 4], "its own 40 stay");
        assert_eq!(ports().stuck(at_least(41)), [false; 4]);

        // A host's packets: all 30 bytes wait behind wire 11, or another byte for a port that is free.
        let host = |other| {
            let mut graph = ports();
            graph.ingress.insert(HOST, ingress(10, (other, &[(3, 30)])));
            graph
        };
        assert_eq!(host(0).stuck(at_least(70)), [true; 4]);
        assert_eq!(host(1).stuck(at_least(70)), [false; 4]);
        let mut elsewhere = host(0);
        elsewhere.ingress.get_mut(&HOST).unwrap().switch = 99;
        assert_eq!(elsewhere.stuck(at_least(70)), [false; 4]);
    }

    /// Port 10 has 5 bytes of class 3 behind class 5 of wire 11; port 11 has 40 of class 5 and 2 of class 3 behind
    /// wire 10.
    #[test]
    fn a_queue_may_wait_for_what_others_of_its_port_hold() {
        let mut ring = graph(&[(0, &[(2, 5)]), (0, &[(0, 40)])]);
        ring.paused[1].lane.class = 5;
        let of_11 = ring.ingress.remove(&lane(11)).expect("it is there");
        ring.ingress.insert(Lane { wire: 11, class: 5 }, of_11);
        let class_3 = PausedLane { lane: lane(11), ..ring.paused[1].clone() };
        ring.paused.insert(1, class_3);
        ring.ingress.insert(lane(11), ingress(11, (0, &[(0, 2)])));
        assert_eq!(ring.cycle_through(lane(10)), Some(vec![0, 2]));
        let cycle = [lane(10), lane(11)];
        assert!(!ring.is_cycle(&cycle), "nothing at port 10 waits behind class 3 of wire 11");
        assert_eq!(ring.stuck(never), [true; 3]);
        // Class 3 at port 11 holds 2 bytes, and resumes unless what stays beside them are 40.
        let below =
            |bytes: u64| move |it: Lane, _, stays: Stays| it == lane(11) && stays.beside < bytes;
        assert_eq!(ring.stuck(below(40)), [true; 3]);
        assert_eq!(ring.stuck(below(41)), [true, false, true], "its own bytes hold up nobody");

        ring.ingress.insert(Lane { wire: 10, class: 5 }, ingress(10, (0, &[(1, 7)])));
        assert!(!ring.is_cycle(&cycle), "class 3 of wire 10 waits for its own packets");
        ring.counts_by_port = true;
        assert!(ring.is_cycle(&cycle), "or for all of the port");
    }

    /// Both queues hold 5 bytes, and 7 others are stuck behind them at the first one's switch.
    #[test]
    fn a_queue_may_resume_by_room_that_others_make() {
        let below = |bytes: u64| {
            move |lane: Lane, level, stays: Stays| {
                assert_eq!(level, PauseLevel::Queue);
                lane.wire == 10 && stays.in_pool < bytes
            }
        };
        let ring = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        assert_eq!(ring.stuck(below(5)), [true; 2], "its own 5 stay");
        assert_eq!(ring.stuck(below(6)), [false; 2]);
        let mut tail = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        tail.ingress.insert(lane(7), ingress(10, (0, &[(1, 7)])));
        assert_eq!(tail.stuck(below(12)), [true; 2]);
        assert_eq!(tail.stuck(below(13)), [false; 2]);
    }
}
