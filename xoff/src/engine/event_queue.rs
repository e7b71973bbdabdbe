//! The event queue: what happens next, in the order of (emulated time, order of scheduling).
//!
//! A calendar: buckets of about a nanosecond for the next 17 us, where nearly all events lie, and a heap
//! for those further off. An event costs a list push and its part of sorting one small bucket, however
//! many are waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabric_core::units::Picos;

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The frame at the head of a wire has arrived whole.
    Arrival {
        /// The wire.
        wire: u32,
    },
    /// The port that sends onto a wire is free again.
    PortFree {
        /// The wire.
        wire: u32,
    },
    /// A host has a timer, or a packet whose time has come.
    HostDeadline {
        /// The host.
        host: u32,
    },
    /// The next flow begins.
    FlowStart,
    /// A pause that a switch port received runs out, unless it was renewed.
    PauseExpiry {
        /// The wire that leaves that port.
        wire: u32,
    },
    /// A pause that a switch port sent is about to run out.
    PauseRefresh {
        /// The wire that leaves that port.
        wire: u32,
        /// The class.
        class: u8,
        /// Which of the ingress queue's pauses; an older one has been resumed since.
        pause: u32,
    },
    /// Queues are sampled.
    Sample,
    /// Switches' thresholds are computed.
    ControlPlane,
}

impl Event {
    /// Whether this event carries the run on by itself. The others only watch, or wake a node whose
    /// state tells whether there is something left to do.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Arrival { .. } | Self::PortFree { .. } | Self::FlowStart)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: Picos,
    sequence: u64,
    event: Event,
}

/// A bucket is 2^10 ps wide.
const WIDTH_BITS: u32 = 10;
/// Buckets ahead: 2^14 of them are 16.8 us, a few hops of propagation and serialisation.
const BUCKETS: usize = 1 << 14;
/// End of a list.
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    entry: Entry,
    next: u32,
}

/// Events to come.
#[derive(Debug)]
pub struct EventQueue {
    /// Events of the current bucket that are still to run, the next one last.
    current: Vec<Entry>,
    /// Number of the current bucket since the run's start.
    bucket: u64,
    /// First node of each bucket's list, by bucket number modulo [`BUCKETS`].
    heads: Vec<u32>,
    /// A bit for each bucket that has nodes.
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    /// Unused nodes.
    free: u32,
    far: BinaryHeap<Reverse<Entry>>,
    scheduled: u64,
    live: usize,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            bucket: 0,
            heads: vec![NIL; BUCKETS],
            occupied: vec![0; BUCKETS / 64],
            nodes: Vec::new(),
            free: NIL,
            far: BinaryHeap::new(),
            scheduled: 0,
            live: 0,
        }
    }
}

impl EventQueue {
    /// Adds an event, which must not lie before the one that was popped last.
    #[inline]
    pub fn schedule(&mut self, time: Picos, event: Event) {
        self.live += usize::from(event.is_live());
        let entry = Entry { time, sequence: self.scheduled, event };
        self.scheduled += 1;
        let bucket = time.0 >> WIDTH_BITS;
        if bucket <= self.bucket {
            // Behind those that run before it: it has the highest sequence number.
            let place = self.current.partition_point(|other| other.time > time);
            self.current.insert(place, entry);
        } else if bucket - self.bucket < BUCKETS as u64 {
            self.push(bucket as usize % BUCKETS, entry);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picos, Event)> {
        if self.current.is_empty() {
            self.advance();
        }
        let Entry { time, event, .. } = self.current.pop()?;
        self.live -= usize::from(event.is_live());
        Some((time, event))
    }

    /// Whether events are left that carry the run on by themselves.
    pub const fn has_live(&self) -> bool {
        self.live > 0
    }

    fn push(&mut self, place: usize, entry: Entry) {
        let node = Node { entry, next: self.heads[place] };
        let number = self.free;
        if number == NIL {
            self.heads[place] = self.nodes.len() as u32;
            self.nodes.push(node);
        } else {
            self.free = self.nodes[number as usize].next;
            self.nodes[number as usize] = node;
            self.heads[place] = number;
        }
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// Makes the next bucket that has events the current one.
    fn advance(&mut self) {
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(entry)| entry.time.0 >> WIDTH_BITS);
        let Some(bucket) = [near, far].into_iter().flatten().min() else { return };
        self.bucket = bucket;
        while let Some(Reverse(entry)) = self.far.peek().copied()
            && entry.time.0 >> WIDTH_BITS == bucket
        {
            self.current.push(entry);
            self.far.pop();
        }
        if near == Some(bucket) {
            self.take_list(bucket as usize % BUCKETS);
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by_key(|entry| Reverse((entry.time, entry.sequence)));
        }
    }

    fn take_list(&mut self, place: usize) {
        let first = std::mem::replace(&mut self.heads[place], NIL);
        self.occupied[place / 64] &= !(1 << (place % 64));
        let mut number = first;
        loop {
            let node = self.nodes[number as usize];
            self.current.push(node.entry);
            if node.next == NIL {
                self.nodes[number as usize].next = self.free;
                self.free = first;
                return;
            }
            number = node.next;
        }
    }

    /// The number of the next bucket after the current one that has a list.
    fn next_occupied(&self) -> Option<u64> {
        let start = (self.bucket as usize + 1) % BUCKETS;
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        // One more than all words: the first is looked at again for the bits below `start`.
        for _ in 0..=BUCKETS / 64 {
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (place + BUCKETS - start) % BUCKETS;
                return Some(self.bucket + 1 + ahead as u64);
            }
            word = (word + 1) % (BUCKETS / 64);
            bits = self.occupied[word];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_run_in_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        queue.schedule(Picos(5), Event::PortFree { wire: 1 });
        queue.schedule(Picos(3), Event::Sample);
        queue.schedule(Picos(5), Event::PortFree { wire: 0 });
        assert_eq!(queue.pop(), Some((Picos(3), Event::Sample)));
        assert_eq!(queue.pop(), Some((Picos(5), Event::PortFree { wire: 1 })));
        assert!(queue.has_live());
        assert_eq!(queue.pop(), Some((Picos(5), Event::PortFree { wire: 0 })));
        assert!(!queue.has_live());
        assert_eq!(queue.pop(), None);
    }

    proptest! {
        /// Against a plain heap: pushes and pops interleaved, delays from zero to far beyond the
        /// calendar.
        #[test]
        fn the_order_is_that_of_a_heap(
            steps in prop::collection::vec((0u32..3, 0u64..40, any::<u64>()), 1..400),
        ) {
            let mut queue = EventQueue::default();
            let mut heap = BinaryHeap::new();
            let (mut now, mut sequence) = (0, 0u32);
            for (pops, bits, random) in steps {
                let time = now + (random & ((1 << bits) - 1));
                queue.schedule(Picos(time), Event::PortFree { wire: sequence });
                heap.push(Reverse((time, sequence)));
                sequence += 1;
                for _ in 0..pops {
                    let expected = heap.pop().map(|Reverse((time, wire))| {
                        now = time;
                        (Picos(time), Event::PortFree { wire })
                    });
                    prop_assert_eq!(queue.pop(), expected);
                }
            }
            while let Some(Reverse((time, wire))) = heap.pop() {
                let next = Some((Picos(time), Event::PortFree { wire }));
                prop_assert_eq!(queue.pop(), next);
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
