//! What users ask of a live fabric, from other threads.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Weak};

use fabric_core::drop_reason::DropReason;
use mio::Waker;
use scenario::CaptureFilter;
use serde::{Deserialize, Serialize};
use topology::{HostId, WireId};
use units::{Bytes, Nanos, Picos};

use super::impairment::{ImpairmentChange, LinkState};
use super::view::{StormSpan, View, WireView};

/// A request, and where its answer goes.
#[derive(Debug)]
pub enum Request {
    /// How the fabric is.
    Look(Sender<Box<View>>),
    /// Flows, all at once. Each is answered when its last ACK has arrived, or at once if there is no number for it.
    Send(Vec<Order>, Sender<Result<Delivery, NoNumber>>),
    /// Takes wires down, or up again.
    SetLinks {
        /// The wires.
        wires: Vec<WireId>,
        /// Whether they carry frames.
        state: LinkState,
        /// Whether routes avoid their links while they are down.
        reroute: bool,
        /// Answered once it is so: a sentence if it cannot be.
        done: Sender<Result<(), String>>,
    },
    /// A host's NIC begins to pause its switch without end.
    Storm {
        /// The host.
        host: HostId,
        /// The classes, a bit each.
        classes: u8,
        /// How long, of emulated time; `None`: until that is ended.
        span: Option<Picos>,
        /// How long it then does, by class: an earlier storm may last longer.
        done: Sender<Vec<StormSpan>>,
    },
    /// It no longer does. Answered with the classes whose storms this has ended.
    EndStorm {
        /// The host.
        host: HostId,
        /// The classes, a bit each.
        classes: u8,
        /// Answered at once; their RESUME may still wait for the port.
        ended: Sender<u8>,
    },
    /// Changes what goes wrong on wires.
    Impair {
        /// The wires.
        wires: Vec<WireId>,
        /// What changes, on each of them.
        change: ImpairmentChange,
        /// How the wires then are, in the same order.
        done: Sender<Vec<WireView>>,
    },
    /// What crosses wires, as it arrives at their ends, or is dropped there or on its way, until `reader` is gone.
    /// Frames for which the channel has no room are lost, and counted: a capture never holds the fabric up.
    Capture {
        /// The wires, at most 65,536.
        wires: Vec<WireId>,
        /// Which frames.
        filter: CaptureFilter,
        /// Where they go.
        sink: SyncSender<CapturedFrame>,
        /// Counts the lost frames. Gone with whoever reads.
        reader: Weak<AtomicU64>,
    },
    /// The fabric is no longer needed.
    Stop,
}

/// A frame that has crossed a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// The wire's place in the request.
    pub wire: u32,
    /// When its last bit arrived.
    pub time: Nanos,
    /// The frame, without FCS.
    pub bytes: Box<[u8]>,
    /// Why it goes no further, in a capture of drops.
    pub dropped: Option<DropReason>,
    /// Frames that the capture has lost before it.
    pub lost: u64,
}

/// A flow that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The sender.
    pub source: HostId,
    /// The receiver; not the sender.
    pub destination: HostId,
    /// Above zero.
    pub bytes: Bytes,
    /// 0 to 7.
    pub priority: u8,
}

/// A flow that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its number.
    pub flow: u32,
    /// The sender's name.
    pub src: String,
    /// The receiver's name.
    pub dst: String,
    /// What it has transferred.
    pub bytes: u64,
    /// Its priority.
    pub priority: u8,
    /// From its start to its last ACK, in nanoseconds of emulated time.
    pub fct_ns: u64,
    /// What it would have taken alone.
    pub ideal_ns: u64,
    /// `fct_ns / ideal_ns`.
    pub slowdown: f64,
    /// Packets that were sent again.
    pub retransmitted_packets: u64,
    /// How punctual the fabric was meanwhile. The flow itself takes as long however late the fabric is.
    pub fidelity: Meanwhile,
}

/// How punctual a fabric was while a flow was under way: what programs saw of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meanwhile {
    /// Whether programs saw the fabric as it was: see [`results::is_good`].
    pub is_good: bool,
    /// Deadlines of all nodes.
    pub deadlines: u64,
    /// Those that were met too late.
    pub late: u64,
    /// Sleeps of the engine.
    pub sleeps: u64,
    /// Those that ended too late.
    pub late_sleeps: u64,
    /// How much the emulated clock was set back, in nanoseconds of the wall clock.
    pub lost_ns: u64,
}

/// A flow was not started: a fabric has numbers for so many flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoNumber;

/// Where requests come in.
#[derive(Debug)]
pub struct Desk {
    requests: Receiver<Request>,
}

/// What reaches a live fabric.
#[derive(Clone, Debug)]
pub struct Handle {
    requests: Sender<Request>,
    waker: Arc<Waker>,
}

/// The fabric is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the fabric is gone")]
pub struct Gone;

impl Desk {
    /// A desk, and what reaches it; `waker` ends the wait of whoever serves it.
    pub(super) fn new(waker: Waker) -> (Self, Handle) {
        let (sender, requests) = mpsc::channel();
        (Self { requests }, Handle { requests: sender, waker: Arc::new(waker) })
    }

    /// The next request, if there is one.
    pub fn take(&mut self) -> Option<Request> {
        self.requests.try_recv().ok()
    }
}

impl Handle {
    /// Asks for something.
    pub fn ask(&self, request: Request) -> Result<(), Gone> {
        self.requests.send(request).map_err(|_| Gone)?;
        self.waker.wake().map_err(|_| Gone)
    }

    /// How the fabric is.
    pub fn look(&self) -> Result<Box<View>, Gone> {
        let (sender, answer) = mpsc::channel();
        self.ask(Request::Look(sender))?;
        answer.recv().map_err(|_| Gone)
    }
}
