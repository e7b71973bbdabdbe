//! Who waits for whom among the paused queues of one class, at one instant.
//!
//! A node is a wire whose class is paused. Its sender's egress queue waits until the ingress queue at its
//! other end resumes; that one waits for the paused egress queues of its switch in which packets lie that
//! came in by this wire. So an edge leads from a paused wire to each paused wire that keeps its packets.

use fabric_core::units::{Bytes, Nanos};

use crate::topology::shortest_cycle;

/// A wire whose class is paused, and what the ingress queue at its end holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedWire {
    /// The wire.
    pub wire: u32,
    /// When the PAUSE was received that stops it still.
    pub since: Nanos,
    /// Whether the ingress queue at its end is OFF itself, and not just under DSH its port, which may
    /// resume by departures of other classes and from other ports.
    pub by_queue: bool,
    /// Whether nothing more of the class can arrive over it before it resumes.
    pub settled: bool,
    /// All that the ingress queue at its end holds.
    pub held: Bytes,
    /// The part of it that lies in paused egress queues.
    pub waiting: Vec<Waiting>,
}

/// Packets of one ingress queue in one paused egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Place in the graph of the wire that the egress queue sends on.
    pub behind: u32,
    /// Their bytes.
    pub bytes: Bytes,
    /// When the first of them came in.
    pub since: Nanos,
}

/// The paused wires of one class, ascending by number.
#[derive(Clone, Debug, Default)]
pub struct WaitGraph(pub Vec<PausedWire>);

impl WaitGraph {
    /// The place of a wire, if it is paused.
    pub fn place(&self, wire: u32) -> Option<usize> {
        self.0.binary_search_by_key(&wire, |node| node.wire).ok()
    }

