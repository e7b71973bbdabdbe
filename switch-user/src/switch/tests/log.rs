//! Events that a switch reports to its observer.

use super::super::*;
use super::{ClassPauses, HopControl, PauseEvent, PauseLevel};

#[derive(Default)]
pub(super) struct Log(pub(super) Vec<Event>);

impl Observer for Log {
    /// Records an event. Of the order of a pause only the number is kept.
    fn event(&mut self, _now: Picos, _tables: &SwitchTables, mut event: Event) {
        if let Event::Pause { order, .. } = &mut event {
            *order = numbered(order.pause);
        }
        self.0.push(event);
    }
}

/// An order of which only the number is known.
const fn numbered(pause: u32) -> Order {
    Order {
        control: HopControl::Classes(ClassPauses::xon(0)),
        level: PauseLevel::Queue,
        resumes: false,
        pause,
        occupancy_bytes: 0,
        threshold_bytes: 0,
        shared_free_bytes: 0,
    }
}

/// Decision number `pause` about classes.
pub(super) const fn decided(port: u16, classes: u8, event: PauseEvent, pause: u32) -> Event {
    Event::Pause { port, classes, event, state: None, order: numbered(pause) }
}
