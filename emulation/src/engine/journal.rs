//! What happens in a part of the fabric during a window, to be told to the record in the order of (time, node).

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{FlowList, Order, PauseLevel};
use fabric_core::scheme::FlowUse;
use host_agent::SenderState;
use results::{PauseEvent, QueueKind, Record, TableRows};
use switch_user::link_delay::Measurement;
use switch_user::switch::{ControlEvent, StateChange, Storm};
use topology::{NodeId, WireId};
use units::{Bytes, Nanos, Picos};

use super::host_node::Completion;

/// Why a neighbour is told of classes, as far as results have it.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    /// Whose occupancy decided.
    pub level: PauseLevel,
    /// The occupancy in bytes.
    pub occupancy: u64,
    /// The threshold in bytes.
    pub threshold: u64,
    /// What was free of the shared pool, in bytes.
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
    /// Their priority.
    pub priority: u8,
    /// True if they must stop.
    pub paused: bool,
    /// The flows.
    pub flows: FlowList,
    /// Bytes of the ingress queue.
    pub occupancy: u64,
    /// The bytes with which they were compared.
    pub threshold: u64,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Note {
    /// Payload of a flow arrived in order.
    Delivered {
        /// The flow.
        flow: u32,
        /// How much.
        bytes: u64,
    },
    /// The last ACK of a flow arrived at its sender.
    Completed {
        /// The flow.
        flow: u32,
        /// How it ended.
        completion: Completion,
    },
    /// What governs the sender of a traced flow has changed.
    SenderChanged {
        /// The flow.
        flow: u32,
        /// What it is now. In a box, so that it does not make every note longer.
        state: Box<SenderState>,
    },
    /// A flow's receiver has not what its sender has sent.
    Misdelivered {
        /// The flow.
        flow: u32,
        /// What the receiver has.
        delivered: u64,
        /// What it should have.
        bytes: u64,
    },
    /// A decision to pause or resume classes.
    Told {
        /// The port at which the neighbour is.
        port: u16,
        /// The classes.
        classes: u8,
        /// Pause, resume or renewal.
        event: ControlEvent,
        /// Whether the port was a victim, if ports have states.
        victim: Option<bool>,
        /// Why.
        reason: Reason,
    },
    /// A decision to pause or resume a queue of a neighbour.
    QueueTold {
        /// The port at which the neighbour is.
        port: u16,
        /// The neighbour's queue.
        queue: u8,
        /// Whether it must stop.
        paused: bool,
        /// Why.
        reason: Reason,
    },
    /// A decision on the rate of a neighbour.
    RateTold {
        /// The port at which the neighbour is.
        port: u16,
        /// The priority.
        priority: u8,
        /// 0: that of the link.
        kilobits_per_second: u32,
        /// Why.
        reason: Reason,
    },
    /// A decision to pause or resume flows of a neighbour.
    FlowsTold(Box<FlowsTold>),
    /// A port, or an ingress queue, has become a victim or normal.
    StateChanged {
        /// The port.
        port: u16,
        /// The priority of the queue, if it is one.
        priority: Option<u8>,
        /// Why.
        change: StateChange,
    },
    /// A pause of a queue came in, and holds a flow.
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
        /// When the pause ends.
        until: Nanos,
        /// What the frame says; `None` if there was none: a watchdog ends the pause.
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
        /// Where it came in.
        port: u16,
        /// Its priority, if it is a packet.
        priority: Option<u8>,
        /// Why.
        reason: DropReason,
        /// Its length.
        length: u32,
    },
    /// A fault took a frame.
    Lost {
        /// The wire.
        wire: WireId,
        /// Its priority, if it is a packet.
        priority: Option<u8>,
        /// Its length.
        length: u32,
        /// Whether it is a PAUSE.
        is_pause: bool,
        /// How: where it arrived, if its FCS was wrong, or else on the wire.
        reason: DropReason,
    },
    /// A switch has detected a PFC storm. In a box, so that it does not make every note longer.
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
        /// What was measured.
        measured: Option<Measurement>,
    },
    /// What a switch held at most between two samples, if it was more than at both.
    SampledPeak {
        /// When the earlier sample was.
        since: Picos,
        /// All bytes.
        total: Bytes,
        /// Those in headroom.
        headroom: Bytes,
    },
    /// Counters of a switch that a sample found changed. In one note, because they are most of what is noted.
    Sampled(Vec<SampledCounter>),
    /// A queue of a priority that has several holds more or less than at the last sample.
    SampledQueue {
        /// The port.
        port: u16,
        /// The priority.
        priority: u8,
        /// The queue.
        queue: u8,
        /// Its value.
        bytes: u64,
    },
    /// A lossy egress queue holds, or may hold, more or less than at the last sample.
    SampledLossy {
        /// The port.
        port: u16,
        /// The priority.
        priority: u8,
        /// The queue.
        queue: u8,
        /// What it is now. In a box, so that it does not make every note longer.
        sample: Box<LossySample>,
    },
    /// How flows are spread over the queues of a port, where it differs from the last sample.
    SampledFlows {
        /// The port.
        port: u16,
        /// How they are.
        flows: FlowUse,
    },
    /// OFC's tables of a port have other numbers of rows than at the last sample.
    SampledTables {
        /// The port.
        port: u16,
        /// How many.
        rows: TableRows,
    },
    /// A frame is captured.
    Captured {
        /// The interface of the capture.
        interface: u32,
        /// The frame.
        bytes: Box<[u8]>,
        /// Why it goes no further, in a capture of drops.
        dropped: Option<DropReason>,
    },
}

