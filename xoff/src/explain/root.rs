//! Why a switch paused its neighbour: followed through the fabric to the queue that no pause explains.

use std::collections::{BTreeMap, BTreeSet};

use results::LoggedKind;
use units::Picos;

use super::log::{Log, NO_QUEUE};
use super::pauses::{Pause, Pauses};

/// Where the cause of a pause lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A host: it does not take what comes.
    Host(String),
    /// A queue that nobody had paused.
    Queue(Queue),
    /// Wires that wait for each other.
    Circle(Vec<u32>),
    /// The switch held nothing of the neighbour's then: its buffer was full of others, or the pause came late.
    Nothing(String),
}

/// What waited before a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The wire.
    pub wire: u32,
    /// The priority.
    pub priority: u8,
    /// How much.
    pub bytes: u64,
    /// Of which flows, the largest share first.
    pub flows: Vec<(u32, u64)>,
    /// Since when the queue had not been empty.
    pub since: Picos,
}

/// A pause's root, and the wires that were paused on the way to it, from the one that was asked for on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// These wires.
    pub wires: Vec<u32>,
    /// The root.
    pub root: Root,
}

/// When the cause of a pause is looked for: when the neighbour told it, or at the end of the run if it does not end before. What began a
/// pause that never ends says little of why it does not.
pub fn moment(log: &Log, pause: &Pause) -> Picos {
    if pause.to < log.end { pause.told } else { Picos(log.end.0.saturating_sub(1)) }
}

/// Why the sender of `wire` was to stop a priority, looked for at an instant.
pub fn of_pause(log: &Log, pauses: &Pauses, wire: u32, priority: u8, at: Picos) -> Trace {
    let mut trace = Trace { wires: vec![wire], root: Root::Nothing(log.wire(wire).to.clone()) };
    let (mut wire, mut at) = (wire, at);
    loop {
        let node = &log.wire(wire).to;
        if log.is_host(node) {
            trace.root = Root::Host(node.clone());
            return trace;
        }
        let Some((next, queue)) = fullest(log, node, wire, priority, at) else {
            trace.root = Root::Nothing(node.clone());
            return trace;
        };
        let pause = pauses.at(next, priority, queue, at);
        let is_idle = log.during(next, at, Picos(at.0 + 1)).next().is_none();
        if pause.is_none() && !is_idle {
            trace.root = Root::Queue(queue_before(log, next, priority, at));
            return trace;
        }
        if let Some(first) = trace.wires.iter().position(|&seen| seen == next) {
            trace.root = Root::Circle(trace.wires[first..].to_vec());
            return trace;
        }
        trace.wires.push(next);
        at = pause.map_or(at, |pause| moment(log, &pause));
        wire = next;
    }
}

/// The wire before which most of what came by another waits, and the queue of its packets.
fn fullest(log: &Log, node: &str, came_by: u32, priority: u8, at: Picos) -> Option<(u32, u8)> {
    let held = log.wires_from(node).map(|wire| {
        let waiting = log.waiting(wire, priority, at).filter(|packet| packet.came_by == came_by);
        let sum = waiting.fold((0_u64, NO_QUEUE), |(bytes, _), packet| {
            (bytes + u64::from(packet.bytes), packet.queue)
        });
        (sum.0, wire, sum.1)
    });
    let (bytes, wire, queue) = held.max_by_key(|&(bytes, wire, _)| (bytes, u32::MAX - wire))?;
    (bytes > 0).then_some((wire, queue))
}

fn queue_before(log: &Log, wire: u32, priority: u8, at: Picos) -> Queue {
    let mut shares: BTreeMap<u32, u64> = BTreeMap::new();
    let mut since = at;
    for packet in log.waiting(wire, priority, at) {
        *shares.entry(packet.flow).or_default() += u64::from(packet.bytes);
        since = since.min(packet.since);
    }
    // Packets that left before, as long as the queue was not empty in between.
    let of_wire = log.of_wire(wire);
    let left = of_wire.partition_point(|&number| log.record(number).started <= at);
    for &number in of_wire[..left].iter().rev() {
        let record = log.record(number);
        if record.kind != LoggedKind::Data || record.priority != priority {
            continue;
        }
        if record.started < since {
            break;
        }
        since = since.min(record.ready);
    }
    let mut flows: Vec<(u32, u64)> = shares.into_iter().collect();
    flows.sort_by_key(|&(flow, bytes)| (std::cmp::Reverse(bytes), flow));
    let bytes = flows.iter().map(|(_, bytes)| bytes).sum();
    Queue { wire, priority, bytes, flows, since }
}

/// The wires of the data of a flow.
pub fn way(log: &Log, flow: u32) -> BTreeSet<u32> {
    let records = log.of_flow(flow).iter().map(|&number| log.record(number));
    records.filter(|record| record.kind == LoggedKind::Data).map(|record| record.wire).collect()
}
