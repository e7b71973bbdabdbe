//! Answers about a run, as values for JSON. Spans and instants are in picoseconds.

use serde::Serialize;

/// Breakdown of a flow's time. Spans are in picoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The flow.
    pub flow: u32,
    /// Label of the flow.
    pub label: String,
    /// Sender of the flow.
    pub src: String,
    /// Receiver of the flow.
    pub dst: String,
    /// Instant at which the sender got the flow.
    pub start_ps: u64,
    /// True if the flow completed; otherwise `time_ps` ends with the run.
    pub completed: bool,
    /// Time from the flow's start to its end: the sum of all parts.
    pub time_ps: u64,
    /// Completion time on an idle fabric, as in `flows.csv`: rounded up to nanoseconds.
    pub ideal_ps: u64,
    /// Time of the flow's own packets on wires and behind each other.
    pub own_ps: u64,
    /// Parts beyond `own_ps`, the largest first.
    pub parts: Vec<Part>,
    /// Losses of the flow's packets, including ACKs.
    pub lost: Vec<Lost>,
    /// Time paused for causes that are not on the flow's path.
    pub victim_ps: u64,
    /// Wires of the flow's data.
    pub way: Vec<String>,
}

/// Packets lost at one place.
#[derive(Clone, Debug, Serialize)]
pub struct Lost {
    /// `dropped` by a switch, or `fault` on a wire.
    pub how: &'static str,
    /// Name of the switch or the wire.
    pub at: String,
    /// Number of packets.
    pub packets: u64,
}

/// A part of a flow's time: one cause at one place.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Cause of the wait: `paced`, `retransmission`, `slow-wire`, `behind-others`, `behind-control`, `paused`,
    /// `held-back`, `receiver` or `unknown`.
    pub cause: &'static str,
    /// Wire before which the flow's packets waited.
    pub wire: String,
    /// Total time of the part.
    pub ps: u64,
    /// Start of the first wait.
    pub first_ps: u64,
    /// Flows ahead with their shares of the wait, the largest first; only for `behind-others`, at most eight.
    pub flows: Vec<Share>,
    /// Number of all such flows.
    pub flows_total: usize,
    /// Root of the longest pause in this part. Pauses with different roots are different parts.
    pub root: Option<RootCause>,
}

/// A flow's share of a wait (picoseconds) or a queue (bytes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The flow.
    pub flow: u32,
    /// Size of the share.
    pub amount: u64,
}

/// Root cause of a pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootCause {
    /// `queue`, `host`, `deadlock`, `circle` or `buffer`.
    pub kind: &'static str,
    /// Location: the queue's wire, the host, the wires of the cycle, or the switch.
    pub at: String,
    /// Wires paused one after another, from the requested pause towards the root.
    pub paused: Vec<String>,
    /// Length of the queue when its pause began.
    pub bytes: u64,
    /// Flows in the queue with their shares, the largest first, at most eight.
    pub flows: Vec<Share>,
    /// Number of flows in the queue.
    pub flows_total: usize,
    /// Instant since which the queue had not been empty, in picoseconds.
    pub since_ps: Option<u64>,
}

/// All pauses with one root.
#[derive(Clone, Debug, Serialize)]
pub struct Tree {
    /// Priority that was paused. A pause of a whole port counts as a pause of each priority.
    pub priority: u8,
    /// Root of the longest pause.
    pub root: RootCause,
    /// Number of pauses.
    pub pauses: usize,
    /// Sum of the pauses' durations.
    pub paused_ps: u64,
    /// Start of the first pause.
    pub from_ps: u64,
    /// End of the last pause.
    pub to_ps: u64,
    /// Wires whose senders the pauses stopped.
    pub wires: Vec<String>,
    /// Length of the longest chain of pauses from the root.
    pub depth: usize,
}

/// Overview of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Flows that suffered most from causes that are not their own, at most five: sorted by the time paused for causes
    /// that are not on their paths, then by their time beyond `own_ps`.
    pub flows: Vec<Explanation>,
    /// Congestion trees, sorted by paused time, the largest first.
    pub trees: Vec<Tree>,
}

/// One pause.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedPause {
    /// Wire whose sender was paused.
    pub wire: String,
    /// Priority of the pause.
    pub priority: u8,
    /// Start of the pause at the sender.
    pub from_ps: u64,
    /// End of the pause at the sender.
    pub to_ps: u64,
    /// Root cause of the pause.
    pub root: RootCause,
    /// Flows that waited during the pause although their paths do not lead to the cause.
    pub victims: Vec<u32>,
}
