//! Log of frames on the wires of a part during a window, for `wire_log.bin`.

use fabric_core::hop_control::{ClassPauses, HopControl};
use fabric_core::priority;
use fabric_core::queue::QueueId;
use results::{LoggedKind, NO_FLOW, NO_PRIORITY, WireLogRecord};
use scenario::PauseLasts;
use topology::WireId;
use units::{BitsPerSecond, Picos};

use super::transmitter::Transmitter;
use crate::datapath::{FrameId, FrameKind, FrameLabel};

/// See the module.
#[derive(Debug, Default)]
pub struct WireLogger {
    records: Vec<Logged>,
    /// Instant since which each frame is ready, and the queue that it left. Stale for frames other than packets.
    frames: Vec<(Picos, u8)>,
    /// End of pauses.
    pause_lasts: PauseLasts,
}

/// A record, with the end of its wire at which it was made.
#[derive(Debug)]
struct Logged {
    record: WireLogRecord,
    end: WireEnd,
}

/// An end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WireEnd {
    /// The node that sends.
    Sender,
    /// The node at which frames arrive.
    Receiver,
}

/// Key of a record: its beginning, wire, whether it is a frame, a flow or a drop, the end of the wire, and its index.
type Key = (Picos, u32, LoggedKind, WireEnd, u32);

/// Records of all parts in a window.
#[derive(Debug, Default)]
pub struct Gathered {
    records: Vec<Logged>,
    /// Sort keys, because records are too long to be moved.
    keys: Vec<Key>,
}

impl Gathered {
    /// Replaces the content with the records of these loggers.
    pub fn gather<'a>(&mut self, loggers: impl Iterator<Item = &'a mut WireLogger>) {
        self.records.clear();
        for logger in loggers {
            if self.records.is_empty() {
                std::mem::swap(&mut self.records, &mut logger.records);
            } else {
                self.records.append(&mut logger.records);
            }
        }
        self.keys.clear();
        self.keys.extend((0..).zip(&self.records).map(|(place, Logged { record, end })| {
            (record.started, record.wire, rank(record.kind), *end, place)
        }));
        self.keys.sort_unstable();
    }

    /// The records ordered by beginning and wire. Frames that begin at one instant on one wire, because they take no time
    /// there, are in the order of their sender. At one instant the nodes at both ends of a wire may drop packets; each has
    /// logged its own drops in order. So the order does not depend on the partition, nor on which node runs first.
    pub fn in_order(&self) -> impl Iterator<Item = &WireLogRecord> {
        self.keys.iter().map(|&(.., place)| &self.records[place as usize].record)
    }
}

/// A kind for all frames, which keep the order of their sender.
const fn rank(kind: LoggedKind) -> LoggedKind {
    match kind {
        LoggedKind::Data
        | LoggedKind::Ack
        | LoggedKind::Nak
        | LoggedKind::Cnp
        | LoggedKind::HopControl
        | LoggedKind::Other => LoggedKind::Data,
        LoggedKind::Flow | LoggedKind::Dropped => kind,
    }
}

impl WireLogger {
    /// An empty log, of a fabric whose pauses end so.
    pub fn new(pause_lasts: PauseLasts) -> Self {
        Self { pause_lasts, ..Self::default() }
    }

    /// Records the arrival of a frame at a node.
    #[inline]
    pub fn came(&mut self, frame: FrameId, at: Picos) {
        *self.frame_mut(frame) = (at, 0);
    }

    /// Records a packet made by a host, with the instant since which it was ready, if known.
    pub fn made(&mut self, frame: FrameId, ready: Option<Picos>) {
        *self.frame_mut(frame) = (ready.unwrap_or(Picos::MAX), 0);
    }

    /// Records that a packet has left an egress queue.
    pub fn left(&mut self, frame: FrameId, queue: QueueId) {
        self.frame_mut(frame).1 = queue.number();
    }

    /// Records a frame that is sent on a wire, and that arrives unless a fault loses it.
    pub fn sent(
        &mut self,
        now: Picos,
        out: &Transmitter,
        (frame, label): (FrameId, FrameLabel),
        length: u32,
        arrives: Picos,
    ) {
        let mut record = WireLogRecord {
            started: now,
            ready: Picos::MAX,
            ended: out.busy_until,
            arrives,
            wire: out.wire.0,
            length,
            kind: LoggedKind::Other,
            priority: NO_PRIORITY,
            queue: 0,
            flow: NO_FLOW,
            words: [0; 2],
        };
        match label {
            FrameLabel::Packet { kind, flow, sequence, priority, .. } => {
                let (ready, queue) = *self.frame_mut(frame);
                record.kind = match kind {
                    FrameKind::Data => LoggedKind::Data,
                    FrameKind::Nak => LoggedKind::Nak,
                    FrameKind::Cnp => LoggedKind::Cnp,
                    _ => LoggedKind::Ack,
                };
                (record.ready, record.queue) = (ready, queue);
                (record.flow, record.priority) = (flow, priority);
                record.words[0] = sequence.into();
            }
            FrameLabel::HopControl(control) => {
                let [first, low, high] = control.to_words();
                record.kind = LoggedKind::HopControl;
                record.flow = (first & u64::from(u32::MAX)) as u32;
                record.words = [low, high];
                record.ready = match control {
                    HopControl::Classes(pauses) => self.last_end(arrives, out.timing.rate, pauses),
                    _ => Picos::MAX,
                };
            }
            FrameLabel::Other => {}
        }
        self.records.push(Logged { record, end: WireEnd::Sender });
    }

    /// Records a packet that a switch drops at an end of a wire: on arrival there, or before departure. Frames
    /// without a flow are not recorded.
    pub fn dropped(
        &mut self,
        now: Picos,
        (wire, end): (WireId, WireEnd),
        frame: FrameId,
        label: FrameLabel,
    ) {
        let FrameLabel::Packet { flow, sequence, priority, .. } = label else { return };
        let (ready, queue) = *self.frame_mut(frame);
        let record = WireLogRecord {
            started: now,
            ready,
            ended: now,
            arrives: Picos::MAX,
            wire: wire.0,
            length: 0,
            kind: LoggedKind::Dropped,
            priority,
            queue,
            flow,
            words: [sequence.into(), 0],
        };
        self.records.push(Logged { record, end });
    }

    /// End of the last pause that a PFC frame begins at its receiver.
    fn last_end(&self, arrives: Picos, rate: BitsPerSecond, pauses: ClassPauses) -> Picos {
        if arrives == Picos::MAX {
            return arrives;
        }
        let quanta = priority::in_mask(pauses.named).map(|class| pauses.quanta[class.index()]);
        arrives + self.pause_lasts.time(rate, quanta.max().unwrap_or(0))
    }

    #[inline]
    fn frame_mut(&mut self, frame: FrameId) -> &mut (Picos, u8) {
        let number = frame.0 as usize;
        if number >= self.frames.len() {
            self.frames.resize(number + 1, (Picos::MAX, 0));
        }
        &mut self.frames[number]
    }
}
