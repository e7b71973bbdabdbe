//! Breakdown of a flow's time along the packets that determined it.
//!
//! A flow completes when the ACK of its last packet arrives. The breakdown goes backwards from there: the ACK's path,
//! the path of the acknowledged packet, and the sender's actions from the flow's start until that packet. The spans are
//! contiguous, so that their sum is the completion time to the picosecond.

use std::collections::BTreeSet;

use results::{LoggedKind, WireLogRecord};
use units::Picos;

use super::log::{Course, Log, NO_QUEUE};
use super::pauses::Pauses;

/// State of a flow in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// The sender put the flow's packets on its wire.
    Sending,
    /// The deciding packet, or its ACK, was on a wire.
    Way,
    /// A wire was slower, or delayed the frame more, than at its best: a fault.
    SlowWire,
    /// A packet waited behind others of its own flow.
    OwnAhead,
    /// The sender sent nothing because of congestion control's rate or window.
    Pace,
    /// The sender had to detect a loss, or retransmitted packets.
    Retransmission,
    /// A packet was ready at the sender's NIC or a switch's port, behind a frame of another flow.
    Behind(u32),
    /// A packet waited behind a frame between neighbours, such as a PAUSE.
    BehindControl,
    /// The packet's class or queue was paused.
    Paused,
    /// The port stood idle while the packet waited, because of a pause of its flow or a rate of its class.
    HeldBack,
    /// The receiver had not yet answered.
    Receiver,
    /// The packet's next wire is unknown.
    Unknown,
}

/// A part of a flow's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start of the span.
    pub from: Picos,
    /// End of the span.
    pub to: Picos,
    /// State of the flow.
    pub what: What,
    /// Wire on which the packet was, or for which it waited.
    pub wire: u32,
    /// The priority of the packet that waited.
    pub priority: u8,
    /// Queue of the packet.
    pub queue: u8,
}

/// A packet that waits before a wire.
#[derive(Clone, Copy)]
struct Waiter {
    wire: u32,
    priority: u8,
    queue: u8,
    flow: u32,
    /// Meaning of an idle port.
    idle: What,
}

/// Returns the spans of a flow from its start to its end, or to the run's end if it has not completed; `None` if the
/// flow does not exist.
pub fn flow_spans(log: &Log, pauses: &Pauses, flow: u32) -> Option<Vec<Span>> {
    let life = *log.flows.get(&flow)?;
    let mut walk = Walk { log, pauses, flow, backwards: Vec::new() };
    let end = life.end.unwrap_or(log.end).max(life.start);
    let of_sender = match life.end {
        Some(end) => walk.completed(end),
        None => walk.unfinished(end),
    };
    walk.sender(life.start, end, of_sender);
    walk.backwards.reverse();
    walk.backwards.retain(|span| span.from < span.to);
    Some(walk.backwards)
}

struct Walk<'a> {
    log: &'a Log,
    pauses: &'a Pauses,
    flow: u32,
    /// Spans from the end of the flow to its start.
    backwards: Vec<Span>,
}

