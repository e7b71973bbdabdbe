//! A FIFO below the egress queues of each port, like the device queue below the queue disc in ns-3.
//!
//! A packet enters the FIFO as soon as the FIFO has room, by [`Switch::poll_staged`], and has then
//! departed: its buffer is released, and thresholds, marks, stamps and verdicts at departure
//! consider only the egress queues. A free port sends the result of [`Switch::poll_device_queue`].
//! Pauses do not stop packets in the FIFO, so it is for switches without lossless priorities.

use std::collections::VecDeque;

use fabric_core::cell::Sharing;
use fabric_core::scheme::Scheme;
use units::Picos;

use super::{Observer, Switch, Transmission};

/// Max packets for which a FIFO allocates memory in advance.
const USUAL_ROOM: usize = 256;

/// A packet that has departed and waits for its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staged<F> {
    /// The frame.
    pub frame: F,
    /// Length of the frame, bytes.
    pub length: u32,
}

/// The FIFOs of all ports.
pub(super) struct DeviceQueues<F> {
    /// Max packets in each FIFO, above zero.
    room: usize,
    ports: Box<[VecDeque<Staged<F>>]>,
}

impl<F> DeviceQueues<F> {
    /// Creates empty FIFOs.
    ///
    /// # Panics
    /// If `room` is 0.
    pub(super) fn new(room: usize, ports: usize) -> Self {
        assert!(room > 0, "a FIFO holds a packet at least");
        let fifo = |_| VecDeque::with_capacity(room.min(USUAL_ROOM));
        Self { room, ports: (0..ports).map(fifo).collect() }
    }

    pub(super) fn is_empty(&self, port: u16) -> bool {
        self.ports[usize::from(port)].is_empty()
    }
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// True if the ports have FIFOs below their egress queues.
    #[inline]
    pub fn has_device_queues(&self) -> bool {
        self.device_queues.is_some()
    }

    /// Returns the next packet that moves from a port's egress queues to the FIFO below, until the
    /// FIFO is full. The driver marks and stamps the packet now; it is sent later. Call it after
    /// every call that names a port, whether the port is free or not.
    pub fn poll_staged<D: Sharing, O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        observer: &mut O,
    ) -> Option<Transmission<F>> {
        let number = usize::from(port);
        let has_room = |device: &DeviceQueues<F>| device.ports[number].len() < device.room;
        if !self.device_queues.as_deref().is_some_and(has_room) {
            return None;
        }
        let sent = self.poll_transmit::<D, O>(now, port, observer);
        // All priorities are lossy here. A control frame would have to precede the packets in the FIFO.
        debug_assert!(self.woken.is_empty(), "port {port}: a departure has orders for a neighbour");
        if let (Some(device), Some(sent)) = (&mut self.device_queues, &sent) {
            let Transmission { frame, length, .. } = *sent;
            device.ports[number].push_back(Staged { frame, length });
        }
        sent
    }

    /// Returns the packet of the FIFO that a free port sends next. Then the FIFO has room for another one.
    pub fn poll_device_queue(&mut self, port: u16) -> Option<Staged<F>> {
        self.device_queues.as_mut()?.ports[usize::from(port)].pop_front()
    }

    /// True if all egress queues and FIFOs are empty.
    pub fn holds_no_packet(&self) -> bool {
        let mut below = self.device_queues.iter().flat_map(|device| &device.ports);
        self.queues.total_packets() == 0 && below.all(VecDeque::is_empty)
    }
}
