//! Trait by which a driver is notified of a switch's events.

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{FlowList, HopControl, Order, PauseEvent};
use fabric_core::port_state::{PortState, StateCause};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use units::{Bytes, Picos};

use super::Storm;
use crate::link_delay::Measurement;
use crate::tables::SwitchTables;

/// A packet that was buffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Ingress port.
    pub port: u16,
    /// Egress port.
    pub egress: u16,
    /// Slot of the descriptor.
    pub slot: u32,
    /// Length, bytes.
    pub length: u32,
}

/// A packet that left the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Egress port.
    pub port: u16,
    /// Queue that the packet leaves.
    pub queue: QueueId,
    /// Ingress port.
    pub ingress: u16,
    /// Priority.
    pub priority: Priority,
    /// Length, bytes.
    pub length: u32,
}

/// Receives a call for each event, after the tables contain it. Every method does nothing by default.
pub trait Observer {
    /// Error of an observer, which ends the run.
    type Error;

    /// A packet was buffered.
    fn admitted(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        _packet: Admitted,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A packet left the buffer.
    fn departed(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        _packet: Departed,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A frame that was received at `port` was dropped, at arrival or when its turn to leave came.
    fn dropped(
        &mut self,
        _now: Picos,
        _port: u16,
        _reason: DropReason,
        _priority: Option<Priority>,
        _length: u32,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A hop control frame was received at `port`.
    fn control_received(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        _port: u16,
        _control: &HopControl,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A hop control frame was queued.
    fn control_queued(&mut self, _event: PauseEvent) {}

    /// A PFC frame for `classes` was queued at `port`, for the reasons in `order`. `state`, if the
    /// scheme has states, is the state of the port or the ingress queue at that time.
    fn classes_told(
        &mut self,
        _now: Picos,
        _port: u16,
        _order: &Order,
        _classes: u8,
        _event: PauseEvent,
        _state: Option<PortState>,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A frame to pause or resume the neighbour's queue `queue` was queued at `port`, for the reasons in `order`.
    fn queue_told(
        &mut self,
        _now: Picos,
        _port: u16,
        _order: &Order,
        _queue: QueueId,
        _paused: bool,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A frame with the rate of a priority was queued at `port`, for the reasons in `order`.
    /// [`LINE_RATE`](fabric_core::hop_control::LINE_RATE) sets no limit.
    fn rate_told(
        &mut self,
        _now: Picos,
        _port: u16,
        _order: &Order,
        _priority: Priority,
        _kilobits_per_second: u32,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A frame to pause or resume flows of a priority was queued at `port`, for the reasons in `order`.
    fn flows_told(
        &mut self,
        _now: Picos,
        _port: u16,
        _order: &Order,
        _priority: Priority,
        _flows: &FlowList,
        _paused: bool,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The pauses of a port were tested without an arrival or departure, at a renewal or for a
    /// packet without room. The port or its queues may have turned ON or OFF.
    fn pauses_tested(&mut self, _now: Picos, _tables: &SwitchTables, _port: u16) {}

    /// A port, or the ingress queue of a priority, became a victim or normal.
    fn state_changed(
        &mut self,
        _now: Picos,
        _port: u16,
        _priority: Option<Priority>,
        _change: StateCause,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The switch now ignores the pause of (port, priority), because its watchdog forwards in spite of it.
    fn pause_ignored(
        &mut self,
        _now: Picos,
        _port: u16,
        _priority: Priority,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The watchdog detected a storm. If its action is to drop, the waiting packets were dropped.
    fn storm_detected(&mut self, _now: Picos, _storm: &Storm) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A storm ended.
    fn storm_restored(&mut self, _now: Picos, _storm: &Storm) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The headroom of the ingress queues of `port` changed: its link was measured, or (`None`) the
    /// measurement is out of date.
    fn headroom_changed(
        &mut self,
        _now: Picos,
        _port: u16,
        _headroom: Bytes,
        _measured: Option<Measurement>,
    ) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// An observer that ignores everything.
impl Observer for () {
    type Error = std::convert::Infallible;
}
