//! Events of a switch, and the trait by which a driver receives them.

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{Order, PauseEvent};
use fabric_core::port_state::{PortState, StateCause};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use units::{Bytes, Nanos, Picos};

use super::Storm;
use crate::link_delay::Measurement;
use crate::tables::SwitchTables;

/// An event of a switch. Ports are the switch's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet was buffered.
    Admitted(Admitted),
    /// A packet left the buffer.
    Departed(Departed),
    /// A frame was dropped, at arrival or when its turn to leave came.
    Dropped {
        /// Ingress port.
        port: u16,
        /// Reason for the drop.
        reason: DropReason,
        /// Priority, if the frame is a packet.
        priority: Option<Priority>,
        /// Length, bytes.
        length: u32,
    },
    /// A class of a PFC frame was received.
    PauseReceived {
        /// Ingress port of the frame.
        port: u16,
        /// The class.
        priority: Priority,
        /// End of the pause. For a RESUME not after the arrival.
        until: Nanos,
        /// Pause time in the frame, quanta. `None`: no frame was received, but the switch now ignores the pause,
        /// because its watchdog forwards in spite of it.
        quanta: Option<u16>,
    },
    /// A PFC frame was queued. It may carry several decisions.
    PfcQueued(PauseEvent),
    /// A decision to pause or resume classes of the neighbour. Its PFC frame was queued.
    Pause {
        /// Ingress port.
        port: u16,
        /// The classes, a bit each.
        classes: u8,
        /// The decision.
        event: PauseEvent,
        /// State of the port or ingress queue before the decision, if the scheme has states.
        state: Option<PortState>,
        /// The order with the reason.
        order: Order,
    },
    /// A decision on a queue, on flows or on a rate of the neighbour. Its hop control frame was queued.
    Ordered {
        /// Ingress port.
        port: u16,
        /// The decision, with the reason.
        order: Order,
    },
    /// The pauses of a port were tested without an arrival or departure, at a refresh or for a packet without room.
    /// The port or its queues may have turned ON or OFF.
    PausesTested {
        /// Ingress port.
        port: u16,
    },
    /// A port, or the ingress queue of a priority, became a victim or normal.
    StateChanged {
        /// Ingress port.
        port: u16,
        /// Priority of the ingress queue; `None` if the port has one state.
        priority: Option<Priority>,
        /// Cause of the change.
        cause: StateCause,
    },
    /// The watchdog detected a storm. If its action is to drop, the waiting packets were dropped.
    StormDetected(Box<Storm>),
    /// A storm ended.
    StormRestored(Box<Storm>),
    /// The headroom of the ingress queues of a port changed, because its link was measured.
    HeadroomChanged {
        /// Ingress port.
        port: u16,
        /// The new headroom of each queue.
        headroom: Bytes,
        /// The measurement. `None` if the last one is out of date.
        measured: Option<Measurement>,
    },
}

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

/// Receives the events of a switch.
pub trait Observer {
    /// An event at `now`, after `tables` contain it.
    fn event(&mut self, now: Picos, tables: &SwitchTables, event: Event);
}
