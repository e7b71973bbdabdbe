//! A FIFO below the egress queues of each port, as the device queue below the queue disc in ns-3.
//!
//! A packet goes into it as soon as it has room, by [`Switch::poll_staged`], and has departed then: its buffer is given
//! back, thresholds, marks, stamps and verdicts at departure have seen the egress queues alone. [`Switch::poll_device_queue`]
//! is what a free port sends. Nothing can pause what is in it, so it is for switches without lossless priorities.

use std::collections::VecDeque;

use fabric_core::cell::Sharing;
use fabric_core::scheme::Scheme;
use units::Picos;

use super::{Observer, Switch, Transmission};

/// Packets for which a FIFO sets memory aside before it needs it.
const USUAL_ROOM: usize = 256;

/// A packet that has departed and waits for its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staged<F> {
    /// The frame.
    pub frame: F,
    /// Its length.
    pub length: u32,
}

/// The FIFOs of all ports.
pub(super) struct DeviceQueues<F> {
    /// Packets that one holds, above zero.
    room: usize,
    ports: Box<[VecDeque<Staged<F>>]>,
}

impl<F> DeviceQueues<F> {
    /// Empty ones.
    ///
    /// # Panics
    /// If they have no room.
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
    /// Whether its ports have a FIFO below their egress queues.
    #[inline]
    pub fn has_device_queues(&self) -> bool {
        self.device_queues.is_some()
    }

    /// The next packet that leaves a port's egress queues for the FIFO below them, until that has no more room. The driver
    /// marks and stamps it; it is sent later. After every call that names a port, whether the port is free or not.
    pub fn poll_staged<D: Sharing, O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        observer: &mut O,
    ) -> Result<Option<Transmission<F>>, O::Error> {
        let number = usize::from(port);
        let has_room = |device: &DeviceQueues<F>| device.ports[number].len() < device.room;
        if !self.device_queues.as_deref().is_some_and(has_room) {
            return Ok(None);
        }
        let sent = self.poll_transmit::<D, O>(now, port, observer)?;
        // Nothing is lossless here. A control frame would have to be sent before what is in the FIFO.
        debug_assert!(self.woken.is_empty(), "port {port}: a departure has orders for a neighbour");
        if let (Some(device), Some(sent)) = (&mut self.device_queues, &sent) {
            let Transmission { frame, length, .. } = *sent;
            device.ports[number].push_back(Staged { frame, length });
        }
        Ok(sent)
    }

    /// The packet of its FIFO that a free port sends next. There is room for another one then.
    pub fn poll_device_queue(&mut self, port: u16) -> Option<Staged<F>> {
        self.device_queues.as_mut()?.ports[usize::from(port)].pop_front()
    }

    /// Whether no packet is in an egress queue or below one.
    pub fn holds_no_packet(&self) -> bool {
        let mut below = self.device_queues.iter().flat_map(|device| &device.ports);
        self.queues.total_packets() == 0 && below.all(VecDeque::is_empty)
    }
}
