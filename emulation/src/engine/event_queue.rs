//! The event queue: what happens next, in the order of (emulated time, order of scheduling).
//!
//! A calendar: buckets for the near future, where nearly all events lie, and a heap for those further off.
//! Buckets are so narrow that most hold one event, however many are waiting. Such an event is a word in the
//! bucket itself: scheduling it is one store; finding it is a search in a bit map and one load. The clock
//! moves through the buckets in order, and so through memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Picos;

use super::event::{Event, Packed};

/// What a bucket holds, if it is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// One event and how far into the bucket it is due, in picoseconds.
    One(u64, Packed),
    /// The first node of a list.
    List(u32),
}

/// A bucket in a word: from the low bits on, where in the bucket its event is due, then the event. Lists use
/// a kind that no event has. Only `occupied` records which buckets are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket(u64);

impl Bucket {
    /// Wider buckets than that leave no room for an event.
    const OFFSET_BITS: u32 = 14;
    /// The longest event that fits into a bucket. Only arrivals of frames with numbers from 2^26 up are longer.
    const EVENT_BITS: u32 = u64::BITS - Self::OFFSET_BITS;
    const LIST: u64 = (1 << Packed::KIND_BITS) - 1;

    /// A bucket with one event, if there is room for it.
    #[inline(always)]
    fn one(offset: u64, event: Packed) -> Option<Self> {
        let fits = offset >> Self::OFFSET_BITS == 0 && event.0 >> Self::EVENT_BITS == 0;
        fits.then_some(Self(event.0 << Self::OFFSET_BITS | offset))
    }

    fn list(first: u32) -> Self {
        let event = u64::from(first) << Packed::KIND_BITS | Self::LIST;
        Self(event << Self::OFFSET_BITS)
    }

    #[inline(always)]
    fn content(self) -> Content {
        let event = self.0 >> Self::OFFSET_BITS;
        if event & Self::LIST == Self::LIST {
            return Content::List((event >> Packed::KIND_BITS) as u32);
        }
        Content::One(self.0 & ((1 << Self::OFFSET_BITS) - 1), Packed(event))
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Picos,
    event: Packed,
}

/// An event beyond the calendar. It needs its order of scheduling as a number; buckets keep it by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FarEntry {
    time: Picos,
    sequence: u64,
    event: Packed,
}

/// Buckets for each source of events, such as a wire: so many that most events have a bucket of their own.
const BUCKETS_PER_SOURCE: usize = 64;
/// Fewest buckets.
const MIN_BUCKETS: usize = 1 << 10;
/// Most buckets. They take 1 MiB, and more cost more than lists do.
const MAX_BUCKETS: usize = 1 << 17;
/// End of a list.
const NIL: u32 = u32::MAX;

/// An event in a bucket's list, which has the newest first.
#[derive(Clone, Copy, Debug)]
struct Node {
    time: Picos,
    event: Packed,
    next: u32,
}

/// Events to come.
#[derive(Debug)]
pub struct EventQueue {
    /// Events of the current bucket that are still to run, in reverse order: the next one is the last. Among
    /// equal times the newest comes first.
    current: Vec<Entry>,
    /// Logarithm to base 2 of a bucket's width in picoseconds.
    width_bits: u32,
    /// Number of the current bucket since the run's start.
    bucket: u64,
    /// By bucket number modulo how many there are, a power of two.
    buckets: Box<[Bucket]>,
    /// A bit for each bucket that is not empty.
    occupied: Box<[u64]>,
    nodes: Vec<Node>,
    /// Unused nodes.
    free: u32,
    far: BinaryHeap<Reverse<FarEntry>>,
    /// The bucket of the first of them; `u64::MAX` without any.
    far_bucket: u64,
    /// Events that ever went to `far`.
    far_scheduled: u64,
}

impl EventQueue {
    /// No events. Sized for `sources` with few events each at a time, most of them scheduled less than `ahead`
    /// before they are due.
    pub fn new(ahead: Picos, sources: usize) -> Self {
        let buckets = (sources * BUCKETS_PER_SOURCE).next_power_of_two();
        let buckets = buckets.clamp(MIN_BUCKETS, MAX_BUCKETS);
        Self {
            current: Vec::new(),
            width_bits: ahead.0.div_ceil(buckets as u64).next_power_of_two().ilog2(),
            bucket: 0,
            buckets: vec![Bucket::default(); buckets].into(),
            occupied: vec![0; buckets / 64].into(),
            nodes: Vec::new(),
            free: NIL,
            far: BinaryHeap::new(),
            far_bucket: u64::MAX,
            far_scheduled: 0,
        }
    }