/// A counter that a sample found changed.
#[derive(Clone, Copy, Debug)]
pub struct SampledCounter {
    /// Which counter.
    pub kind: QueueKind,
    /// Of which port, if of one.
    pub port: Option<u16>,
    /// Of which priority, if of one.
    pub priority: Option<u8>,
    /// Its value.
    pub bytes: u64,
}

/// A lossy egress queue at a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossySample {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Bytes that it may hold.
    pub threshold: Option<u64>,
    /// How long a packet may wait.
    pub longest_wait: Option<Nanos>,
    /// Congested queues of its priority, in units of [`ONE_QUEUE`](fabric_core::lossy::state::ONE_QUEUE).
    pub congested: u32,
}

/// A note, and when and where it was made.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When.
    pub at: Picos,
    /// Where.
    pub node: NodeId,
    /// What.
    pub what: Note,
}

/// The notes of one part.
#[derive(Debug, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    /// PFC frames by [`ControlEvent`]: PAUSE, renewals, RESUME.
    pub frames: ControlFrames,
}

/// PFC frames that were queued.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlFrames {
    pauses: u64,
    renewals: u64,
    resumes: u64,
}

impl ControlFrames {
    /// Counts one.
    pub fn count(&mut self, event: ControlEvent) {
        match event {
            ControlEvent::Pause => self.pauses += 1,
            ControlEvent::Renewal => self.renewals += 1,
            ControlEvent::Resume => self.resumes += 1,
        }
    }

    /// Tells the record of all.
    pub fn tell(self, record: &mut Record) {
        record.pause_frames(PauseEvent::Xoff, self.pauses);
        record.pause_frames(PauseEvent::XoffRefresh, self.renewals);
        record.pause_frames(PauseEvent::Xon, self.resumes);
    }
}

impl Journal {
    /// Something happened at a node.
    #[inline]
    pub fn note(&mut self, at: Picos, node: NodeId, what: Note) {
        self.entries.push(Entry { at, node, what });
    }

    /// Puts the notes in the order of (time, node); those of a node at an instant stay as they are.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|entry| (entry.at, entry.node.0));
    }

    /// Moves the notes of a part to the end of `entries`.
    pub fn give(&mut self, entries: &mut Vec<Entry>) {
        entries.append(&mut self.entries);
    }
}
