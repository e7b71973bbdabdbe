//! The traffic manager of one switch: egress queues, and the scheduler that empties them onto
//! ports.
//!
//! Sans-I/O and without time: packets go in by [`TrafficManager::enqueue`], and
//! [`TrafficManager::select`] names what a port sends next whenever the caller finds the port free.
//! A packet is the number of its descriptor's slot, and is in one queue at a time; what else is
//! known of it stays in the descriptor. The caller knows which queues are paused and says so at
//! each selection, so that PFC (a bit per priority) and BFC (a bit per queue) are the same to this
//! module.
//!
//! The order at a port: MAC control frames, which nothing pauses; then frames that measure the link,
//! so that no PAUSE waits for one; then the control queue, if there is one; then the scheduler's
//! choice among the others ([`Scheduler`]).
//!
//! # What the schemes build on it
//! - Queues 0 to 7 are the priorities. Schemes that assign queues dynamically (BFC: 32 a port)
//!   choose the queue before `enqueue`; which flow holds which queue is not known here.
//! - A departure verdict that drops a selected packet (BSHARE) simply does not send it, and selects
//!   again. One that moves it to another queue (OFC) enqueues the slot again: a selected slot is
//!   free for use. Both times the queue it left was charged for the packet, as if it had been sent.
//! - Queue lengths are exact at every instant, so BFC's pause thresholds and OFC's backlogs can be
//!   read from [`TrafficManager::queue_bytes`] and [`TrafficManager::non_empty`].

mod fifo;
mod port;

#[cfg(test)]
mod properties;

use std::collections::VecDeque;

use fifo::{Fifo, Links};
use port::Port;

/// Queues that every port has, one for each priority.
pub const MIN_QUEUES: usize = 8;

/// Queues that a port can have: the bits of a mask.
pub const MAX_QUEUES: usize = 32;

/// MAC control frames that a port holds without allocating: a PAUSE and a RESUME of every priority.
const MAC_CONTROL_FRAMES: usize = 16;

/// Frames that measure the link and that a port holds without allocating: a request and a response.
const LINK_DELAY_FRAMES: usize = 2;

/// How a port chooses among its queues that hold packets and are not paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The highest queue number first.
    Strict,
    /// Deficit weighted round robin, all weights equal, in the order of the queue numbers.
    ///
    /// Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", with a rule for
    /// pauses: a queue keeps its deficit while it is paused, gets no quantum for the rounds it
    /// missed, and gets none on its return if what it kept pays for its first packet. So a deficit
    /// stays below one quantum and one packet, however a queue is paused.
    Dwrr {
        /// Bytes a queue may send per round. At least the longest frame, or else a selection takes
        /// several rounds; not zero.
        quantum: u32,
    },
}

impl Scheduler {
    /// The quantum in bytes where nothing else is asked for: one frame of Ethernet's usual MTU.
    pub const DEFAULT_QUANTUM: u32 = 1600;
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::Dwrr { quantum: Self::DEFAULT_QUANTUM }
    }
}

/// What one port has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortQueues {
    /// Number of egress queues, [`MIN_QUEUES`] to [`MAX_QUEUES`].
    pub queues: usize,
    /// The queue that is served before all others, outside the scheduler.
    pub control: Option<u8>,
    /// How the others are served.
    pub scheduler: Scheduler,
}

/// What a port sends next. It has left its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection<C> {
    /// A MAC control frame, or one that measures the link.
    MacControl(C),
    /// A packet.
    Packet {
        /// Slot of the packet's descriptor.
        slot: u32,
        /// Queue that held it.
        queue: usize,
        /// Length in bytes that it was enqueued with.
        length: u32,
    },
}

/// The egress queues of all ports of one switch. `C` is a MAC control frame.
pub struct TrafficManager<C> {
    links: Links,
    ports: Vec<Port>,
    queues: Vec<Fifo>,
    /// With the classes that a frame speaks of, a bit each.
    mac_control: Vec<VecDeque<(u8, C)>>,
    link_delay: Vec<VecDeque<C>>,
    packets: usize,
}

