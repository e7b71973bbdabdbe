//! Notes of events in a part of the fabric during a window. The record receives them in the order of (time, node).

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{FlowList, Order, PauseEvent, PauseLevel};
use fabric_core::port_state::{PortState, StateCause};
use fabric_core::scheme::FlowUse;
use host_agent::SenderState;
use results::{QueueKind, Record, TableRows};
use switch_user::link_delay::Measurement;
use switch_user::switch::Storm;
use topology::{NodeId, WireId};
use units::{Bytes, Nanos, Picos};

use super::host_node::Completion;

/// Reason for a message to a neighbour, as results have it.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// Level whose occupancy decided.
    pub level: PauseLevel,
    /// The occupancy in bytes.
    pub occupancy: u64,
    /// The threshold in bytes.
    pub threshold: u64,
    /// Free bytes of the shared pool.
    pub shared_free: u64,
}

impl From<&Order> for Reason {
    fn from(order: &Order) -> Self {
        Self {
            level: order.level,
            occupancy: order.occupancy_bytes,
            threshold: order.threshold_bytes,
            shared_free: order.shared_free_bytes,
        }
    }
}

/// A decision to pause or resume flows of a neighbour.
#[derive(Clone, Debug)]
pub struct FlowsTold {
    /// The port at which the neighbour is.
    pub port: u16,
    /// Priority of the flows.
    pub priority: u8,
    /// True if they are paused.
    pub paused: bool,
    /// The flows.
    pub flows: FlowList,
    /// Bytes of the ingress queue.
    pub occupancy: u64,
    /// Threshold for this occupancy, bytes.
    pub threshold: u64,
}

/// An event.
#[derive(Clone, Debug)]
pub enum Note {
    /// Payload of a flow arrived in order.
    Delivered {
        /// The flow.
        flow: u32,
        /// Number of bytes.
        bytes: u64,
    },
    /// The last ACK of a flow arrived at its sender.
    Completed {
        /// The flow.
        flow: u32,
        /// Result of the flow.
        completion: Completion,
    },
    /// The state of a traced flow's sender has changed.
    SenderChanged {
        /// The flow.
        flow: u32,
        /// The new state. Boxed to keep notes short.
        state: Box<SenderState>,
    },
    /// A flow's receiver has not received the bytes that its sender sent.
    Misdelivered {
        /// The flow.
        flow: u32,
        /// Bytes received.
        delivered: u64,
        /// Bytes sent.
        bytes: u64,
    },
    /// A decision to pause or resume classes.
    Told {
        /// The port at which the neighbour is.
        port: u16,
        /// The classes.
        classes: u8,
        /// The decision.
        event: PauseEvent,
        /// State of the port or queue; `None` if the scheme has no states.
        state: Option<PortState>,
        /// Reason for the decision.
        reason: Reason,
    },
    /// A decision to pause or resume a queue of a neighbour.
    QueueTold {
        /// The port at which the neighbour is.
        port: u16,
        /// The neighbour's queue.
        queue: u8,
        /// True if the queue is paused.
        paused: bool,
        /// Reason for the decision.
        reason: Reason,
    },
    /// A decision on the rate of a neighbour.
    RateTold {
        /// The port at which the neighbour is.
        port: u16,
        /// The priority.
        priority: u8,
        /// The rate; 0 for the rate of the link.
        kilobits_per_second: u32,
        /// Reason for the decision.
        reason: Reason,
    },
    /// A decision to pause or resume flows of a neighbour.
    FlowsTold(Box<FlowsTold>),
    /// A port, or an ingress queue, has become a victim or normal.
    StateChanged {
        /// The port.
        port: u16,
        /// Priority of the ingress queue; `None` for a port.
        priority: Option<u8>,
        /// Cause of the change.
        cause: StateCause,
    },
    /// A pause of a queue arrived, and stops a flow.
    Held {
        /// The port of the queue.
        port: u16,
        /// The queue.
        queue: u8,
        /// The flow.
        flow: u32,
    },
    /// A class of a PFC frame has crossed a wire; the pause ends at `until`, which for a RESUME is not after its
    /// arrival.
    PauseReceived {
        /// The wire.
        wire: WireId,
        /// The class.
        priority: u8,
        /// Instant at which the pause ends.
        until: Nanos,
        /// Pause time in the frame, quanta; `None` if a watchdog ended the pause without a frame.
        quanta: Option<u16>,
    },
    /// The classes that a watched wire's sender must not send have changed.
    PausesChanged {
        /// The wire.
        wire: u32,
        /// The classes, a bit each.
        paused: u8,
    },
    /// A switch dropped a frame.
    Dropped {
        /// Port at which it arrived.
        port: u16,
        /// Its priority, if it is a packet.
        priority: Option<u8>,
        /// Reason for the drop.
        reason: DropReason,
        /// Its length.
        length: u32,
    },
    /// A fault lost a frame.
    Lost {
        /// The wire.
        wire: WireId,
        /// Its priority, if it is a packet.
        priority: Option<u8>,
        /// Its length.
        length: u32,
        /// True if it is a PAUSE.
        is_pause: bool,
        /// Place of the loss: at its arrival, if its FCS was wrong, or else on the wire.
        reason: DropReason,
    },
    /// A switch has detected a PFC storm. Boxed to keep notes short.
    StormDetected(
        #[cfg_attr(
            not(feature = "kernel"),
            expect(dead_code, reason = "live fabrics tell of it at once, runs when it is over")
        )]
        Box<Storm>,
    ),
    /// A PFC storm is over.
    StormRestored(Box<Storm>),
    /// A link was measured, or its measurement is out of date.
    LinkDelay {
        /// The port.
        port: u16,
        /// The headroom of its ingress queues.
        headroom: Bytes,
        /// Result of the measurement; `None` if it is out of date.
        measured: Option<Measurement>,
    },
    /// Max occupancy of a switch between two samples, if it exceeds both samples.
    SampledPeak {
        /// Instant of the earlier sample.
        since: Picos,
        /// All bytes.
        total: Bytes,
        /// Bytes in headroom.
        headroom: Bytes,
    },
    /// Counters of a switch that have changed since the last sample. One note for all, because most notes are of
    /// this kind.
    Sampled(Vec<SampledCounter>),
    /// A queue of a priority that has several holds more or less than at the last sample.
    SampledQueue {
        /// The port.
        port: u16,
        /// The priority.
        priority: u8,
        /// The queue.
        queue: u8,
        /// Bytes that it holds.
        bytes: u64,
    },
    /// A lossy egress queue whose occupancy or limit has changed since the last sample.
    SampledLossy {
        /// The port.
        port: u16,
        /// The priority.
        priority: u8,
        /// The queue.
        queue: u8,
        /// The new sample. Boxed to keep notes short.
        sample: Box<LossySample>,
    },
    /// Distribution of flows over the queues of a port, if it has changed since the last sample.
    SampledFlows {
        /// The port.
        port: u16,
        /// The new distribution.
        flows: FlowUse,
    },
    /// Row counts of a port's OFC tables, if they have changed since the last sample.
    SampledTables {
        /// The port.
        port: u16,
        /// The new row counts.
        rows: TableRows,
    },
    /// A frame is captured.
    Captured {
        /// The interface of the capture.
        interface: u32,
        /// The frame.
        bytes: Box<[u8]>,
        /// Reason why the frame was dropped, in a capture of drops.
        dropped: Option<DropReason>,
    },
}

