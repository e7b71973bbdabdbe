//! Shared state of the nodes of a part: frames, wires, frames exchanged with other parts, and the journal.

mod captures;
mod in_order;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabric_core::drop_reason::DropReason;
use linux::region::prefetch;
use results::Measurements;
use topology::{NodeId, WireId};
use units::Picos;

use super::arrivals::{Arrival, DAMAGED, PORT_BITS, Sorter, port_key};
use super::faults::Fate;
use super::in_order::Queue;
use super::journal::{Journal, Note};
use super::link_tally::LinkTally;
use super::part::Window;
use super::tally::Tally;
use super::transmitter::{Receiver, Transmitter};
use super::upcoming::Upcoming;
use super::wire_logger::{WireEnd, WireLogger};
use crate::datapath::{
    Aside, Crossing, DatapathError, FrameId, FrameKind, FrameStore, Orders, Wires,
};
use crate::partition::Place;

/// A frame on its way to a node of another part.
pub struct Letter<F> {
    to: u32,
    at: Picos,
    port: u16,
    /// Length and flags, as in an [`Arrival`].
    length: u32,
    frame: F,
}

/// Frames from one part to another one, sent in one window.
pub struct Mail<F> {
    letters: Vec<Letter<F>>,
    /// Data kept beside frames, in the order of the letters.
    aside: Vec<Aside>,
}

impl<F> Default for Mail<F> {
    fn default() -> Self {
        Self { letters: Vec::new(), aside: Vec::new() }
    }
}

/// See the module.
pub struct Core<W: Wires> {
    /// Number of this part.
    part: u32,
    /// The events of all nodes, if they run in the order of their insertion.
    pub queue: Option<Box<Queue>>,
    /// The frames of the part.
    pub frames: W::Frames,
    /// Frames of the part.
    pub medium: W,
    /// Notes of the part's nodes.
    pub journal: Journal,
    /// Counters of the part.
    pub tally: Tally,
    /// Measurements of headroom, if the scenario asks for them.
    pub measured: Option<Box<Measurements>>,
    /// Log of frames on wires, if the scenario asks for one.
    pub wire_logger: Option<Box<WireLogger>>,
    /// Counters by wire and priority, if the scenario asks for them.
    pub link_tally: Option<Box<LinkTally>>,
    /// Beginning of the current window.
    window_start: Picos,
    /// End of the current window.
    window_end: Picos,
    /// Number of frames in all inboxes.
    flying: usize,
    /// Frames that arrive at each node by `soon_until`.
    inboxes: Box<[Vec<Arrival>]>,
    /// Frames that arrive at each node after `soon_until`. Kept apart, because a node scans its whole inbox in
    /// every window.
    later: Box<[BinaryHeap<Reverse<Arrival>>]>,
    /// Time after a window up to which a frame goes into an inbox.
    soon: Picos,
    /// The resulting instant for the current window.
    soon_until: Picos,
    /// Instant of each node's next event.
    pub upcoming: Upcoming,
    /// Frames that leave for each part.
    outboxes: Box<[Mail<<W::Frames as FrameStore>::Frame>]>,
    /// Frames from other parts that are not in inboxes yet.
    unopened: Vec<Mail<<W::Frames as FrameStore>::Frame>>,
    /// Earliest arrival in `unopened`.
    unopened_from: Picos,
    /// Empty mail, whose memory is reused.
    spare: Vec<Mail<<W::Frames as FrameStore>::Frame>>,
    /// Empty vector that takes the place of an inbox; a field so that its memory is reused.
    due: Vec<Arrival>,
    sorter: Sorter,
    /// Hop control frames that the last arrival made due; a field so that its memory is reused.
    pub orders: Orders,
    scratch: Vec<u8>,
}