impl Walk<'_> {
    /// Goes back from the ACK that arrived at `end`. Returns the first record of the packet that it acknowledges.
    fn completed(&mut self, end: Picos) -> Option<u32> {
        let is_last = |record: &WireLogRecord| {
            matches!(record.kind, LoggedKind::Ack | LoggedKind::Nak) && record.arrives == end
        };
        let of_flow = self.log.flow_records(self.flow);
        let answer = *of_flow.iter().rev().find(|&&number| is_last(self.log.record(number)))?;
        let first = self.back(answer);
        let record = *self.log.record(first);
        let receiver = &self.log.wire(record.wire).from;
        // The receiver answers the packet that arrived last.
        let came = |number: &&u32| {
            let data = self.log.record(**number);
            data.kind == LoggedKind::Data
                && data.arrives <= record.started
                && &self.log.wire(data.wire).to == receiver
        };
        let data = *of_flow.iter().filter(came).max_by_key(|&&number| {
            let data = self.log.record(number);
            (data.arrives, number)
        })?;
        let arrived = self.log.record(data).arrives;
        self.wait(arrived, record.started, self.waiter(&record, What::Receiver));
        Some(self.back(data))
    }

    /// Goes back from the oldest packet under way at `end`, for an unfinished flow. Returns the first record of this
    /// packet.
    fn unfinished(&mut self, end: Picos) -> Option<u32> {
        let of_flow = self.log.flow_records(self.flow).iter().copied();
        let waits = |&number: &u32| {
            let record = self.log.record(number);
            let is_under_way = record.arrives != Picos::MAX && !self.log.goes_on(number);
            record.kind == LoggedKind::Data
                && is_under_way
                && (record.arrives > end || !self.log.ends_at_host(record.wire))
        };
        let oldest =
            of_flow.clone().filter(waits).min_by_key(|&number| self.log.record(number).arrives)?;
        let record = *self.log.record(oldest);
        if record.arrives < end {
            match self.log.route(self.flow, record.wire) {
                Some(wire) => {
                    let queue = NO_QUEUE;
                    let waiter = Waiter { wire, queue, ..self.waiter(&record, What::HeldBack) };
                    self.wait(record.arrives, end, waiter);
                }
                None => self.push(record.arrives, end, What::Unknown, &record),
            }
        }
        Some(self.back_until(oldest, end))
    }

    /// Goes back along a packet's wires to its first record.
    fn back(&mut self, number: u32) -> u32 {
        self.back_until(number, Picos::MAX)
    }

    /// Goes back along a packet's wires to its first record; later spans are cut at `end`.
    fn back_until(&mut self, mut number: u32, end: Picos) -> u32 {
        loop {
            let record = *self.log.record(number);
            let arrives = record.arrives.min(end);
            let best = self.log.at_best(&record).1.min(arrives);
            self.push(best, arrives, What::SlowWire, &record);
            self.push(record.started.min(end), best, What::Way, &record);
            let Some(previous) = self.log.previous(number) else { return number };
            self.wait(record.ready, record.started.min(end), self.waiter(&record, What::HeldBack));
            number = previous;
        }
    }

    /// Adds the sender's spans from `start` until it sent the record `last`, or until `end`.
    fn sender(&mut self, start: Picos, end: Picos, last: Option<u32>) {
        let until = last.map_or(end, |last| self.log.record(last).started);
        let mut forwards =
            Walk { log: self.log, pauses: self.pauses, flow: self.flow, backwards: Vec::new() };
        let sent: Vec<WireLogRecord> = self
            .log
            .flow_records(self.flow)
            .iter()
            .filter(|&&number| self.log.previous(number).is_none())
            .map(|&number| *self.log.record(number))
            .filter(|record| record.kind == LoggedKind::Data && record.started <= until)
            .collect();
        let mut seen = BTreeSet::new();
        let mut cursor = start;
        for record in &sent {
            let is_again = !seen.insert(record.words[0]);
            let gap = if is_again { What::Retransmission } else { What::Pace };
            let ready = record.ready.clamp(cursor, record.started.max(cursor));
            forwards.push(cursor, ready, gap, record);
            // Added forwards, so that the parts of the wait stay in order.
            forwards.wait_forwards(ready, record.started, forwards.waiter(record, What::HeldBack));
            let ended = record.ended.min(until).max(record.started);
            let sending = if is_again { What::Retransmission } else { What::Sending };
            let best = if is_again { ended } else { self.log.at_best(record).0.min(ended) };
            forwards.push(record.started, best, sending, record);
            forwards.push(best, ended, What::SlowWire, record);
            cursor = ended.max(cursor);
        }
        if cursor < until {
            // Nothing has been sent since: the flow's class may be paused.
            let waiter = match (sent.last(), self.log.course(self.flow)) {
                (Some(record), _) => Some(forwards.waiter(record, What::Pace)),
                (None, Some(Course { wires, priority })) => wires.first().map(|&wire| Waiter {
                    wire,
                    priority: *priority,
                    queue: NO_QUEUE,
                    flow: self.flow,
                    idle: What::Pace,
                }),
                (None, None) => None,
            };
            match waiter {
                Some(waiter) => forwards.wait_forwards(cursor, until, waiter),
                None => forwards.backwards.push(Span {
                    from: cursor,
                    to: until,
                    what: What::Unknown,
                    wire: 0,
                    priority: u8::MAX,
                    queue: NO_QUEUE,
                }),
            }
        }
        self.backwards.extend(forwards.backwards.into_iter().rev());
    }

    const fn waiter(&self, record: &WireLogRecord, idle: What) -> Waiter {
        let WireLogRecord { wire, priority, queue, .. } = *record;
        Waiter { wire, priority, queue, flow: self.flow, idle }
    }

    fn push(&mut self, from: Picos, to: Picos, what: What, record: &WireLogRecord) {
        let WireLogRecord { wire, priority, queue, .. } = *record;
        self.backwards.push(Span { from, to, what, wire, priority, queue });
    }

    /// Splits a wait, and appends its parts from the end backwards.
    fn wait(&mut self, from: Picos, to: Picos, waiter: Waiter) {
        let at = self.backwards.len();
        self.wait_forwards(from, to, waiter);
        self.backwards[at..].reverse();
    }

    /// Splits a wait by the reason why the packet was held: first pauses, then frames that the port sent, otherwise the
    /// meaning of an idle port.
    fn wait_forwards(&mut self, from: Picos, to: Picos, waiter: Waiter) {
        let Waiter { wire, priority, queue, .. } = waiter;
        let mut span = |from: Picos, to: Picos, what| {
            if from < to {
                self.backwards.push(Span { from, to, what, wire, priority, queue });
            }
        };
        let mut cursor = from;
        for (stop, go) in self.pauses.within(wire, (priority, queue), from, to) {
            unpaused(self.log, waiter, cursor, stop, &mut span);
            span(stop, go, What::Paused);
            cursor = go;
        }
        unpaused(self.log, waiter, cursor, to, &mut span);
    }
}

fn unpaused(
    log: &Log,
    waiter: Waiter,
    from: Picos,
    to: Picos,
    span: &mut impl FnMut(Picos, Picos, What),
) {
    let mut cursor = from;
    if from >= to {
        return;
    }
    for record in log.during(waiter.wire, from, to) {
        let (began, ended) = (record.started.max(cursor), record.ended.min(to));
        span(cursor, began, waiter.idle);
        let what = match record.kind {
            LoggedKind::Data | LoggedKind::Ack | LoggedKind::Nak | LoggedKind::Cnp => {
                if record.flow == waiter.flow { What::OwnAhead } else { What::Behind(record.flow) }
            }
            _ => What::BehindControl,
        };
        span(began, ended, what);
        cursor = ended.max(cursor);
    }
    span(cursor, to, waiter.idle);
}