    /// A shortest cycle through a wire as places, from the one with the lowest number on.
    pub fn cycle_through(&self, wire: u32) -> Option<Vec<u32>> {
        let edges: Vec<Vec<u32>> = self
            .0
            .iter()
            .map(|node| node.waiting.iter().map(|waiting| waiting.behind).collect())
            .collect();
        let mut cycle = shortest_cycle(&edges, self.place(wire)? as u32)?;
        let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at])?;
        cycle.rotate_left(lowest);
        Some(cycle)
    }

    /// When the last edge of a cycle came to be: the latest of its pauses, and of the packets by which
    /// each member waits for the next.
    pub fn onset(&self, cycle: &[u32]) -> Nanos {
        let next = cycle.iter().cycle().skip(1);
        cycle
            .iter()
            .zip(next)
            .map(|(&place, &next)| {
                let node = &self.0[place as usize];
                let edge = node.waiting.iter().find(|waiting| waiting.behind == next);
                node.since.max(edge.map_or(Nanos(0), |waiting| waiting.since))
            })
            .max()
            .unwrap_or_default()
    }

    /// Which wires can never resume: the largest set whose ingress queues are OFF, get nothing more and hold
    /// nothing but packets behind wires of the set. None of them will see a packet depart, and without
    /// a departure no queue resumes, whatever thresholds do.
    pub fn stuck(&self) -> Vec<bool> {
        let mut stuck: Vec<bool> =
            self.0.iter().map(|node| node.by_queue && node.settled).collect();
        loop {
            let free = self.0.iter().zip(&stuck).position(|(node, &is_stuck)| {
                let behind_stuck = node.waiting.iter().filter(|it| stuck[it.behind as usize]);
                is_stuck && behind_stuck.map(|it| it.bytes.0).sum::<u64>() < node.held.0.max(1)
            });
            match free {
                Some(place) => stuck[place] = false,
                None => return stuck,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an ingress queue holds besides, and (place, bytes) of what waits.
    type Held<'a> = (u64, &'a [(u32, u64)]);

    /// Wires 10, 11, ..
    fn graph(nodes: &[Held<'_>]) -> WaitGraph {
        let node = |(place, (other, waiting)): (u32, &Held<'_>)| PausedWire {
            wire: 10 + place,
            since: Nanos(100 + u64::from(place)),
            by_queue: true,
            settled: true,
            held: Bytes(other + waiting.iter().map(|(_, bytes)| bytes).sum::<u64>()),
            waiting: waiting
                .iter()
                .map(|&(behind, bytes)| Waiting {
                    behind,
                    bytes: Bytes(bytes),
                    since: Nanos(bytes),
                })
                .collect(),
        };
        WaitGraph((0..).zip(nodes).map(node).collect())
    }

    #[test]
    fn a_ring_is_a_cycle_through_each_of_its_members() {
        let ring = graph(&[(0, &[(1, 5)]), (0, &[(2, 5)]), (0, &[(0, 5)])]);
        for wire in 10..13 {
            assert_eq!(ring.cycle_through(wire), Some(vec![0, 1, 2]));
        }
        assert_eq!(ring.cycle_through(13), None);
        assert_eq!(ring.stuck(), [true; 3]);
    }

    #[test]
    fn a_chain_is_none() {
        let chain = graph(&[(0, &[(1, 5)]), (0, &[(2, 5)]), (5, &[])]);
        assert!((10..13).all(|wire| chain.cycle_through(wire).is_none()));
        assert_eq!(chain.stuck(), [false; 3]);
    }

    #[test]
    fn a_cycle_closes_with_its_last_pause_or_its_first_waiting_packet() {
        let by_pause = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        assert_eq!(by_pause.onset(&[0, 1]), Nanos(101));
        let by_packet = graph(&[(0, &[(1, 700)]), (0, &[(0, 5)])]);
        assert_eq!(by_packet.onset(&[0, 1]), Nanos(700));
        // The other way on from place 0 is no part of this cycle.
        let beside = graph(&[(0, &[(1, 5), (2, 900)]), (0, &[(0, 5)]), (0, &[])]);
        assert_eq!(beside.onset(&[0, 1]), Nanos(101));
    }

    #[test]
    fn packets_that_can_leave_may_dissolve_a_cycle() {
        // Place 1 also holds a byte for a port that is free: it may resume, and with it all the others.
        let ring = graph(&[(0, &[(1, 5)]), (1, &[(2, 5)]), (0, &[(0, 5)])]);
        assert_eq!(ring.cycle_through(10), Some(vec![0, 1, 2]));
        assert_eq!(ring.stuck(), [false; 3]);
    }

    #[test]
    fn what_waits_for_a_deadlock_is_stuck_with_it() {
        let tail = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)]), (0, &[(0, 5)]), (7, &[(0, 5)])]);
        assert_eq!(tail.cycle_through(12), None);
        assert_eq!(tail.stuck(), [true, true, true, false]);
    }

    #[test]
    fn packets_on_their_way_may_still_dissolve_a_cycle() {
        let mut ring = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        ring.0[1].settled = false;
        assert_eq!(ring.stuck(), [false; 2]);
    }

    #[test]
    fn a_port_that_is_off_without_its_queue_may_still_dissolve_a_cycle() {
        let mut ring = graph(&[(0, &[(1, 5)]), (0, &[(0, 5)])]);
        ring.0[0].by_queue = false;
        assert_eq!(ring.stuck(), [false; 2]);
    }

    #[test]
    fn a_queue_that_waits_behind_two_is_stuck_only_with_both() {
        let both = graph(&[(0, &[(1, 5), (2, 5)]), (0, &[(0, 5)]), (0, &[(0, 5)])]);
        assert_eq!(both.cycle_through(12), Some(vec![0, 2]));
        assert_eq!(both.stuck(), [true; 3]);
        let one = graph(&[(0, &[(1, 5), (2, 5)]), (0, &[(0, 5)]), (1, &[(0, 5)])]);
        assert_eq!(one.stuck(), [false; 3]);
    }
}