/// A counter that has changed since the last sample.
#[derive(Clone, Copy, Debug)]
pub struct SampledCounter {
    /// Kind of the counter.
    pub kind: QueueKind,
    /// Port of the counter; `None` for a counter of the switch.
    pub port: Option<u16>,
    /// Priority of the counter, if it has one.
    pub priority: Option<u8>,
    /// Its value.
    pub bytes: u64,
}

/// A lossy egress queue at a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossySample {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Max bytes that it may hold.
    pub threshold: Option<u64>,
    /// Max time that a packet may wait.
    pub longest_wait: Option<Nanos>,
    /// Congested queues of its priority, in units of [`ONE_QUEUE`](fabric_core::lossy::state::ONE_QUEUE).
    pub congested: u32,
}

/// A note with its time and node.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Time of the event.
    pub at: Picos,
    /// Node of the event.
    pub node: NodeId,
    /// The event.
    pub what: Note,
}

/// The notes of one part.
#[derive(Debug, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    /// Numbers of PFC frames by [`PauseEvent`]: PAUSE, renewals, RESUME.
    pub frames: ControlFrames,
}

/// Numbers of queued PFC frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlFrames {
    pauses: u64,
    renewals: u64,
    resumes: u64,
}

impl ControlFrames {
    /// Counts a frame.
    pub fn count(&mut self, event: PauseEvent) {
        match event {
            PauseEvent::Pause => self.pauses += 1,
            PauseEvent::Refresh => self.renewals += 1,
            PauseEvent::Resume => self.resumes += 1,
        }
    }

    /// Adds the numbers to the record.
    pub fn tell(self, record: &mut Record) {
        record.pause_frames(PauseEvent::Pause, self.pauses);
        record.pause_frames(PauseEvent::Refresh, self.renewals);
        record.pause_frames(PauseEvent::Resume, self.resumes);
    }
}

impl Journal {
    /// Records an event at a node.
    #[inline]
    pub fn note(&mut self, at: Picos, node: NodeId, what: Note) {
        self.entries.push(Entry { at, node, what });
    }

    /// Sorts the notes by (time, node). Notes of a node at one instant keep their order.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|entry| (entry.at, entry.node.0));
    }

    /// Moves the notes of a part to the end of `entries`.
    pub fn give(&mut self, entries: &mut Vec<Entry>) {
        entries.append(&mut self.entries);
    }
}
