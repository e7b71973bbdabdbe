//! Frames on their way under the driver that runs events in the order of their insertion.

use units::Picos;

use super::{Core, FrameId, Transmitter, Wires};
use crate::engine::in_order::{Queue, What};

impl<W: Wires> Core<W> {
    /// Sends a frame on a free wire, whose port is busy until the end that this adds to the queue of events. The arrival
    /// is added behind it.
    pub fn transmit_in_order(
        &mut self,
        (now, node, port): (Picos, u32, u16),
        transmitter: &mut Transmitter,
        frame: FrameId,
        length: u32,
        queue: &mut Queue,
    ) {
        let arrival = transmitter.start(now, length);
        // The record of the frame ends when its port becomes free.
        if self.wire_logger.is_some() || self.link_tally.is_some() {
            self.log_sent(now, transmitter, frame, length, arrival);
        }
        let free = std::mem::replace(&mut transmitter.busy_until, Picos::MAX);
        queue.insert(free, node, What::Free { port });
        let what = What::Arrival { port: transmitter.to_port, frame, length };
        queue.insert(arrival, transmitter.to.index, what);
        self.flying += 1;
    }

    /// Counts a frame that was sent by [`transmit_in_order`](Self::transmit_in_order) and arrives now.
    #[inline]
    pub fn landed(&mut self, now: Picos) {
        self.flying -= 1;
        self.tally.packet_hops += 1;
        self.tally.last_activity = now;
    }
}
