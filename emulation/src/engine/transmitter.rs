//! The two ends of a wire: its sending port with the fate of frames on the way, and the frames received.

use std::ops::Range;

use scenario::{CaptureFilter, Scenario};
use topology::{NodeId, WireEnds, WireId};
use units::{BitsPerSecond, Picos};

use super::faults::{FaultTally, Faults, Passage};
use crate::datapath::FrameKind;
use crate::partition::Place;
use crate::wire_timing::Timing;

/// Sending end of a wire. Fields that every frame needs come first and fill two cache lines: in a large fabric,
/// other nodes have displaced them from the cache before the port sends again.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Transmitter {
    /// Instant at which the port is free again.
    pub busy_until: Picos,
    /// The wire's timing.
    pub timing: Timing,
    /// Number of frames whose transmission began.
    pub sent: u64,
    /// Bytes of these frames, without FCS.
    pub sent_bytes: u64,
    /// Faults on the wire; `None` if there cannot be any.
    faults: Option<Box<Faults>>,
    /// Time span covered by `results.link_bytes`; empty without it.
    counted: Range<Picos>,
    /// The node at the other end.
    pub to: Place,
    /// The port of this node.
    pub to_port: u16,
    /// True if the sender wakes when the port is free.
    pub wakes: bool,
    /// The wire.
    pub wire: WireId,
    /// Frames whose transmission began in [`counted`](Self::counted), and their bytes.
    window_sent: (u64, u64),
    /// The node at this end.
    pub from: NodeId,
    /// The port of this node.
    pub from_port: u16,
    /// Number of frames lost by faults.
    pub lost: u64,
    /// Interfaces of the capture that record frames lost on the wire.
    pub captures: Vec<u32>,
}

impl Transmitter {
    /// Sender of an idle wire to the node at `to`. Its lost frames are recorded by the interfaces of `captured`
    /// that name the wire.
    pub fn new(
        scenario: &Scenario,
        wire: WireId,
        to: Place,
        captured: &[(WireId, CaptureFilter)],
    ) -> Self {
        let fabric = scenario.fabric();
        let timing = Timing::new(fabric.wire(wire), scenario);
        let faults = Faults::on_wire(scenario, &fabric.wire(wire).name, wire.0, timing);
        Self {
            busy_until: Picos::ZERO,
            timing,
            sent: 0,
            sent_bytes: 0,
            window_sent: (0, 0),
            counted: counted(scenario),
            to,
            to_port: fabric.wire(wire).to_port,
            wakes: false,
            wire,
            from: fabric.wire(wire).from,
            from_port: fabric.wire(wire).from_port,
            lost: 0,
            faults: faults.map(Box::new),
            captures: interfaces(captured, wire)
                .filter_map(|(interface, filter)| {
                    (filter == CaptureFilter::Drops).then_some(interface)
                })
                .collect(),
        }
    }

    /// Occupies the port from `now` on for a frame of `length` bytes. Returns the arrival of its last bit.
    #[inline]
    pub fn start(&mut self, now: Picos, length: u32) -> Picos {
        self.busy_until = now + self.timing.serialise(length);
        self.count_sent(now, length);
        self.busy_until + self.timing.delay
    }

    #[inline(always)]
    fn count_sent(&mut self, now: Picos, length: u32) {
        self.sent += 1;
        self.sent_bytes += u64::from(length);
        if self.counted.contains(&now) {
            self.window_sent.0 += 1;
            self.window_sent.1 += u64::from(length);
        }
    }

    /// True if faults may affect the wire.
    #[inline]
    pub fn is_faulty(&self) -> bool {
        self.faults.is_some()
    }

    /// True if a frame was, or may have been, delayed by faults.
    pub fn may_be_late(&self) -> bool {
        self.longest_flight(0) > self.timing.serialise(0) + self.timing.delay
    }

    /// Values of `results.link_bytes` at the run's end: bytes sent on the wire, and the link's capacity in bytes.
    pub fn link_bytes(&self, rate: BitsPerSecond, end: Picos) -> (u64, u64) {
        let (frames, bytes) = self.window_sent;
        let sent = bytes + frames * self.timing.on_the_wire(0);
        let span = end.min(self.counted.end).0.saturating_sub(self.counted.start.0);
        let capacity = u128::from(rate.0) * u128::from(span) / 8_000_000_000_000;
        (sent, u64::try_from(capacity).unwrap_or(u64::MAX))
    }

