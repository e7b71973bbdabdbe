//! Notes of events in a part of the fabric during a window. The record receives them in the order of (time, node).

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::PauseEvent;
use fabric_core::scheme::FlowUse;
use host_agent::HostEvent;
use results::{QueueKind, Record, TableRows};
use switch_user::switch::Event;
use topology::{NodeId, WireId};
use units::{Bytes, Nanos, Picos};

/// An event of a node, or a sample.
#[derive(Clone, Debug)]
pub enum Note {
    /// An event of a switch.
    Switch(Event),
    /// An event of a host.
    Host(HostEvent),
    /// Payload of a flow arrived in order.
    Delivered {
        /// The flow.
        flow: u32,
        /// Number of bytes.
        bytes: u64,
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
    /// A pause of a queue arrived, and stops a flow.
    Held {
        /// The port of the queue.
        port: u16,
        /// The queue.
        queue: u8,
        /// The flow.
        flow: u32,
    },
    /// The classes that a watched wire's sender must not send have changed.
    PausesChanged {
        /// The wire.
        wire: u32,
        /// The classes, a bit each.
        paused: u8,
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
    /// Numbers of PFC frames.
    pub frames: ControlFrames,
}

/// Numbers of queued PFC frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlFrames {
    pauses: u64,
    refreshes: u64,
    resumes: u64,
}

impl ControlFrames {
    /// Counts a frame.
    pub fn count(&mut self, event: PauseEvent) {
        match event {
            PauseEvent::Pause => self.pauses += 1,
            PauseEvent::Refresh => self.refreshes += 1,
            PauseEvent::Resume => self.resumes += 1,
        }
    }

    /// Adds the numbers to the record.
    pub fn add_to(self, record: &mut Record) {
        record.pause_frames(PauseEvent::Pause, self.pauses);
        record.pause_frames(PauseEvent::Refresh, self.refreshes);
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