impl<W: Wires> Core<W> {
    /// An empty core of part `part` of `parts`, with `nodes` nodes.
    pub fn new(part: u32, parts: usize, nodes: usize, medium: W, frames: W::Frames) -> Self {
        Self {
            part,
            queue: None,
            frames,
            medium,
            journal: Journal::default(),
            tally: Tally::default(),
            measured: None,
            wire_logger: None,
            link_tally: None,
            window_start: Picos::ZERO,
            window_end: Picos::ZERO,
            flying: 0,
            inboxes: vec![Vec::new(); nodes].into(),
            later: vec![BinaryHeap::new(); nodes].into(),
            soon: Picos::MAX,
            soon_until: Picos::MAX,
            upcoming: Upcoming::new(nodes),
            outboxes: (0..parts).map(|_| Mail::default()).collect(),
            unopened: Vec::new(),
            unopened_from: Picos::MAX,
            spare: Vec::new(),
            due: Vec::new(),
            sorter: Sorter::default(),
            orders: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Sets the max length of windows. Frames that arrive more than some windows later are kept apart.
    pub fn set_longest_window(&mut self, window: Picos) {
        self.soon = Picos(4 * window.0);
    }

    /// Instant of the next event in this part.
    pub fn next(&self) -> Picos {
        match &self.queue {
            Some(queue) => queue.next(),
            None => self.upcoming.first().min(self.unopened_from),
        }
    }

    /// Number of frames on their way to nodes of this part.
    pub fn frames_on_their_way(&self) -> usize {
        self.flying + self.unopened.iter().map(|mail| mail.letters.len()).sum::<usize>()
    }

    /// Takes the frames for another part.
    pub fn post(&mut self, part: usize) -> Mail<<W::Frames as FrameStore>::Frame> {
        let empty = self.spare.pop().unwrap_or_default();
        std::mem::replace(&mut self.outboxes[part], empty)
    }

    /// Accepts frames from another part; they are put into inboxes when the part runs.
    pub fn receive_mail(&mut self, mail: Mail<<W::Frames as FrameStore>::Frame>) {
        if mail.letters.is_empty() {
            return self.spare.push(mail);
        }
        let first = mail.letters.iter().map(|letter| letter.at.0).min().unwrap_or(u64::MAX);
        self.unopened_from = Picos(self.unopened_from.0.min(first));
        self.unopened.push(mail);
    }

    /// Begins a window: puts the frames from other parts into inboxes.
    pub fn begin(&mut self, window: Window) {
        self.unopened_from = Picos::MAX;
        for mut mail in std::mem::take(&mut self.unopened) {
            let mut aside = mail.aside.drain(..);
            for Letter { to, at, port, length, frame } in mail.letters.drain(..) {
                let frame = self.frames.put(frame, &mut aside);
                self.deliver(to, at, port, frame, length);
            }
            drop(aside);
            self.spare.push(mail);
        }
        self.window_start = window.start;
        self.window_end = window.end;
        self.soon_until = Picos(window.end.0.saturating_add(self.soon.0));
    }

    #[inline(always)]
    fn deliver(&mut self, node: u32, at: Picos, port: u16, frame: FrameId, length: u32) {
        debug_assert!(at >= self.window_end, "no node affects another within a window");
        self.flying += 1;
        let arrival = Arrival::new(at, port, frame, length);
        if at <= self.soon_until {
            self.inboxes[node as usize].push(arrival);
        } else {
            self.deliver_later(node, arrival);
        }
        self.upcoming.wake(node, at);
    }

    #[cold]
    fn deliver_later(&mut self, node: u32, arrival: Arrival) {
        self.later[node as usize].push(Reverse(arrival));
    }

    /// Makes the processor load the first frame in the inbox of the node that runs next, and the inbox of the node
    /// after it. Both nodes may be out of range.
    #[inline]
    pub fn prefetch_inboxes(&self, next: usize, after: usize) {
        if let Some(arrival) = self.inboxes.get(next).and_then(|inbox| inbox.first()) {
            self.frames.prefetch(arrival.frame());
        }
        if let Some(arrival) = self.inboxes.get(after).and_then(|inbox| inbox.first()) {
            prefetch(arrival);
        }
    }

    /// Takes the arrivals of a node before `end`, in order. Also returns the instant of its next arrival after
    /// that. Return the vector with [`give_back`](Self::give_back).
    pub fn take_due(&mut self, node: u32, end: Picos) -> (Vec<Arrival>, Picos) {
        let limit = port_key(end, 0);
        let mut later = u64::MAX;
        let (mut newest, mut is_sorted) = (0, true);
        // Most arrivals are due, so the inbox becomes the due vector, and the others are put back.
        let inbox = &mut self.inboxes[node as usize];
        let mut due = std::mem::replace(inbox, std::mem::take(&mut self.due));
        due.retain(|&arrival| {
            let is_due = arrival.key < limit;
            if is_due {
                is_sorted &= arrival.key >= newest;
                newest = arrival.key;
            } else {
                later = later.min(arrival.key);
                inbox.push(arrival);
            }
            is_due
        });
        let far = &mut self.later[node as usize];
        while let Some(&Reverse(arrival)) = far.peek() {
            if arrival.key >= limit {
                later = later.min(arrival.key);
                break;
            }
            is_sorted &= arrival.key >= newest;
            newest = arrival.key;
            due.push(arrival);
            far.pop();
        }
        self.flying -= due.len();
        if !is_sorted {
            self.sorter.sort(&mut due, self.window_start, end);
        }
        // The node processes all of them.
        self.tally.packet_hops += due.len() as u64;
        if let Some(last) = due.last() {
            self.tally.last_activity = self.tally.last_activity.max(last.at());
        }
        let later = if later == u64::MAX { Picos::MAX } else { Picos(later >> PORT_BITS) };
        (due, later)
    }

    /// See [`take_due`](Self::take_due). The vector's memory is reused.
    pub fn give_back(&mut self, node: u32, mut due: Vec<Arrival>) {
        let inbox = &mut self.inboxes[node as usize];
        due.clear();
        due.append(inbox);
        std::mem::swap(inbox, &mut due);
        self.due = due;
    }

    /// Sends a frame on a free wire. The frame occupies the port for its serialisation, and arrives after the
    /// propagation delay, unless a fault affects it.
    #[inline(always)]
    pub fn transmit(
        &mut self,
        now: Picos,
        node: NodeId,
        transmitter: &mut Transmitter,
        frame: FrameId,
        length: u32,
    ) {
        if transmitter.is_faulty() {
            return self.transmit_faulty(now, node, transmitter, frame, length);
        }
        let arrival = transmitter.start(now, length);
        if self.wire_logger.is_some() || self.link_tally.is_some() {
            self.log_sent(now, transmitter, frame, length, arrival);
        }
        self.hand_over(arrival, transmitter, frame, length);
    }

    /// Sends a frame on a wire with faults.
    #[cold]
    fn transmit_faulty(
        &mut self,
        now: Picos,
        node: NodeId,
        transmitter: &mut Transmitter,
        frame: FrameId,
        length: u32,
    ) {
        let passage = transmitter.start_faulty(now, length, self.frames.kind(frame));
        let arrives =
            if matches!(passage.fate, Fate::Whole) { passage.arrival } else { Picos::MAX };
        self.log_sent(now, transmitter, frame, length, arrives);
        let length = match passage.fate {
            Fate::Lost(reason) => {
                self.occupy(transmitter);
                return self.lose(now, node, transmitter, frame, (length, reason));
            }
            Fate::Damaged => length | DAMAGED,
            Fate::Whole => {
                self.frames.set_late(frame, passage.late);
                length
            }
        };
        self.hand_over(passage.arrival, transmitter, frame, length);
    }

    /// Logs and counts a frame that is sent, if the scenario asks for it.
    #[inline(never)]
    fn log_sent(
        &mut self,
        now: Picos,
        transmitter: &Transmitter,
        frame: FrameId,
        length: u32,
        arrives: Picos,
    ) {
        if let Some(logger) = &mut self.wire_logger {
            logger.sent(now, transmitter, (frame, self.frames.label(frame)), length, arrives);
        }
        if let Some(tally) = &mut self.link_tally {
            tally.sent(transmitter.wire, &self.frames.label(frame), length);
        }
    }

    /// Delivers a sent frame to the receiving node's part.
    #[inline(always)]
    fn hand_over(
        &mut self,
        arrival: Picos,
        transmitter: &mut Transmitter,
        frame: FrameId,
        length: u32,
    ) {
        let Place { part, index } = transmitter.to;
        if part == self.part {
            self.deliver(index, arrival, transmitter.to_port, frame, length);
        } else if self.queue.is_some() {
            self.enqueue(arrival, transmitter, frame, length);
        } else {
            let mail = &mut self.outboxes[part as usize];
            let frame = self.frames.take(frame, &mut mail.aside);
            let (at, port) = (arrival, transmitter.to_port);
            mail.letters.push(Letter { to: index, at, port, length, frame });
        }
    }

    /// Drops a frame that a fault loses on the wire.
    #[cold]
    fn lose(
        &mut self,
        now: Picos,
        node: NodeId,
        transmitter: &mut Transmitter,
        frame: FrameId,
        (length, reason): (u32, DropReason),
    ) {
        self.tally.count_lost(reason);
        self.tally.last_activity = self.tally.last_activity.max(now);
        transmitter.lost += 1;
        if let Some(tally) = &mut self.link_tally {
            tally.count_mut(transmitter.wire, &self.frames.label(frame)).lost += 1;
        }
        for &interface in &transmitter.captures {
            self.record(now, node, transmitter.wire, interface, frame, Some(reason));
        }
        self.note_lost(now, node, transmitter.wire, frame, (length, reason));
    }

    /// Logs and counts a packet that a switch drops, if the scenario asks for it. It is dropped at the end of the
    /// wire by which it `came`, or on departure to another wire, `at`.
    #[inline]
    pub fn log_dropped(&mut self, now: Picos, [came, at]: [WireId; 2], frame: FrameId) {
        if let Some(logger) = &mut self.wire_logger {
            let end = if came == at { WireEnd::Receiver } else { WireEnd::Sender };
            logger.dropped(now, (at, end), frame, self.frames.label(frame));
        }
        if let Some(tally) = &mut self.link_tally {
            tally.dropped(came, &self.frames.label(frame));
        }
    }

    /// Drops an arriving frame with a wrong FCS: the MAC drops it, and nothing behind the MAC sees it.
    #[cold]
    pub fn drop_damaged(
        &mut self,
        now: Picos,
        node: NodeId,
        receiver: &mut Receiver,
        arrival: Arrival,
    ) {
        receiver.damaged += 1;
        if let Some(tally) = &mut self.link_tally {
            tally.count_mut(receiver.wire, &self.frames.label(arrival.frame())).damaged += 1;
        }
        self.tally.damaged += 1;
        let lost = (arrival.length(), DropReason::Corrupted);
        self.capture_dropped(
            now,
            node,
            receiver,
            (arrival.frame(), receiver.wire),
            DropReason::Corrupted,
        );
        self.note_lost(now, node, receiver.wire, arrival.frame(), lost);
    }

    fn note_lost(
        &mut self,
        now: Picos,
        node: NodeId,
        wire: WireId,
        frame: FrameId,
        (length, reason): (u32, DropReason),
    ) {
        let is_pause = self.frames.kind(frame) == FrameKind::Pause;
        let priority = self.frames.priority(frame);
        self.frames.discard(frame);
        let what = Note::Lost { wire, priority, length, is_pause, reason };
        self.journal.note(now, node, what);
    }

    /// Processes a frame at the end of its wire.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        now: Picos,
        node: NodeId,
        receiver: &mut Receiver,
        frame: FrameId,
        length: u32,
    ) -> Crossing {
        debug_assert_eq!(length, self.frames.length(frame), "a frame's length stays as it is");
        receiver.received += 1;
        receiver.received_bytes += u64::from(length);
        let crossing = Crossing {
            wire: receiver.wire,
            ends: receiver.ends,
            length,
            timing: receiver.timing,
            now,
        };
        if let Some(logger) = &mut self.wire_logger {
            logger.came(frame, now);
        }
        if !receiver.captures.is_empty() {
            self.capture(now, node, receiver, frame);
        }
        crossing
    }

    /// Sends a frame over the datapath at the instant at which its last bit arrives, and calls `poll` until it
    /// returns the result.
    #[inline(always)]
    pub fn cross<T>(
        &mut self,
        crossing: &Crossing,
        frame: FrameId,
        mut poll: impl FnMut(&mut W, &mut W::Frames, &mut Orders) -> Result<Option<T>, DatapathError>,
    ) -> Result<T, DatapathError> {
        self.medium.send(&mut self.frames, crossing, frame)?;
        let mut attempts = 0;
        loop {
            let polled = poll(&mut self.medium, &mut self.frames, &mut self.orders)?;
            if let Some(outcome) = polled {
                return Ok(outcome);
            }
            self.medium.wait(crossing, attempts)?;
            attempts += 1;
        }
    }
}