impl<C> TrafficManager<C> {
    /// A traffic manager for packets in slots `0..slots`, with all queues empty.
    ///
    /// # Panics
    /// If a port's number of queues, control queue or quantum is out of its range.
    pub fn new(slots: usize, ports: impl Iterator<Item = PortQueues>) -> Self {
        let mut first_queue = 0;
        let ports: Vec<Port> = ports
            .map(|configuration| {
                let port = Port::new(&configuration, first_queue);
                first_queue += configuration.queues;
                port
            })
            .collect();
        let mac_control =
            ports.iter().map(|_| VecDeque::with_capacity(MAC_CONTROL_FRAMES)).collect();
        let link_delay = ports.iter().map(|_| VecDeque::with_capacity(LINK_DELAY_FRAMES)).collect();
        let queues = vec![Fifo::EMPTY; first_queue];
        Self { links: Links::new(slots), ports, queues, mac_control, link_delay, packets: 0 }
    }

    /// Appends the packet in `slot`, of `length` bytes, to a queue.
    ///
    /// # Panics
    /// If the slot is in a queue already, or one of the numbers is out of range.
    #[inline]
    pub fn enqueue(&mut self, port: usize, queue: usize, slot: u32, length: u32) {
        let index = self.index(port, queue);
        self.queues[index].push(&mut self.links, slot, length);
        self.ports[port].mark_non_empty(queue);
        self.packets += 1;
    }

    /// Appends a MAC control frame that speaks of `classes`, to be sent ahead of all packets. Hands over
    /// those that still wait and have nothing to say beside it: however often a class is paused and
    /// resumed, its latest state waits for no earlier one.
    pub fn enqueue_mac_control(
        &mut self,
        port: usize,
        classes: u8,
        frame: C,
        mut superseded: impl FnMut(C),
    ) {
        let waiting = &mut self.mac_control[port];
        for _ in 0..waiting.len() {
            match waiting.pop_front().expect("as many as were counted") {
                (earlier, frame) if earlier & !classes == 0 => superseded(frame),
                other => waiting.push_back(other),
            }
        }
        waiting.push_back((classes, frame));
        self.ports[port].mac_control = true;
    }

    /// Appends a frame that measures the link, to be sent ahead of all packets and behind MAC control
    /// frames.
    pub fn enqueue_link_delay(&mut self, port: usize, frame: C) {
        self.link_delay[port].push_back(frame);
        self.ports[port].mac_control = true;
    }

    /// Takes what a free port sends next. `paused` has a bit for each queue that must not send.
    ///
    /// Never `None` while the port has a MAC control frame or a queue that is not paused has a
    /// packet.
    #[inline]
    pub fn select(&mut self, port: usize, paused: u32) -> Option<Selection<C>> {
        let number = port;
        let port = &mut self.ports[number];
        if port.mac_control {
            let (control, measuring) =
                (&mut self.mac_control[number], &mut self.link_delay[number]);
            let frame = control.pop_front().map(|(_, frame)| frame);
            let frame = frame.or_else(|| measuring.pop_front());
            port.mac_control = !control.is_empty() || !measuring.is_empty();
            return Some(Selection::MacControl(frame.expect("the port knows of a frame")));
        }
        let queues = &mut self.queues[port.queue_range()];
        let queue = port.choose(queues, &self.links, paused)?;
        let (slot, length) = queues[queue].pop(&mut self.links);
        port.charge(&mut queues[queue], queue, length);
        self.packets -= 1;
        Some(Selection::Packet { slot, queue, length })
    }

    /// Bytes in a queue.
    pub fn queue_bytes(&self, port: usize, queue: usize) -> u64 {
        self.queues[self.index(port, queue)].bytes()
    }

    /// Packets in a queue.
    pub fn queue_packets(&self, port: usize, queue: usize) -> u32 {
        self.queues[self.index(port, queue)].packets()
    }

    /// Slots of the packets in a queue, the first to leave first.
    pub fn slots(&self, port: usize, queue: usize) -> impl Iterator<Item = u32> + '_ {
        self.queues[self.index(port, queue)].slots(&self.links)
    }

    /// The queues of a port that hold packets, a bit each.
    pub fn non_empty(&self, port: usize) -> u32 {
        self.ports[port].non_empty()
    }

    /// Whether a port has nothing to send, paused or not.
    #[inline]
    pub fn is_idle(&self, port: usize) -> bool {
        self.ports[port].is_idle()
    }

    /// Packets in all queues of all ports.
    pub fn total_packets(&self) -> usize {
        self.packets
    }

    #[inline]
    fn index(&self, port: usize, queue: usize) -> usize {
        let range = self.ports[port].queue_range();
        assert!(queue < range.len(), "port {port} has {} queues, no queue {queue}", range.len());
        range.start + queue
    }
}
