//! What commands ask a supervisor, and what it answers: a line of JSON each.

use emulation::live::desk::Delivery;
use emulation::live::impairment::{ImpairmentChange, LinkState};
use emulation::live::view::{View, WireView};
use scenario::CaptureFilter;
use serde::{Deserialize, Serialize};

/// A request's line is at most so long, in bytes: that of an incast from 4096 hosts is shorter.
pub const LONGEST_REQUEST: u64 = 1 << 20;

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// How the fabric is: [`Answer::View`].
    Look {},
    /// Flows, all at once: an [`Answer::Delivered`] for each, as they are done.
    Send {
        /// The flows.
        flows: Vec<Flow>,
    },
    /// Lets wires carry frames, or lose them all: [`Answer::Wires`].
    Link {
        /// A pattern over names of wires, such as "h0->leaf0", or of links, such as "h0-leaf0": both of their wires.
        wire: String,
        /// Whether they carry frames.
        state: LinkState,
        /// Whether routes avoid their links while they are down.
        reroute: bool,
    },
    /// Changes what goes wrong on wires: [`Answer::Wires`].
    Impair {
        /// The same.
        wire: String,
        /// What changes.
        change: ImpairmentChange,
    },
    /// A host's NIC begins to pause its switch without end: [`Answer::Storm`].
    Storm {
        /// The host's name.
        host: String,
        /// Lossless priorities; all of them if there is none.
        priorities: Vec<u8>,
        /// How long, in picoseconds of emulated time; until it is ended if there is none.
        span_ps: Option<u64>,
    },
    /// It no longer does: [`Answer::Storm`].
    EndStorm {
        /// The host's name.
        host: String,
        /// Priorities; all of them if there is none.
        priorities: Vec<u8>,
    },
    /// What crosses wires: an [`Answer::Capturing`], and an [`Answer::Frame`] for each frame, until the connection ends.
    /// An [`Answer::Lost`] comes whenever nothing has crossed them for a second, and at the end.
    Capture {
        /// Names of wires, in which `*` is any text and `?` any character.
        wires: Vec<String>,
        /// Which frames.
        filter: CaptureFilter,
    },
    /// Takes the fabric down: [`Answer::Done`], before it has.
    Stop {},
}

/// A flow that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The sender's name.
    pub src: String,
    /// The receiver's name.
    pub dst: String,
    /// Bytes to transfer, above zero.
    pub bytes: u64,
    /// 0 to 7.
    pub priority: u8,
}

/// A wire that is captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Its name.
    pub name: String,
    /// Its rate in bit/s.
    pub rate_bps: u64,
}

/// How a wire is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedWire {
    /// Its name.
    pub wire: String,
    /// How it is.
    #[serde(flatten)]
    pub view: WireView,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// How the fabric is.
    View(Box<View>),
    /// How wires are.
    Wires {
        /// In the order of their numbers.
        wires: Vec<NamedWire>,
    },
    /// A flow is done.
    Delivered(Delivery),
    /// A storm has begun, or is ended.
    Storm {
        /// Its priorities.
        priorities: Vec<u8>,
    },
    /// Frames follow.
    Capturing {
        /// The wires, in the order of their numbers.
        wires: Vec<Wire>,
    },
    /// A frame has crossed a wire.
    Frame {
        /// The wire's number.
        wire: u32,
        /// When its last bit arrived, in nanoseconds of emulated time.
        time_ns: u64,
        /// The frame, without FCS, in hexadecimal digits.
        bytes: String,
        /// The name of the reason why it goes no further, in a capture of drops.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dropped: Option<String>,
        /// Frames that were lost before it, because they were not read in time.
        lost: u64,
    },
    /// So many frames of a capture were lost so far, because they were not read in time.
    Lost {
        /// How many.
        frames: u64,
    },
    /// It is done.
    Done,
    /// It is not: a sentence.
    Refused {
        /// Why.
        why: String,
        /// Whether that is the end of the fabric.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended: bool,
    },
}
