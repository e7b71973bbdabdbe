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
    /// The switch port that sends onto a wire is free again.
    PortFree {
        /// The wire.
        wire: u32,
    },
    /// A host's port is free and a packet of its may go.
    HostReady {
        /// The host.
        host: u32,
    },
    /// A host has a timer.
    HostTimer {
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

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Picos,
    event: Event,
}

/// An event beyond the calendar. Only here does the order of scheduling have to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FarEntry {
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

/// An event in a bucket's list, which has the newest first.
#[derive(Clone, Copy, Debug)]
struct Node {
    time: Picos,
    event: Event,
    next: u32,
}

const _: () = assert!(size_of::<Node>() == 24, "nodes of many lists share few cache lines");

/// Events to come.
#[derive(Debug)]
pub struct EventQueue {
    /// Events of the current bucket that are still to run: the next one last, and so the newest first
    /// among equal times.
    current: Vec<Entry>,
    /// Number of the current bucket since the run's start.
    bucket: u64,
    /// First node of each bucket's list, by bucket number modulo [`BUCKETS`].
    heads: Box<[u32; BUCKETS]>,
    /// A bit for each bucket that has nodes.
    occupied: Box<[u64; BUCKETS / 64]>,
    nodes: Vec<Node>,
    /// Unused nodes.
    free: u32,
    far: BinaryHeap<Reverse<FarEntry>>,
    /// The bucket of the first of them; `u64::MAX` if there is none.
    far_bucket: u64,
    /// Events that ever went to `far`.
    far_scheduled: u64,
    live: usize,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            bucket: 0,
            heads: Box::new([NIL; BUCKETS]),
            occupied: Box::new([0; BUCKETS / 64]),
            nodes: Vec::new(),
            free: NIL,
            far: BinaryHeap::new(),
            far_bucket: u64::MAX,
            far_scheduled: 0,
            live: 0,
        }
    }
}

impl EventQueue {
    /// Adds an event, which must not lie before the one that was popped last.
    #[inline]
    pub fn schedule(&mut self, time: Picos, event: Event) {
        self.live += usize::from(event.is_live());
        let bucket = time.0 >> WIDTH_BITS;
        let ahead = bucket.wrapping_sub(self.bucket);
        if ahead.wrapping_sub(1) < BUCKETS as u64 - 1 {
            self.push(bucket as usize % BUCKETS, time, event);
        } else if bucket <= self.bucket {
            // Behind those that run before it: it is the newest.
            let place = self.current.partition_point(|other| other.time > time);
            self.current.insert(place, Entry { time, event });
        } else {
            self.far.push(Reverse(FarEntry { time, sequence: self.far_scheduled, event }));
            self.far_scheduled += 1;
            self.far_bucket = self.far_bucket.min(bucket);
        }
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picos, Event)> {
        let entry = self.current.pop().or_else(|| self.advance());
        let Entry { time, event } = entry?;
        self.live -= usize::from(event.is_live());
        Some((time, event))
    }

    /// Whether events are left that carry the run on by themselves.
    pub const fn has_live(&self) -> bool {
        self.live > 0
    }

    #[inline]
    fn push(&mut self, place: usize, time: Picos, event: Event) {
        let node = Node { time, event, next: self.heads[place] };
        self.occupied[place / 64] |= 1 << (place % 64);
        let number = self.free;
        if let Some(unused) = self.nodes.get_mut(number as usize) {
            self.free = unused.next;
            *unused = node;
            self.heads[place] = number;
        } else {
            self.heads[place] = self.nodes.len() as u32;
            self.nodes.push(node);
        }
    }

    /// Makes the next bucket that has events the current one, and takes its first.
    #[inline]
    fn advance(&mut self) -> Option<Entry> {
        let near = self.next_occupied();
        if self.far_bucket <= near {
            return self.advance_to_far(near);
        }
        self.bucket = near;
        let place = near as usize % BUCKETS;
        let first = self.heads[place];
        let node = &mut self.nodes[first as usize];
        if node.next == NIL {
            // Most buckets have one event.
            let entry = Entry { time: node.time, event: node.event };
            node.next = self.free;
            self.free = first;
            self.heads[place] = NIL;
            self.occupied[place / 64] &= !(1 << (place % 64));
            return Some(entry);
        }
        self.take_list(place);
        self.sort_current();
        self.current.pop()
    }

    /// Stable: equal times stay as they are, the newest first.
    fn sort_current(&mut self) {
        self.current.sort_by_key(|entry| Reverse(entry.time));
    }

    /// Empties a bucket's list into the current bucket.
    fn take_list(&mut self, place: usize) {
        let mut number = std::mem::replace(&mut self.heads[place], NIL);
        self.occupied[place / 64] &= !(1 << (place % 64));
        while number != NIL {
            let node = &mut self.nodes[number as usize];
            self.current.push(Entry { time: node.time, event: node.event });
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = number;
            number = next;
        }
    }

    /// The same where events from beyond the calendar are due, `near` being the calendar's next bucket.
    #[cold]
    fn advance_to_far(&mut self, near: u64) -> Option<Entry> {
        let bucket = self.far_bucket;
        if bucket == u64::MAX {
            return None;
        }
        self.bucket = bucket;
        if near == bucket {
            self.take_list(bucket as usize % BUCKETS);
        }
        // What lay too far ahead when it was scheduled is older than all that went to the list.
        let listed = self.current.len();
        while let Some(Reverse(FarEntry { time, event, .. })) = self.far.peek().copied()
            && time.0 >> WIDTH_BITS == bucket
        {
            self.current.push(Entry { time, event });
            self.far.pop();
        }
        self.far_bucket =
            self.far.peek().map_or(u64::MAX, |Reverse(entry)| entry.time.0 >> WIDTH_BITS);
        self.current[listed..].reverse();
        self.sort_current();
        self.current.pop()
    }

    /// The number of the next bucket after the current one that has a list; `u64::MAX` if there is none.
    #[inline]
    fn next_occupied(&self) -> u64 {
        let start = (self.bucket as usize + 1) % BUCKETS;
        let word = start / 64;
        let bits = self.occupied[word] >> (start % 64);
        if bits != 0 {
            return self.bucket + 1 + u64::from(bits.trailing_zeros());
        }
        self.next_occupied_from(start)
    }

    /// The same if no bucket in the word of `start`, from `start` on, has a list.
    fn next_occupied_from(&self, start: usize) -> u64 {
        const WORDS: usize = BUCKETS / 64;
        // The last is the first once more: its bits below `start` come last.
        for step in 1..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let bits = self.occupied[word];
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (place + BUCKETS - start) % BUCKETS;
                return self.bucket + 1 + ahead as u64;
            }
        }
        u64::MAX
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
