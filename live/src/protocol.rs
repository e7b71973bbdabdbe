//! Requests of commands to a supervisor, and its answers: one line of JSON each.

use emulation::live::desk::Delivery;
use emulation::live::impairment::{ImpairmentChange, LinkState};
use emulation::live::view::{StormSpan, View, WireView};
use scenario::CaptureFilter;
use serde::{Deserialize, Serialize};

/// Max length of a request's line, in bytes: enough for an incast from 4096 hosts.
pub const MAX_REQUEST_LENGTH: u64 = 1 << 20;

/// Requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Queries the state of the fabric: [`Answer::View`].
    Look {},
    /// Starts flows, all at the same time: an [`Answer::Delivered`] for each flow when it is done.
    Send {
        /// The flows.
        flows: Vec<Flow>,
    },
    /// Takes wires up or down: [`Answer::Wires`].
    Link {
        /// Pattern for names of wires, such as "h0->leaf0", or of links, such as "h0-leaf0": both of their wires.
        wire: String,
        /// New state of the wires.
        state: LinkState,
        /// True if routes avoid the links while they are down.
        reroute: bool,
    },
    /// Changes the impairments of wires: [`Answer::Wires`].
    Impair {
        /// Pattern as in [`Request::Link`].
        wire: String,
        /// Changes of the impairments.
        change: ImpairmentChange,
    },
    /// Starts a storm: a host's NIC pauses its switch continuously: [`Answer::Storm`].
    Storm {
        /// Name of the host.
        host: String,
        /// Lossless priorities; empty for all.
        priorities: Vec<u8>,
        /// Duration of the storm, in picoseconds of emulated time; `None` until it is ended.
        span_ps: Option<u64>,
    },
    /// Ends a host's storms: [`Answer::Storm`].
    EndStorm {
        /// Name of the host.
        host: String,
        /// Priorities; empty for all.
        priorities: Vec<u8>,
    },
    /// Captures frames on wires: an [`Answer::Capturing`], then an [`Answer::Frame`] for each frame until the
    /// connection ends. An [`Answer::Lost`] is sent after each second without frames, and at the end.
    Capture {
        /// Patterns for names of wires; `*` matches any text and `?` any character.
        wires: Vec<String>,
        /// Frames to capture.
        filter: CaptureFilter,
    },
    /// Takes the fabric down: [`Answer::Done`], sent before the fabric ends.
    Stop {},
}

/// A requested flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name of the sender.
    pub src: String,
    /// Name of the receiver.
    pub dst: String,
    /// Bytes to transfer, above zero.
    pub bytes: u64,
    /// Priority, 0 to 7.
    pub priority: u8,
}

/// A captured wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Name of the wire.
    pub name: String,
    /// Rate of the wire in bit/s.
    pub rate_bps: u64,
}

/// State of a wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedWire {
    /// Name of the wire.
    pub wire: String,
    /// State of the wire.
    #[serde(flatten)]
    pub view: WireView,
}

/// Answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// State of the fabric.
    View(Box<View>),
    /// States of wires.
    Wires {
        /// Wires in the order of their numbers.
        wires: Vec<NamedWire>,
    },
    /// A flow is done.
    Delivered(Delivery),
    /// A storm has begun or ended.
    Storm {
        /// Priorities of the storm.
        priorities: Vec<u8>,
        /// Storms that have begun, by priority; an earlier storm may last longer.
        #[serde(default)]
        spans: Vec<StormSpan>,
    },
    /// A capture has begun; frames follow.
    Capturing {
        /// Captured wires in the order of their numbers.
        wires: Vec<Wire>,
    },
    /// A frame has crossed a wire.
    Frame {
        /// Number of the wire.
        wire: u32,
        /// Arrival of the last bit, in nanoseconds of emulated time.
        time_ns: u64,
        /// Bytes of the frame without FCS, as hexadecimal digits.
        bytes: String,
        /// Name of the drop reason, in a capture of drops.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dropped: Option<String>,
        /// Number of frames lost before this one, because the client read too slowly.
        lost: u64,
    },
    /// Frames of a capture were lost, because the client read too slowly.
    Lost {
        /// Number of frames lost so far.
        frames: u64,
    },
    /// The request is done.
    Done,
    /// The request is refused.
    Refused {
        /// Reason, as a sentence.
        why: String,
        /// True if the fabric has ended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended: bool,
    },
}
