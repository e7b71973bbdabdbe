//! The trait by which a driver learns what happens in a switch.

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{FlowList, HopControl, Order};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use units::{Bytes, Picos};

use super::Storm;
use crate::link_delay::Measurement;
use crate::tables::SwitchTables;

/// Why a hop control frame is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// A queue or port turned OFF.
    Pause,
    /// A queue or port turned ON.
    Resume,
    /// A pause goes on and is renewed.
    Renewal,
}

impl ControlEvent {
    /// The event of an order that an arrival or a departure caused.
    pub(super) fn of(order: &Order) -> Self {
        if order.resumes { Self::Resume } else { Self::Pause }
    }
}

/// Why a port or ingress queue has become a victim or normal (SPFC, Fig. 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// A victim: enough has departed in the period.
    Fast,
    /// A victim: enough had departed, and its neighbour resumes.
    Resumed,
    /// Normal: a period has ended in which not enough departed.
    Slow,
    /// Normal: it has paused its neighbour.
    Paused,
}

impl StateChange {
    /// Whether it is a victim now.
    pub const fn to_victim(self) -> bool {
        matches!(self, Self::Fast | Self::Resumed)
    }
}

/// A packet that is buffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Where it came in.
    pub port: u16,
    /// Where it leaves.
    pub egress: u16,
    /// Its descriptor.
    pub slot: u32,
    /// Its length.
    pub length: u32,
}

/// A packet that leaves the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Where it leaves.
    pub port: u16,
    /// The queue that it leaves.
    pub queue: QueueId,
    /// Where it had come in.
    pub ingress: u16,
    /// Its priority.
    pub priority: Priority,
    /// Its length.
    pub length: u32,
}

/// Is called for each event, right after the tables show it. Every method does nothing by default.
pub trait Observer {
    /// An observer's error, which ends the run.
    type Error;

    /// A packet is buffered.
    fn admitted(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        _packet: Admitted,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A packet leaves the buffer.
    fn departed(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        _packet: Departed,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A frame that came in at `port` is dropped: on arrival, or when its turn to leave came.
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

    /// A hop control frame came in at `port`.
    fn control_received(
        &mut self,
        _now: Picos,
        _tables: &SwitchTables,
        _port: u16,
        _control: &HopControl,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A hop control frame is to be sent.
    fn control_queued(&mut self, _event: ControlEvent) {}

    /// It tells the neighbour at `port` of `classes`, for the reasons in `order`. If the scheme has states: whether the
    /// port, or the ingress queue, was a `victim` then.
    fn classes_told(
        &mut self,
        _now: Picos,
        _port: u16,
        _order: &Order,
        _classes: u8,
        _event: ControlEvent,
        _victim: Option<bool>,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The neighbour at `port` is told to pause or resume its queue `queue`, for the reasons in `order`.
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

    /// The neighbour at `port` is told the rate of a priority, for the reasons in `order`;
    /// [`LINE_RATE`](fabric_core::hop_control::LINE_RATE): that of the link.
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

    /// A frame pauses or resumes flows of a priority at the neighbour of `port`, for the reasons in `order`.
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

    /// The pauses of a port were tested without an arrival or departure, at a renewal or for a packet that found no room: the port
    /// or its queues may have turned ON or OFF.
    fn pauses_tested(&mut self, _now: Picos, _tables: &SwitchTables, _port: u16) {}

    /// A port, or the ingress queue of a priority, has become a victim or normal.
    fn state_changed(
        &mut self,
        _now: Picos,
        _port: u16,
        _priority: Option<Priority>,
        _change: StateChange,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The switch no longer obeys the pause of (port, priority), because its watchdog forwards in spite of it.
    fn pause_ignored(
        &mut self,
        _now: Picos,
        _port: u16,
        _priority: Priority,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The watchdog has detected a storm; what waited has been dropped, if that is its action.
    fn storm_detected(&mut self, _now: Picos, _storm: &Storm) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A storm is over.
    fn storm_restored(&mut self, _now: Picos, _storm: &Storm) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The headroom of the ingress queues of `port` has changed: its link was measured, or (`None`) the measurement
    /// is out of date.
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
