//! One queue of events, in the order of instant and insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use host_agent::ns3::Timer;
use units::Picos;

use crate::datapath::FrameId;

/// Kind of an event at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A port has sent its frame, and is free.
    Free {
        /// The port.
        port: u16,
    },
    /// The last bit of a frame arrives.
    Arrival {
        /// The port.
        port: u16,
        /// The frame.
        frame: FrameId,
        /// Its accounted length.
        length: u32,
    },
    /// A timer of a host.
    Timer(Timer),
    /// Timers of a node, or commands to it, are due.
    Due,
    /// The pause of a switch's port by its neighbour ends by itself.
    PauseEnd {
        /// The port.
        port: u16,
        /// The class.
        class: u8,
    },
    /// A pause that a switch has sent ends by itself.
    OwnPauseEnd {
        /// The port.
        port: u16,
        /// The class.
        class: u8,
        /// Number of the pause.
        pause: u32,
    },
    /// A link goes down, whatever the node.
    LinkDown,
    /// Flows of this instant start, whatever the node.
    Starts,
    /// A flow's start has been announced to its host.
    Announced,
    /// A host creates the queue pair of the flow that was announced first.
    Begins,
}

/// An event at a node of the part, by its index there.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    at: Picos,
    serial: u64,
    /// The node.
    pub node: u32,
    /// Its kind.
    pub what: What,
}

impl Event {
    /// Its instant.
    pub const fn at(&self) -> Picos {
        self.at
    }

    /// Its place among all events: instant and number.
    pub const fn key(&self) -> (u64, u64) {
        (self.at.0, self.serial)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Picoseconds of a slot, as a power of two: about a nanosecond.
const SLOT_BITS: u32 = 10;
/// Number of slots: 8 us, longer than most frames are on their way.
const SLOTS: usize = 1 << 13;
/// Place of no entry.
const NONE: u32 = u32::MAX;

/// Entries of a slot, linked in their order.
#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    last: u32,
}

/// An event in a slot, and the place of the next one.
#[derive(Clone, Copy, Debug)]
struct Entry {
    event: Event,
    next: u32,
}

/// The queue. An event's number counts insertions, for whatever instant.
///
/// Events of the next microseconds are in slots of a nanosecond each, in a ring, where an event comes and goes in constant
/// time; later ones are in a heap.
#[derive(Debug)]
pub struct Queue {
    slots: Box<[Slot]>,
    /// Slots with entries, one bit each.
    occupied: Box<[u64]>,
    entries: Vec<Entry>,
    /// First of the entries that are free, linked.
    free: u32,
    /// Number of entries in slots.
    near: usize,
    /// Number of the slot of the last event: no event in a slot is earlier, or later by a turn of the ring.
    start: u64,
    /// Instant of the last event.
    now: Picos,
    far: BinaryHeap<Reverse<Event>>,
    inserted: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            slots: vec![Slot { first: NONE, last: NONE }; SLOTS].into(),
            occupied: vec![0; SLOTS / 64].into(),
            entries: Vec::new(),
            free: NONE,
            near: 0,
            start: 0,
            now: Picos::ZERO,
            far: BinaryHeap::new(),
            inserted: 0,
        }
    }
}

impl Queue {
    /// Takes the next number without an event, which [`insert_as`](Self::insert_as) may use later.
    pub fn reserve(&mut self) -> u64 {
        self.inserted += 1;
        self.inserted - 1
    }

    /// Inserts an event behind all others of its instant.
    #[inline]
    pub fn insert(&mut self, at: Picos, node: u32, what: What) {
        let serial = self.reserve();
        self.insert_as(serial, at, node, what);
    }

    /// Inserts an event with a number that was reserved. No event is before the last one: a host of the simulator counts
    /// whole nanoseconds, and may ask for one that has begun.
    #[inline]
    pub fn insert_as(&mut self, serial: u64, at: Picos, node: u32, what: What) {
        let at = at.max(self.now);
        let event = Event { at, serial, node, what };
        let number = at.0 >> SLOT_BITS;
        if number.wrapping_sub(self.start) >= SLOTS as u64 {
            return self.far.push(Reverse(event));
        }
        let place = self.place_for(Entry { event, next: NONE });
        let slot = number as usize % SLOTS;
        self.near += 1;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        let Slot { first, last } = self.slots[slot];
        if first == NONE {
            self.slots[slot] = Slot { first: place, last: place };
        } else if self.entries[last as usize].event < event {
            self.entries[last as usize].next = place;
            self.slots[slot].last = place;
        } else {
            self.insert_before_last(slot, place);
        }
    }

    /// Links an entry into a slot whose last event is later.
    #[cold]
    fn insert_before_last(&mut self, slot: usize, place: u32) {
        let event = self.entries[place as usize].event;
        let (mut before, mut after) = (NONE, self.slots[slot].first);
        while self.entries[after as usize].event < event {
            (before, after) = (after, self.entries[after as usize].next);
        }
        self.entries[place as usize].next = after;
        match before {
            NONE => self.slots[slot].first = place,
            _ => self.entries[before as usize].next = place,
        }
    }

    #[inline]
    fn place_for(&mut self, entry: Entry) -> u32 {
        if self.free == NONE {
            self.entries.push(entry);
            return topology::in_32_bits(self.entries.len() - 1);
        }
        let place = self.free;
        self.free = std::mem::replace(&mut self.entries[place as usize], entry).next;
        place
    }

