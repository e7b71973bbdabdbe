//! Events that a switch reports to its observer.

use std::convert::Infallible;

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{HopControl, Order, PauseEvent};
use fabric_core::port_state::{PortState, StateCause};
use units::Bytes;

use super::super::*;
use crate::link_delay::Measurement;

/// An event that an observer received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Admitted(Admitted),
    Departed(Departed),
    Dropped {
        port: u16,
        reason: DropReason,
        priority: Option<Priority>,
        length: u32,
    },
    Received {
        port: u16,
        control: HopControl,
    },
    Queued(PauseEvent),
    Classes {
        port: u16,
        classes: u8,
        event: PauseEvent,
        pause: u32,
    },
    PauseRenewed(u16),
    /// Follows `Classes`, if the scheme has states.
    Before(PortState),
    State {
        port: u16,
        priority: Option<Priority>,
        change: StateCause,
    },
    Headroom {
        port: u16,
        bytes: Bytes,
        measured: Option<Measurement>,
    },
    PauseIgnored {
        port: u16,
        priority: Priority,
    },
    Detected(Storm),
    Restored(Storm),
}

#[derive(Default)]
pub(super) struct Log(pub(super) Vec<Told>);

impl Observer for Log {
    type Error = Infallible;

    fn admitted(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        packet: Admitted,
    ) -> Result<(), Infallible> {
        self.0.push(Told::Admitted(packet));
        Ok(())
    }

    fn departed(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        packet: Departed,
    ) -> Result<(), Infallible> {
        self.0.push(Told::Departed(packet));
        Ok(())
    }

    fn dropped(
        &mut self,
        _now: Picos,
        port: u16,
        reason: DropReason,
        priority: Option<Priority>,
        length: u32,
    ) -> Result<(), Infallible> {
        self.0.push(Told::Dropped { port, reason, priority, length });
        Ok(())
    }

    fn control_received(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        port: u16,
        control: &HopControl,
    ) -> Result<(), Infallible> {
        self.0.push(Told::Received { port, control: *control });
        Ok(())
    }

    fn control_queued(&mut self, event: PauseEvent) {
        self.0.push(Told::Queued(event));
    }

    fn classes_told(
        &mut self,
        _now: Picos,
        port: u16,
        order: &Order,
        classes: u8,
        event: PauseEvent,
        state: Option<PortState>,
    ) -> Result<(), Infallible> {
        self.0.push(Told::Classes { port, classes, event, pause: order.pause });
        self.0.extend(state.map(Told::Before));
        Ok(())
    }

    fn state_changed(
        &mut self,
        _now: Picos,
        port: u16,
        priority: Option<Priority>,
        change: StateCause,
    ) -> Result<(), Infallible> {
        self.0.push(Told::State { port, priority, change });
        Ok(())
    }

    fn pause_ignored(
        &mut self,
        _now: Picos,
        port: u16,
        priority: Priority,
    ) -> Result<(), Infallible> {
        self.0.push(Told::PauseIgnored { port, priority });
        Ok(())
    }

    fn storm_detected(&mut self, _now: Picos, storm: &Storm) -> Result<(), Infallible> {
        self.0.push(Told::Detected(*storm));
        Ok(())
    }

    fn storm_restored(&mut self, _now: Picos, storm: &Storm) -> Result<(), Infallible> {
        self.0.push(Told::Restored(*storm));
        Ok(())
    }

    fn pauses_tested(&mut self, _now: Picos, _tables: &SwitchTables, port: u16) {
        self.0.push(Told::PauseRenewed(port));
    }

    fn headroom_changed(
        &mut self,
        _now: Picos,
        port: u16,
        bytes: Bytes,
        measured: Option<Measurement>,
    ) -> Result<(), Infallible> {
        self.0.push(Told::Headroom { port, bytes, measured });
        Ok(())
    }
}
