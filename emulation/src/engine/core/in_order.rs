//! Frames on their way, if events run in the order of their insertion.

use std::cmp::Reverse;

use units::Picos;

use super::{Core, FrameId, Transmitter, Wires};
use crate::engine::in_order::{Queue, What};

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

    /// Counts a frame of the queue that arrives now.
    #[inline]
    pub fn landed(&mut self, now: Picos) {
        self.flying -= 1;
        self.tally.packet_hops += 1;
        self.tally.last_activity = now;
    }
}
