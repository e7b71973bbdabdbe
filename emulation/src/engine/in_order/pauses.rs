//! Ends of pauses that last a fixed time, at both ends of a link. Each PAUSE inserts its end; a later frame cancels it.
//!
//! A pause that lasts until RESUME has no end here.

use std::collections::BTreeMap;

use fabric_core::hop_control::{ClassPauses, HopControl, Order};
use fabric_core::priority;
use scenario::Scenario;
use units::Picos;

use super::queue::{Event, Queue, What};
use crate::datapath::FrameId;

/// See the module.
#[derive(Debug)]
pub struct Pauses {
    /// Time of a pause; `None` if it lasts until RESUME.
    time: Option<Picos>,
    /// Number of the event that ends the pause of a (node, port, class) by its neighbour.
    received: BTreeMap<(u32, u16, u8), u64>,
}

impl Pauses {
    /// Pauses as a scenario has them.
    pub fn new(scenario: &Scenario) -> Self {
        Self { time: scenario.switch.pause_lasts.own_end(), received: BTreeMap::new() }
    }

    /// True if no pause ends by an event here.
    pub const fn last_until_frames(&self) -> bool {
        self.time.is_none()
    }

    /// Inserts the ends of pauses that a switch's port has ordered.
    pub fn note_sent(
        &self,
        queue: &mut Queue,
        (now, node, port): (Picos, u32, u16),
        orders: &[(Order, Option<FrameId>)],
    ) {
        let Some(time) = self.time else { return };
        for (order, _) in orders {
            let HopControl::Classes(pauses) = order.control else { continue };
            for class in priority::in_mask(pauses.paused()) {
                let (class, pause) = (class.number(), order.pause);
                queue.insert(now + time, node, What::OwnPauseEnd { port, class, pause });
            }
        }
    }

    /// Inserts the ends of pauses that a switch's port has received. Cancels the ends of earlier ones.
    pub fn note_received(
        &mut self,
        queue: &mut Queue,
        (now, node, port): (Picos, u32, u16),
        pauses: &ClassPauses,
    ) {
        let Some(time) = self.time else { return };
        for class in priority::in_mask(pauses.named) {
            let key = (node, port, class.number());
            if class.is_in(pauses.paused()) {
                let serial = queue.reserve();
                let what = What::PauseEnd { port, class: class.number() };
                queue.insert_as(serial, now + time, node, what);
                self.received.insert(key, serial);
            } else {
                self.received.remove(&key);
            }
        }
    }

    /// True if an event ends the pause of its port and class: no frame has come since.
    pub fn ends(&mut self, event: &Event) -> bool {
        let What::PauseEnd { port, class } = event.what else { return false };
        let (_, serial) = event.key();
        let key = (event.node, port, class);
        let is_current = self.received.get(&key) == Some(&serial);
        if is_current {
            self.received.remove(&key);
        }
        is_current
    }
}