    /// Bytes on the wire of all sent frames, overhead included.
    pub fn sent_on_the_wire(&self) -> u64 {
        self.sent_bytes + self.sent * self.timing.on_the_wire(0)
    }

    /// Sends a frame as in [`start`](Self::start), with the effects of faults.
    ///
    /// # Panics
    /// If the wire is not [faulty](Self::is_faulty).
    pub fn start_faulty(&mut self, now: Picos, length: u32, kind: FrameKind) -> Passage {
        let faults = self.faults.as_mut().expect("something may go wrong on the wire");
        let passage = faults.pass(now, length, kind);
        self.busy_until = passage.busy_until;
        self.count_sent(now, length);
        passage
    }

    /// Max time from the beginning of a transmission to the arrival, for a frame of `length` bytes.
    pub fn longest_flight(&self, length: u32) -> Picos {
        match &self.faults {
            None => self.timing.serialise(length) + self.timing.delay,
            Some(faults) => faults.longest_flight(length),
        }
    }

    /// Counters of the scenario's faults on the wire, by the fault's index.
    pub fn tallies(&self) -> impl Iterator<Item = (u32, FaultTally)> {
        self.faults.iter().flat_map(|faults| faults.tallies())
    }

    /// Faults on the wire, for changes.
    #[cfg(feature = "kernel")]
    pub fn faults_mut(&mut self) -> &mut Faults {
        self.faults.get_or_insert_with(|| Box::new(Faults::none(self.timing)))
    }

    /// Faults on the wire; `None` if there cannot be any.
    #[cfg(feature = "kernel")]
    pub fn faults(&self) -> Option<&Faults> {
        self.faults.as_deref()
    }
}

/// Receiving end of a wire. Fields that every frame in memory needs come first and fit a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// Number of frames that arrived undamaged.
    pub received: u64,
    /// Bytes of these frames, without FCS.
    pub received_bytes: u64,
    /// Interfaces of the capture, and the filter of each.
    pub captures: Vec<(u32, CaptureFilter)>,
    /// The wire.
    pub wire: WireId,
    /// Both ends of the wire.
    pub ends: WireEnds,
    /// The wire's timing.
    pub timing: Timing,
    /// Number of frames that arrived with a wrong FCS.
    pub damaged: u64,
    /// Number of frames that faults lost at this end of the wire.
    pub lost: u64,
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Transmitter, window_sent) <= 128);
    assert!(offset_of!(Receiver, timing) <= 64);
};

impl Receiver {
    /// Receiver of an idle wire. Its frames are recorded by the interfaces of `captured` that name the wire.
    pub fn new(scenario: &Scenario, wire: WireId, captured: &[(WireId, CaptureFilter)]) -> Self {
        let fabric = scenario.fabric();
        Self {
            wire,
            ends: fabric.ends(wire),
            timing: Timing::new(fabric.wire(wire), scenario),
            received: 0,
            damaged: 0,
            lost: 0,
            received_bytes: 0,
            captures: interfaces(captured, wire).collect(),
        }
    }
}

#[cfg(feature = "kernel")]
impl Receiver {
    /// Bytes on the wire of all received frames, overhead included.
    pub fn received_on_the_wire(&self) -> u64 {
        self.received_bytes + self.received * self.timing.on_the_wire(0)
    }
}

/// Time span covered by `results.link_bytes`.
fn counted(scenario: &Scenario) -> Range<Picos> {
    if !scenario.results.link_bytes {
        return Picos::ZERO..Picos::ZERO;
    }
    scenario.results.window().map_or(Picos::ZERO..Picos::MAX, |window| window.from..window.to)
}

/// The interfaces that name a wire, and the filter of each.
fn interfaces(
    captured: &[(WireId, CaptureFilter)],
    wire: WireId,
) -> impl Iterator<Item = (u32, CaptureFilter)> {
    let of_wire = (0..).zip(captured).filter(move |(_, (of, _))| *of == wire);
    of_wire.map(|(interface, (_, filter))| (interface, *filter))
}
