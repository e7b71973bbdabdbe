//! Frames on their way, if events run in the order of their insertion.

use std::cmp::Reverse;

use fabric_core::drop_reason::DropReason;
use topology::{NodeId, WireId};
use units::Picos;

use super::{Core, FrameId, Transmitter, Wires};
use crate::datapath::FrameStore;
use crate::engine::arrivals::Arrival;
use crate::engine::in_order::{Queue, What};
use crate::engine::journal::Note;
use crate::engine::transmitter::Receiver;

/// Number that no part has: no node is in a part with it, so that frames take the way to other parts, and the queue there.
const NO_PART: u32 = u32::MAX;

impl<W: Wires> Core<W> {
    /// Makes events run in the order of their insertion into a queue.
    pub fn set_queue(&mut self, queue: Queue) {
        self.queue = Some(Box::new(queue));
        self.part = NO_PART;
    }

    /// Wakes a node at an instant at which it has a command.
    pub fn wake(&mut self, node: u32, at: Picos) {
        match &mut self.queue {
            Some(queue) => queue.insert(at, node, What::Due),
            None => self.upcoming.wake(node, at),
        }
    }

    /// The queue of events.
    ///
    /// # Panics
    /// If the events of this core run by node and not by insertion.
    #[inline]
    pub fn queue(&mut self) -> &mut Queue {
        self.queue.as_deref_mut().expect("events run in the order of their insertion")
    }

    /// Adds the end of a transmission to the queue, if there is one: the port is busy until it has run.
    #[inline]
    pub(super) fn occupy(&mut self, transmitter: &mut Transmitter) {
        if let Some(queue) = &mut self.queue {
            let free = std::mem::replace(&mut transmitter.busy_until, Picos::MAX);
            queue.insert(free, transmitter.from.0, What::Free { port: transmitter.from_port });
        }
    }

    /// Adds the arrival of a frame to the queue behind the end of its transmission.
    pub(super) fn enqueue(
        &mut self,
        arrival: Picos,
        transmitter: &mut Transmitter,
        frame: FrameId,
        length: u32,
    ) {
        self.occupy(transmitter);
        let what = What::Arrival { port: transmitter.to_port, frame, length };
        self.queue().insert(arrival, transmitter.to.index, what);
        self.flying += 1;
    }

    /// Frames on their way to nodes of this part, as pairs of node and port.
    pub fn on_their_way(&self) -> impl Iterator<Item = (u32, u16)> {
        let delivered =
            (0..).zip(&self.inboxes).zip(&self.later).flat_map(|((node, inbox), later)| {
                let later = later.iter().map(|Reverse(arrival)| arrival);
                inbox.iter().chain(later).map(move |arrival| (node, arrival.port()))
            });
        let unopened = self.unopened.iter().flat_map(|mail| &mail.letters);
        let unopened = unopened.map(|letter| (letter.to, letter.port));
        let queued = self.queue.iter().flat_map(|queue| queue.on_their_way());
        delivered.chain(unopened).chain(queued)
    }

    /// Drops a frame at the end of its wire, for a wrong FCS or by a fault.
    #[cold]
    pub fn lose_arriving(
        &mut self,
        now: Picos,
        node: NodeId,
        receiver: &mut Receiver,
        arrival: Arrival,
        reason: DropReason,
    ) {
        if reason == DropReason::Corrupted {
            return self.drop_damaged(now, node, receiver, arrival);
        }
        let (wire, frame) = (receiver.wire, arrival.frame());
        receiver.lost += 1;
        if let Some(tally) = &mut self.link_tally {
            tally.count_mut(wire, &self.frames.label(frame)).lost += 1;
        }
        self.tally.count_lost(reason);
        self.capture_dropped(now, node, receiver, (frame, wire), reason);
        self.note_lost(now, node, wire, frame, (arrival.length(), reason));
    }

    /// Counts a frame that never leaves its queue, because the wire is down.
    pub fn lose_waiting(&mut self, now: Picos, node: NodeId, wire: WireId, frame: FrameId) {
        let reason = DropReason::LinkDown;
        self.tally.count_lost(reason);
        let (priority, length) = (self.frames.priority(frame), self.frames.length(frame));
        let what = Note::Lost { wire, priority, length, is_pause: false, reason };
        self.journal.note(now, node, what);
    }

    /// Counts a frame of the queue that arrives now.
    #[inline]
    pub fn landed(&mut self, now: Picos) {
        self.flying -= 1;
        self.tally.packet_hops += 1;
        self.tally.last_activity = now;
    }
}