    /// Adds an event, which must not lie before the one that was popped last.
    // Inlined, so that the caller's kind of event is packed without a branch.
    #[inline(always)]
    pub fn schedule(&mut self, time: Picos, event: Event) {
        self.insert(time, Packed::new(event));
    }

    fn insert(&mut self, time: Picos, event: Packed) {
        let bucket = time.0 >> self.width_bits;
        let ahead = bucket.wrapping_sub(self.bucket);
        if ahead.wrapping_sub(1) < self.buckets.len() as u64 - 1 {
            self.push(self.place(bucket), time, event);
        } else if bucket <= self.bucket {
            // After the events that run earlier; among equal times it is the newest and runs last.
            let place = self.current.partition_point(|other| other.time > time);
            self.current.insert(place, Entry { time, event });
        } else {
            self.far.push(Reverse(FarEntry { time, sequence: self.far_scheduled, event }));
            self.far_scheduled += 1;
            self.far_bucket = self.far_bucket.min(bucket);
        }
    }

    /// Takes the next event.
    // Inlined, so that an event stays in registers.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Picos, Event)> {
        let entry = self.current.pop().or_else(|| self.advance());
        entry.map(|Entry { time, event }| (time, event.event()))
    }

    /// Events still to come, in no order.
    pub fn remaining(&self) -> impl Iterator<Item = Event> {
        let node = |number: u32| self.nodes.get(number as usize);
        let occupied = |place: &usize| self.occupied[place / 64] >> (place % 64) & 1 != 0;
        let near = (0..self.buckets.len()).filter(occupied).flat_map(move |place| {
            let (one, first) = match self.buckets[place].content() {
                Content::One(_, event) => (Some(event), NIL),
                Content::List(first) => (None, first),
            };
            let listed = std::iter::successors(node(first), move |at| node(at.next));
            one.into_iter().chain(listed.map(|node| node.event))
        });
        let current = self.current.iter().map(|entry| entry.event);
        let far = self.far.iter().map(|Reverse(entry)| entry.event);
        current.chain(near).chain(far).map(Packed::event)
    }

    /// Where a bucket lies.
    #[inline(always)]
    fn place(&self, bucket: u64) -> usize {
        bucket as usize & (self.buckets.len() - 1)
    }

    #[inline]
    fn push(&mut self, place: usize, time: Picos, event: Packed) {
        let bit = 1 << (place % 64);
        let word = &mut self.occupied[place / 64];
        let is_empty = *word & bit == 0;
        *word |= bit;
        if is_empty && let Some(bucket) = Bucket::one(time.0 & ((1 << self.width_bits) - 1), event)
        {
            self.buckets[place] = bucket;
        } else {
            self.push_to_list(place, is_empty, time, event);
        }
    }

    fn push_to_list(&mut self, place: usize, is_empty: bool, time: Picos, event: Packed) {
        let next = match self.buckets[place].content() {
            _ if is_empty => NIL,
            Content::List(first) => first,
            Content::One(offset, event) => {
                // It lies in the bucket of the new one.
                let Entry { time, event } = self.entry(time.0 >> self.width_bits, offset, event);
                self.add_node(Node { time, event, next: NIL })
            }
        };
        self.buckets[place] = Bucket::list(self.add_node(Node { time, event, next }));
    }

    fn add_node(&mut self, node: Node) -> u32 {
        let number = self.free;
        if let Some(unused) = self.nodes.get_mut(number as usize) {
            self.free = unused.next;
            *unused = node;
            return number;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// Makes the next bucket that has events the current one, and takes its first.
    fn advance(&mut self) -> Option<Entry> {
        let near = self.next_occupied();
        if self.far_bucket <= near {
            return self.advance_to_far(near);
        }
        self.bucket = near;
        match self.take_bucket(near) {
            Content::One(offset, event) => Some(self.entry(near, offset, event)),
            Content::List(first) => {
                self.take_list(first);
                self.sort_current();
                self.current.pop()
            }
        }
    }

    #[inline]
    fn entry(&self, bucket: u64, offset: u64, event: Packed) -> Entry {
        Entry { time: Picos(bucket << self.width_bits | offset), event }
    }

    /// Stable: equal times stay as they are, the newest first.
    fn sort_current(&mut self) {
        self.current.sort_by_key(|entry| Reverse(entry.time));
    }

    /// Empties a bucket.
    #[inline]
    fn take_bucket(&mut self, bucket: u64) -> Content {
        let place = self.place(bucket);
        self.occupied[place / 64] &= !(1 << (place % 64));
        self.buckets[place].content()
    }

    /// Empties a bucket's list into the current bucket.
    fn take_list(&mut self, first: u32) {
        let mut number = first;
        while number != NIL {
            let node = &mut self.nodes[number as usize];
            self.current.push(Entry { time: node.time, event: node.event });
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = number;
            number = next;
        }
    }

    /// The same if events from beyond the calendar are due; `near` is the calendar's next bucket.
    #[cold]
    fn advance_to_far(&mut self, near: u64) -> Option<Entry> {
        let bucket = self.far_bucket;
        if bucket == u64::MAX {
            return None;
        }
        self.bucket = bucket;
        if near == bucket {
            match self.take_bucket(bucket) {
                Content::One(offset, event) => self.current.push(self.entry(bucket, offset, event)),
                Content::List(first) => self.take_list(first),
            }
        }
        // An event that was beyond the calendar was scheduled before all events in the list.
        let listed = self.current.len();
        while let Some(Reverse(FarEntry { time, event, .. })) = self.far.peek().copied()
            && time.0 >> self.width_bits == bucket
        {
            self.current.push(Entry { time, event });
            self.far.pop();
        }
        let bucket_of = |entry: &Reverse<FarEntry>| entry.0.time.0 >> self.width_bits;
        self.far_bucket = self.far.peek().map_or(u64::MAX, bucket_of);
        self.current[listed..].reverse();
        self.sort_current();
        self.current.pop()
    }

    /// The number of the next bucket after the current one that is not empty; `u64::MAX` if all are empty.
    #[inline]
    fn next_occupied(&self) -> u64 {
        let start = self.place(self.bucket + 1);
        let word = start / 64;
        let bits = self.occupied[word] >> (start % 64);
        if bits != 0 {
            return self.bucket + 1 + u64::from(bits.trailing_zeros());
        }
        self.next_occupied_from(start)
    }

    /// The same if no bucket in the word of `start`, from `start` on, has an event.
    fn next_occupied_from(&self, start: usize) -> u64 {
        let words = self.occupied.len();
        // The search wraps around: the first word comes again at the end, for its bits below `start`.
        for step in 1..=words {
            let word = (start / 64 + step) & (words - 1);
            let bits = self.occupied[word];
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                let ahead = place.wrapping_sub(start) & (self.buckets.len() - 1);
                return self.bucket + 1 + ahead as u64;
            }
        }
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::FrameId;
    use proptest::prelude::*;

    #[test]
    fn equal_times_run_in_the_order_of_scheduling() {
        let mut queue = EventQueue::new(Picos(1 << 20), 1);
        queue.schedule(Picos(5), Event::PortFree { wire: 1 });
        queue.schedule(Picos(3), Event::Sample);
        queue.schedule(Picos(5), Event::PortFree { wire: 0 });
        assert_eq!(queue.pop(), Some((Picos(3), Event::Sample)));
        assert_eq!(queue.pop(), Some((Picos(5), Event::PortFree { wire: 1 })));
        assert_eq!(queue.pop(), Some((Picos(5), Event::PortFree { wire: 0 })));
        assert_eq!(queue.pop(), None);
    }

    /// The calendar is 1024 ps wide here.
    #[test]
    fn equal_times_beyond_the_calendar_run_in_the_order_of_scheduling() {
        let far = |wire| (Picos(5000), Event::PortFree { wire });
        let mut queue = EventQueue::new(Picos(1024), 1);
        for wire in [3, 1, 2] {
            queue.schedule(far(wire).0, far(wire).1);
        }
        queue.schedule(Picos(4500), Event::Sample);
        assert_eq!(queue.pop(), Some((Picos(4500), Event::Sample)));
        // Now the calendar reaches there.
        for wire in [9, 8] {
            queue.schedule(far(wire).0, far(wire).1);
        }
        for wire in [3, 1, 2, 9, 8] {
            assert_eq!(queue.pop(), Some(far(wire)));
        }
        assert_eq!(queue.pop(), None);
    }

    /// The current bucket is sorted, the calendar has all but one of the others, and what lies further off is
    /// in the heap. In any of these places an event comes out as it went in.
    #[test]
    fn the_calendar_reaches_as_far_as_it_has_buckets() {
        for width in [1u64, 64] {
            let buckets = MIN_BUCKETS as u64;
            let new = || {
                let mut queue = EventQueue::new(Picos(width * buckets), 1);
                // The current bucket is not the first.
                queue.schedule(Picos(7 * width), Event::Sample);
                assert_eq!(queue.pop(), Some((Picos(7 * width), Event::Sample)));
                queue
            };
            for (bucket, current, far) in [
                (7, 1, 0),
                (8, 0, 0),
                (7 + 64, 0, 0),
                (7 + buckets - 1, 0, 0),
                (7 + buckets, 0, 1),
                (8 + buckets, 0, 1),
                (7 + 10 * buckets, 0, 1),
            ] {
                let mut queue = new();
                let event = Event::PortFree { wire: bucket as u32 };
                let time = Picos(bucket * width + width - 1);
                queue.schedule(time, event);
                assert_eq!((queue.current.len(), queue.far.len()), (current, far), "{bucket}");
                assert!(queue.remaining().eq([event]), "{bucket}");
                assert_eq!(queue.pop(), Some((time, event)));
                assert_eq!(queue.remaining().count(), 0);
                assert_eq!(queue.pop(), None);
            }
        }
    }

    #[test]
    fn what_remains_is_what_was_scheduled_wherever_it_lies() {
        let mut queue = EventQueue::new(Picos(1024 * 64), 1);
        let times =
            [0, 0, 64, 64, 70, 64 * 63, 64 * 64, 64 * 1000, 64 * 5000, 64 * 5000, 64 * 9000];
        for (wire, time) in (0..).zip(times) {
            queue.schedule(Picos(time), Event::PortFree { wire });
        }
        let mut wires: Vec<u32> = queue
            .remaining()
            .map(|event| match event {
                Event::PortFree { wire } => wire,
                other => panic!("{other:?} was not scheduled"),
            })
            .collect();
        wires.sort_unstable();
        assert!(wires.into_iter().eq(0..times.len() as u32));
    }

    #[test]
    fn a_bucket_holds_one_event_or_a_list() {
        let largest = (1 << Packed::NUMBER_BITS) - 1;
        let arrival = |frame| Packed::new(Event::Arrival { wire: largest, frame: FrameId(frame) });
        let last_offset = (1 << Bucket::OFFSET_BITS) - 1;
        let event = arrival((1 << 26) - 1);
        for offset in [0, last_offset] {
            let bucket = Bucket::one(offset, event).expect("there is room");
            assert_eq!(bucket.content(), Content::One(offset, event));
        }
        assert_eq!(Bucket::one(last_offset + 1, event), None);
        assert_eq!(Bucket::one(0, arrival(1 << 26)), None);
        for first in [0, NIL] {
            assert_eq!(Bucket::list(first).content(), Content::List(first));
        }
    }

    proptest! {
        /// Against a plain heap: pushes and pops interleaved, delays from zero to far beyond the
        /// calendar.
        #[test]
        fn the_order_is_that_of_a_heap(
            steps in prop::collection::vec((0u32..3, 0u64..40, any::<u64>()), 1..400),
            ahead in 0u32..30,
            sources in 0usize..100,
        ) {
            let mut queue = EventQueue::new(Picos(1 << ahead), sources);
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
            prop_assert_eq!(queue.remaining().count(), heap.len());
            while let Some(Reverse((time, wire))) = heap.pop() {
                let next = Some((Picos(time), Event::PortFree { wire }));
                prop_assert_eq!(queue.pop(), next);
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
