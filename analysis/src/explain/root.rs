//! Root of a switch's pause: the chain of pauses is followed through the fabric to a queue that no pause explains.

use std::collections::{BTreeMap, BTreeSet};

use results::LoggedKind;
use units::Picos;

use super::log::{Log, NO_QUEUE, Waiting};
use super::pauses::{Pause, Pauses};

/// Root cause of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A host that pauses its switch.
    Host(String),
    /// A queue that nothing had paused.
    Queue(Queue),
    /// Wires that wait for each other until the run's end.
    Deadlock(Vec<u32>),
    /// Pauses that followed each other in a cycle, and ended.
    Cycle(Vec<u32>),
    /// The switch held nothing of the neighbour: other packets filled its buffer, or the neighbour's packets had just
    /// left.
    Nothing(String),
}

/// Packets that waited before a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The wire.
    pub wire: u32,
    /// The priority.
    pub priority: u8,
    /// Length of the queue, in bytes.
    pub bytes: u64,
    /// Flows in the queue with their bytes, the largest share first.
    pub flows: Vec<(u32, u64)>,
    /// Instant since which the queue had not been empty.
    pub since: Picos,
}

/// A pause's root, and the wires that were paused on the path to it, from the requested pause on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Paused wires.
    pub wires: Vec<u32>,
    /// The root.
    pub root: Root,
}

/// A pause, and the instant at which to search for its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stop {
    /// Wire whose sender was paused.
    pub wire: u32,
    /// The priority.
    pub priority: u8,
    /// Queue, if only a queue and not the class was paused.
    pub queue: Option<u8>,
    /// The instant.
    pub at: Picos,
}

/// Returns the instant at which to search for the cause of a pause: when the neighbour's frame left, or the end of the
/// run if the pause does not end before. The start of an endless pause says little about why it does not end.
pub fn moment(log: &Log, pause: &Pause) -> Picos {
    if pause.to < log.end { pause.sent_at } else { Picos(log.end.0.saturating_sub(1)) }
}

/// Finds the root of a pause.
pub fn trace_pause(log: &Log, pauses: &Pauses, stop: Stop) -> Trace {
    let mut trace =
        Trace { wires: vec![stop.wire], root: Root::Nothing(log.wire(stop.wire).to.clone()) };
    let mut spans = vec![span_of(log, pauses, stop)];
    let mut stop = stop;
    loop {
        let node = &log.wire(stop.wire).to;
        if log.ends_at_host(stop.wire) {
            trace.root = Root::Host(node.clone());
            return trace;
        }
        let Some((next, priority, queue)) = fullest(log, stop) else {
            trace.root = Root::Nothing(node.clone());
            return trace;
        };
        let at = stop.at;
        let class = pauses.class_at(next, priority, at);
        let own = pauses.queue_at(next, queue, at);
        let until = Picos(at.0.saturating_add(1));
        let is_idle = log.during(next, at, until).next().is_none();
        if class.is_none() && own.is_none() && !is_idle {
            // Only packets of the paused queue contribute.
            let of_queue = stop.queue.and(known(queue));
            trace.root = Root::Queue(queue_before(log, (next, priority, of_queue), at));
            return trace;
        }
        let pause = class.or(own);
        stop = Stop {
            wire: next,
            priority,
            queue: if class.is_none() && own.is_some() { Some(queue) } else { None },
            at: pause.map_or(at, |pause| moment(log, &pause)),
        };
        if let Some(first) = trace.wires.iter().position(|&seen| seen == next) {
            let wires = trace.wires[first..].to_vec();
            let last = spans[first..].iter().all(|span| span.is_some_and(|to| to >= log.end));
            trace.root = if last { Root::Deadlock(wires) } else { Root::Cycle(wires) };
            return trace;
        }
        trace.wires.push(next);
        spans.push(pause.map(|pause| pause.to));
    }
}

/// Returns the end of the pause at `stop`.
fn span_of(log: &Log, pauses: &Pauses, stop: Stop) -> Option<Picos> {
    let Stop { wire, priority, queue, at } = stop;
    let at = at.min(Picos(log.end.0.saturating_sub(1)));
    let pause = match queue {
        None => pauses.class_at(wire, priority, at),
        Some(queue) => pauses.queue_at(wire, queue, at),
    };
    pause.map(|pause| pause.to)
}

/// Returns the wire before which most of the packets from the paused wire wait, and the priority and queue of most of
/// these. A pause of a port also stops priorities of which the switch holds nothing; then packets of other priorities
/// count.
fn fullest(log: &Log, stop: Stop) -> Option<(u32, u8, u8)> {
    most(log, stop, |packet| packet.priority == stop.priority).or_else(|| most(log, stop, |_| true))
}

fn most(log: &Log, stop: Stop, counts: impl Fn(&Waiting) -> bool) -> Option<(u32, u8, u8)> {
    let mut by_wire: BTreeMap<u32, u64> = BTreeMap::new();
    let mut by_queue: BTreeMap<(u32, u8, u8), u64> = BTreeMap::new();
    for &wire in log.onward(stop.wire) {
        for packet in log.waiting(wire, stop.at, stop.at) {
            let of_queue = stop.queue.is_none_or(|queue| packet.came_from == queue);
            if packet.came_by == stop.wire && of_queue && counts(&packet) {
                *by_wire.entry(wire).or_default() += u64::from(packet.bytes);
                let key = (wire, packet.priority, packet.queue);
                *by_queue.entry(key).or_default() += u64::from(packet.bytes);
            }
        }
    }
    let largest = by_wire.into_iter().max_by_key(|&(wire, bytes)| (bytes, u32::MAX - wire));
    let (wire, _) = largest?;
    let of_wire = by_queue.into_iter().filter(|((of, ..), _)| *of == wire);
    of_wire.max_by_key(|&(key, bytes)| (bytes, std::cmp::Reverse(key))).map(|(key, _)| key)
}

fn queue_before(log: &Log, (wire, priority, queue): (u32, u8, Option<u8>), at: Picos) -> Queue {
    let mut shares: BTreeMap<u32, u64> = BTreeMap::new();
    let mut since = at;
    let counts = |its: u8| queue.is_none_or(|queue| queue == its);
    let waiting = log.waiting(wire, at, at);
    let waiting = waiting.filter(|packet| packet.priority == priority && counts(packet.queue));
    for packet in waiting {
        *shares.entry(packet.flow).or_default() += u64::from(packet.bytes);
        since = since.min(packet.since);
    }
    // Packets that left before count as long as the queue was not empty in between.
    let of_wire = log.wire_records(wire);
    let left = of_wire.partition_point(|&number| log.record(number).started < at);
    for &number in of_wire[..left].iter().rev() {
        let record = log.record(number);
        let is_other = record.priority != priority || !counts(record.queue);
        if record.kind != LoggedKind::Data || is_other {
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

/// Returns the wires of a flow's data, from its records and from `flows.csv`.
pub fn way(log: &Log, flow: u32) -> BTreeSet<u32> {
    let records = log.flow_records(flow).iter().map(|&number| log.record(number));
    let data = records.filter(|record| record.kind == LoggedKind::Data).map(|record| record.wire);
    let course = log.course(flow).into_iter().flat_map(|course| course.wires.iter().copied());
    data.chain(course).collect()
}

/// Returns the queue if it is known, otherwise `None`.
pub const fn known(queue: u8) -> Option<u8> {
    if queue == NO_QUEUE { None } else { Some(queue) }
}