    /// The first slot with entries.
    #[inline]
    fn first_slot(&self) -> Option<usize> {
        if self.near == 0 {
            return None;
        }
        let start = self.start as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let here = self.occupied[word] & u64::MAX << bit;
        if here != 0 {
            return Some(64 * word + here.trailing_zeros() as usize);
        }
        let words = self.occupied.len();
        let further = (1..=words).map(|step| (word + step) % words);
        let word = further.into_iter().find(|&word| self.occupied[word] != 0)?;
        Some(64 * word + self.occupied[word].trailing_zeros() as usize)
    }

    /// The first event in slots, and its slot.
    #[inline]
    fn first_near(&self) -> Option<(usize, Entry)> {
        let slot = self.first_slot()?;
        Some((slot, self.entries[self.slots[slot].first as usize]))
    }

    /// Instant of the next event.
    pub fn next(&self) -> Picos {
        let near = self.first_near().map_or(Picos::MAX, |(_, entry)| entry.event.at);
        self.far.peek().map_or(near, |Reverse(event)| near.min(event.at))
    }

    /// Takes the next event, if it is before `end`.
    #[inline]
    pub fn pop(&mut self, end: Picos) -> Option<Event> {
        let near = self.first_near();
        let far = self.far.peek().map(|Reverse(event)| *event);
        let event = match (near, far) {
            (Some((slot, Entry { event, next })), far) if far.is_none_or(|far| event < far) => {
                if event.at >= end {
                    return None;
                }
                self.take_first(slot, next);
                event
            }
            (_, Some(event)) if event.at < end => {
                self.far.pop();
                event
            }
            _ => return None,
        };
        (self.now, self.start) = (event.at, event.at.0 >> SLOT_BITS);
        Some(event)
    }

    /// Frees the first entry of a slot, which is behind it.
    #[inline]
    fn take_first(&mut self, slot: usize, next: u32) {
        let place = self.slots[slot].first;
        self.slots[slot].first = next;
        if next == NONE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        self.near -= 1;
        self.entries[place as usize].next = self.free;
        self.free = place;
    }

    /// Frames on their way, as pairs of node and port.
    pub fn on_their_way(&self) -> impl Iterator<Item = (u32, u16)> {
        let of_slot = |slot: &Slot| {
            let entry = |place: u32| (place != NONE).then(|| &self.entries[place as usize]);
            std::iter::successors(entry(slot.first), move |it| entry(it.next)).map(|it| &it.event)
        };
        let near = self.slots.iter().flat_map(of_slot);
        let all = near.chain(self.far.iter().map(|Reverse(event)| event));
        all.filter_map(|event| match event.what {
            What::Arrival { port, .. } => Some((event.node, port)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn events_of_an_instant_run_in_the_order_of_their_insertion() {
        let mut queue = Queue::default();
        let early = queue.reserve();
        let free = |port| What::Free { port };
        queue.insert(Picos(7), 3, free(1));
        queue.insert(Picos(5), 9, free(2));
        queue.insert(Picos(7), 1, free(3));
        queue.insert_as(early, Picos(7), 8, free(0));
        let all = std::iter::from_fn(|| queue.pop(Picos(8))).map(|event| (event.at, event.node));
        let all: Vec<_> = all.collect();
        assert_eq!(all, [(Picos(5), 9), (Picos(7), 8), (Picos(7), 3), (Picos(7), 1)]);
        queue.insert(Picos(8), 0, free(0));
        assert!(queue.pop(Picos(8)).is_none(), "the end is not included");
        assert_eq!(queue.next(), Picos(8));
    }

    proptest! {
        /// The queue gives what a sorted list gives, with events near and far, and insertions while events run.
        #[test]
        fn events_come_in_the_order_of_instant_and_number(
            steps in prop::collection::vec((0..40_000_000_u64, 0..4_u8), 1..200)
        ) {
            let (mut queue, mut all) = (Queue::default(), Vec::new());
            let (mut now, mut reserved) = (Picos(0), queue.reserve());
            for (number, (after, kind)) in (0_u32..).zip(steps) {
                // Ties, this slot, the ring, and any instant.
                // Some are asked for in the past, and come at once.
                let past = Picos(now.0.saturating_sub(after % 2000));
                let later = now + Picos(after % [1, 1000, 5_000_000, 40_000_000][usize::from(kind)]);
                let asked = if number % 5 == 4 { past } else { later };
                let at = asked.max(now);
                let serial = match number % 7 {
                    3 => std::mem::replace(&mut reserved, queue.reserve()),
                    _ => queue.reserve(),
                };
                queue.insert_as(serial, asked, number, What::Due);
                all.push((at, serial, number));
                if number % 3 == 2 {
                    all.sort_unstable();
                    let first = all.remove(0);
                    prop_assert_eq!(queue.next(), first.0);
                    let end = first.0 + Picos(1);
                    let event = queue.pop(end).expect("it is before the end");
                    prop_assert_eq!((event.at, event.serial, event.node), first);
                    now = first.0;
                }
            }
            all.sort_unstable();
            let left = std::iter::from_fn(|| queue.pop(Picos::MAX));
            let left: Vec<_> = left.map(|it| (it.at, it.serial, it.node)).collect();
            prop_assert_eq!(left, all);
        }
    }

    #[test]
    fn frames_on_their_way_are_near_and_far() {
        let mut queue = Queue::default();
        let frame = |port| What::Arrival { port, frame: FrameId(0), length: 60 };
        for (at, node) in [(5, 1), (5, 2), (9_000_000, 3)] {
            queue.insert(Picos(at), node, frame(7));
        }
        queue.insert(Picos(6), 4, What::Due);
        let found: Vec<(u32, u16)> = queue.on_their_way().collect();
        assert_eq!(found, [(1, 7), (2, 7), (3, 7)]);
    }
}
