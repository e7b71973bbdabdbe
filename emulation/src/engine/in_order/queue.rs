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
    /// Timers of a switch are due.
    SwitchTimers,
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

/// The queue. An event's number counts insertions, for whatever instant.
#[derive(Debug, Default)]
pub struct Queue {
    events: BinaryHeap<Reverse<Event>>,
    inserted: u64,
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

    /// Inserts an event with a number that was reserved.
    #[inline]
    pub fn insert_as(&mut self, serial: u64, at: Picos, node: u32, what: What) {
        self.events.push(Reverse(Event { at, serial, node, what }));
    }

    /// Instant of the next event.
    pub fn next(&self) -> Picos {
        self.events.peek().map_or(Picos::MAX, |Reverse(event)| event.at)
    }

    /// Takes the next event, if it is before `end`.
    #[inline]
    pub fn pop(&mut self, end: Picos) -> Option<Event> {
        if self.next() >= end {
            return None;
        }
        self.events.pop().map(|Reverse(event)| event)
    }

    /// Frames on their way, as pairs of node and port.
    pub fn on_their_way(&self) -> impl Iterator<Item = (u32, u16)> {
        self.events.iter().filter_map(|Reverse(event)| match event.what {
            What::Arrival { port, .. } => Some((event.node, port)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
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
}
