//! The event queue: what happens next, in the order of (emulated time, order of scheduling).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabric_core::units::Picos;

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// A flow begins.
    FlowStart {
        /// The flow.
        flow: u32,
    },
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
        matches!(self, Self::Arrival { .. } | Self::PortFree { .. } | Self::FlowStart { .. })
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    time: Picos,
    sequence: u64,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.sequence).cmp(&(other.time, other.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Events to come.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    scheduled: u64,
    live: usize,
}

impl EventQueue {
    /// Adds an event.
    pub fn schedule(&mut self, time: Picos, event: Event) {
        self.live += usize::from(event.is_live());
        self.heap.push(Reverse(Entry { time, sequence: self.scheduled, event }));
        self.scheduled += 1;
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Picos, Event)> {
        let Reverse(Entry { time, event, .. }) = self.heap.pop()?;
        self.live -= usize::from(event.is_live());
        Some((time, event))
    }

    /// Whether events are left that carry the run on by themselves.
    pub const fn has_live(&self) -> bool {
        self.live > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_run_in_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        queue.schedule(Picos(5), Event::FlowStart { flow: 1 });
        queue.schedule(Picos(3), Event::Sample);
        queue.schedule(Picos(5), Event::FlowStart { flow: 0 });
        assert_eq!(queue.pop(), Some((Picos(3), Event::Sample)));
        assert_eq!(queue.pop(), Some((Picos(5), Event::FlowStart { flow: 1 })));
        assert!(queue.has_live());
        assert_eq!(queue.pop(), Some((Picos(5), Event::FlowStart { flow: 0 })));
        assert!(!queue.has_live());
    }
}
