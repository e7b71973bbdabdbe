//! What can be told of a run, as values for JSON. Spans and instants are in picoseconds.

use serde::Serialize;

/// Where the time of a flow went. Spans are in picoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The flow.
    pub flow: u32,
    /// Its label.
    pub label: String,
    /// Its sender.
    pub src: String,
    /// Its receiver.
    pub dst: String,
    /// When its sender was given it.
    pub start_ps: u64,
    /// Whether it completed; if not, `time_ps` goes to the run's end.
    pub completed: bool,
    /// From its start to its end: the sum of all parts.
    pub time_ps: u64,
    /// What it takes on an idle fabric, as in `flows.csv`: rounded up to nanoseconds.
    pub ideal_ps: u64,
    /// What its own packets took: on wires, and behind each other. Beside the ideal it has what packets were sent beside it.
    pub own_ps: u64,
    /// The parts beyond that, the largest first.
    pub parts: Vec<Part>,
    /// Where its packets, ACKs too, were lost.
    pub lost: Vec<Lost>,
    /// How long it was paused for causes that lie beside its way.
    pub victim_ps: u64,
    /// The wires that its data took.
    pub way: Vec<String>,
}

/// Packets that were lost at one place.
#[derive(Clone, Debug, Serialize)]
pub struct Lost {
    /// `dropped` by a switch, or `fault` on a wire.
    pub how: &'static str,
    /// The switch or the wire.
    pub at: String,
    /// How many.
    pub packets: u64,
}

/// One part: one cause at one place.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// What held it: `paced`, `retransmission`, `slow-wire`, `behind-others`, `behind-control`, `paused`, `held-back`, `receiver` or `unknown`.
    pub cause: &'static str,
    /// The wire before which it waited.
    pub wire: String,
    /// How long, all together.
    pub ps: u64,
    /// When it began first.
    pub first_ps: u64,
    /// Of these, behind which flows, the largest share first; of `behind-others` only, and at most eight.
    pub flows: Vec<Share>,
    /// How many flows there are in all.
    pub flows_total: usize,
    /// Who paused, and why: pauses with different roots are different parts. Of the longest among these.
    pub root: Option<RootCause>,
}

/// A flow's share of a wait (picoseconds) or a queue (bytes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The flow.
    pub flow: u32,
    /// Its share.
    pub amount: u64,
}

/// Where the cause of a pause lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootCause {
    /// `queue`, `host`, `deadlock`, `circle` or `buffer`.
    pub kind: &'static str,
    /// The queue's wire, the host, the wires of the circle, or the switch.
    pub at: String,
    /// Who were paused one after another, from the one that was asked for on: wires.
    pub paused: Vec<String>,
    /// What the queue held when it began to pause.
    pub bytes: u64,
    /// Of which flows, the largest share first, at most eight.
    pub flows: Vec<Share>,
    /// Of how many flows.
    pub flows_total: usize,
    /// Since when the queue had not been empty, in picoseconds.
    pub since_ps: Option<u64>,
}

/// All pauses with one root.
#[derive(Clone, Debug, Serialize)]
pub struct Tree {
    /// The priority that was paused. A pause of a whole port is one of each priority.
    pub priority: u8,
    /// The root, as of the longest of its pauses.
    pub root: RootCause,
    /// How many pauses.
    pub pauses: usize,
    /// The sum of their durations.
    pub paused_ps: u64,
    /// When the first began.
    pub from_ps: u64,
    /// When the last ended.
    pub to_ps: u64,
    /// The wires whose senders it stopped.
    pub wires: Vec<String>,
    /// The longest chain of pauses from the root.
    pub depth: usize,
}

/// What happened in a run.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The flows that suffered most from what they did not cause, at most five: by the time that they were paused for causes beside
    /// their way, then by their time beyond their own.
    pub flows: Vec<Explanation>,
    /// Congestion trees, the one with most paused time first.
    pub trees: Vec<Tree>,
}

/// One pause.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedPause {
    /// The wire whose sender had to stop.
    pub wire: String,
    /// Its priority.
    pub priority: u8,
    /// When it stopped.
    pub from_ps: u64,
    /// When it went on.
    pub to_ps: u64,
    /// Why.
    pub root: RootCause,
    /// Flows that waited there meanwhile although their way does not lead to the cause.
    pub victims: Vec<u32>,
}
