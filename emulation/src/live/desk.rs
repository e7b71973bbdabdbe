//! Requests of users to a live fabric, from other threads.
//!
//! Answers come through channels. Captures have a bounded memory: frames without room are lost and counted.
//!
//! # Adding a request
//!
//! 1. A variant of `Request`, and its arm in `engine/live.rs`.
//! 2. `Request` and `Answer` in `protocol.rs` of the live commands, its arm in their `supervisor.rs`, and a command.
//! 3. docs/live.md, and a test in `tests/tests/kernel/live.rs`.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use fabric_core::drop_reason::DropReason;
use mio::Waker;
use scenario::CaptureFilter;
use serde::{Deserialize, Serialize};
use topology::{HostId, WireId};
use units::{Bytes, Nanos, Picos};

use super::captures::FrameSink;
use super::impairment::{ImpairmentChange, LinkState};
use super::view::{StormSpan, View, WireView};

/// A request with the channel for its answer.
#[derive(Debug)]
pub enum Request {
    /// Reads the state of the fabric.
    Look(Sender<Box<View>>),
    /// Starts flows, all at once. Each is answered when its last ACK has arrived, or at once if no flow number is
    /// free.
    Send(Vec<Order>, Sender<Result<Delivery, NoNumber>>),
    /// Takes wires down, or brings them up.
    SetLinks {
        /// The wires.
        wires: Vec<WireId>,
        /// New state of the wires.
        state: LinkState,
        /// True if routes avoid the links while they are down.
        reroute: bool,
        /// Answered once the state has changed, or with an error message.
        done: Sender<Result<(), String>>,
    },
    /// Starts a PFC storm: a host's NIC pauses its switch without end.
    Storm {
        /// The host.
        host: HostId,
        /// The classes, one bit each.
        classes: u8,
        /// Length of the storm in emulated time; `None` for a storm without end.
        span: Option<Picos>,
        /// Duration of the storm by class; an earlier storm may last longer.
        done: Sender<Vec<StormSpan>>,
    },
    /// Ends storms of a host. Answered with the classes whose storms have ended.
    EndStorm {
        /// The host.
        host: HostId,
        /// The classes, one bit each.
        classes: u8,
        /// Answered at once; the RESUME frames may still wait for the port.
        ended: Sender<u8>,
    },
    /// Changes the impairments of wires.
    Impair {
        /// The wires.
        wires: Vec<WireId>,
        /// Change on each of the wires.
        change: ImpairmentChange,
        /// Answered with the new state of the wires, in the same order.
        done: Sender<Vec<WireView>>,
    },
    /// Captures frames at the ends of wires, and frames dropped there or on the wire, until the receiving end of `sink`
    /// is dropped. Frames without room are lost and counted: a capture never delays the fabric.
    Capture {
        /// The wires, at most 65,536.
        wires: Vec<WireId>,
        /// Filter of captured frames.
        filter: CaptureFilter,
        /// Channel for captured frames.
        sink: FrameSink,
    },
    /// Ends the fabric.
    Stop,
}

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Index of the wire in the request.
    pub wire: u32,
    /// Emulated time at which its last bit arrived.
    pub time: Nanos,
    /// The frame, without FCS.
    pub bytes: Box<[u8]>,
    /// Reason why the frame was dropped, in a capture of drops.
    pub dropped: Option<DropReason>,
    /// Number of frames that the capture has lost before this one.
    pub lost: u64,
}

/// A requested flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The sender.
    pub source: HostId,
    /// The receiver; not the sender.
    pub destination: HostId,
    /// Payload, above zero.
    pub bytes: Bytes,
    /// 0 to 7.
    pub priority: u8,
}

/// A completed flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its number.
    pub flow: u32,
    /// The sender's name.
    pub src: String,
    /// The receiver's name.
    pub dst: String,
    /// Payload, bytes.
    pub bytes: u64,
    /// Its priority.
    pub priority: u8,
    /// Flow completion time, from its start to its last ACK, ns of emulated time.
    pub fct_ns: u64,
    /// Flow completion time without other traffic, ns of emulated time.
    pub ideal_ns: u64,
    /// `fct_ns / ideal_ns`.
    pub slowdown: f64,
    /// Number of packets that were sent again.
    pub retransmitted_packets: u64,
    /// Punctuality of the fabric during the flow. `fct_ns` is exact even if the fabric is late.
    pub fidelity: Meanwhile,
}

/// Punctuality of a fabric during a flow, as programs saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meanwhile {
    /// True if programs saw the fabric as it was: see [`results::is_good`].
    pub is_good: bool,
    /// Number of deadlines of all nodes.
    pub deadlines: u64,
    /// Number of deadlines that were met too late.
    pub late: u64,
    /// Number of sleeps of the engine.
    pub sleeps: u64,
    /// Number of sleeps that ended too late.
    pub late_sleeps: u64,
    /// Time by which the emulated clock was set back, ns of the wall clock.
    pub lost_ns: u64,
}

/// Error: the flow was not started, because all flow numbers of the fabric are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoNumber;

/// Receiving end of requests.
#[derive(Debug)]
pub struct Desk {
    requests: Receiver<Request>,
}

/// Handle for requests to a live fabric.
#[derive(Clone, Debug)]
pub struct Handle {
    requests: Sender<Request>,
    waker: Arc<Waker>,
}

/// Error: the fabric is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the fabric is gone")]
pub struct Gone;

impl Desk {
    /// Creates a desk and its handle. `waker` wakes the thread that serves the desk.
    pub(super) fn new(waker: Waker) -> (Self, Handle) {
        let (sender, requests) = mpsc::channel();
        (Self { requests }, Handle { requests: sender, waker: Arc::new(waker) })
    }

    /// The next request, if any.
    pub fn take(&mut self) -> Option<Request> {
        self.requests.try_recv().ok()
    }
}

impl Handle {
    /// Sends a request.
    pub fn ask(&self, request: Request) -> Result<(), Gone> {
        self.requests.send(request).map_err(|_| Gone)?;
        self.waker.wake().map_err(|_| Gone)
    }

    /// Reads the state of the fabric.
    pub fn look(&self) -> Result<Box<View>, Gone> {
        let (sender, answer) = mpsc::channel();
        self.ask(Request::Look(sender))?;
        answer.recv().map_err(|_| Gone)
    }
}
