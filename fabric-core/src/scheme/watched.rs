//! State of a scheme that watchers of a run read: deadlock watch, samples, totals.
//!
//! The tables of a scheme are known to the scheme only. This trait shows what waits for whom, and counters. Nothing here
//! runs for a packet, or in eBPF.

use super::{FlowUse, Ingress, IngressState, PortUse};
use crate::hop_control::PauseLevel;
use crate::policy::Policy;
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::tables::Tables;
use units::Nanos;

/// A scheme as watchers see it. By default it pauses neither queues nor flows.
pub trait Watched: Sized {
    /// True if the scheme pauses single flows of its neighbours.
    fn pauses_flows(_policy: Policy) -> bool {
        false
    }

    /// Returns the queue of the neighbour at a packet's ingress port that stays paused while the packet is in the
    /// switch. `note` is in the packet's descriptor.
    fn queue_behind(_policy: Policy, _note: u32) -> Option<QueueId> {
        None
    }

    /// Returns the flows of a priority that the neighbour behind an egress port has paused.
    fn held_flows<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _priority: Priority,
    ) -> HeldFlows {
        HeldFlows::default()
    }

    /// Returns the name of a packet's flow if the neighbour behind its egress port has paused the flow. `note` is in the
    /// packet's descriptor.
    fn held_flow<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _priority: Priority,
        _note: u32,
    ) -> Option<u32> {
        None
    }

    /// True if the neighbour behind an egress port has paused the flow of this name, and the flow has an entry.
    fn holds_flow<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _priority: Priority,
        _name: u32,
    ) -> bool {
        false
    }

    /// Passes the names of the flows that an ingress queue has paused at its neighbour to `name`.
    fn paused_flows<T: Tables>(_at: &Ingress<'_, T>, _name: &mut impl FnMut(u32)) {}

    /// Returns the totals of flow pauses of a priority at a port.
    fn flow_pauses<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _priority: Priority,
    ) -> FlowPauses {
        FlowPauses::default()
    }

    /// Passes each row of an egress port's flow table to `row`.
    fn flow_rows<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _row: &mut impl FnMut(FlowRow),
    ) {
    }

    /// Returns the bytes held by a port, if the scheme counts per port.
    fn port_use<T: Tables>(_tables: &T, _policy: Policy, _port: u32) -> PortUse {
        PortUse::default()
    }

    /// Returns the number of priorities with the min rate at a port's neighbour, if the scheme limits rates.
    fn slowest<T: Tables>(_tables: &T, _policy: Policy, _port: u32) -> Option<u32> {
        None
    }

    /// Returns the distribution of flows over the queues of a port, if the scheme assigns queues to flows.
    fn flow_use<T: Tables>(_tables: &T, _policy: Policy, _port: u32) -> Option<FlowUse> {
        None
    }

    /// Returns the level of the scheme's states: ingress ports or ingress queues. `None` without states.
    fn states(_policy: Policy) -> Option<PauseLevel> {
        None
    }

    /// Returns the state of an ingress queue, or of its port, if the scheme has [states](Self::states). The state may
    /// belong to a period that is over, until the next packet or [`tick`](Self::tick).
    fn state<T: Tables>(
        _tables: &T,
        _policy: Policy,
        _port: u32,
        _priority: Priority,
    ) -> Option<IngressState> {
        None
    }

    /// Updates such a state after time has passed without packets.
    fn tick<T: Tables>(_tables: &T, _policy: Policy, _port: u32, _priority: Priority, _now: Nanos) {
    }

    /// True if the scheme pauses whole ports.
    fn pauses_ports(_policy: Policy) -> bool {
        false
    }
}

/// Flows of a priority that a port holds back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldFlows {
    /// Number of flows.
    pub flows: u32,
    /// Queue that sends no packets, because a flow has no entry.
    pub stopped: Option<QueueId>,
}

/// Totals of flow pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPauses {
    /// Frames that paused flows.
    pub pause_frames: u32,
    /// Flows named in these frames.
    pub flows: u32,
    /// Frames that resumed flows.
    pub resume_frames: u32,
    /// Times that the class was paused because a flow had no entry.
    pub class_pauses: u32,
    /// Packets whose flow had no entry.
    pub unnamed_packets: u32,
}

/// A row of a flow table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowRow {
    /// True if the flow has packets in the switch.
    pub has_packets: bool,
    /// True if the neighbour behind the egress port has paused the flow.
    pub is_held: bool,
    /// Ingress port at which the switch has paused the flow, if it has.
    pub paused_at: Option<u32>,
}
