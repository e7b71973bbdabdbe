//! The two ends of a wire: when its sending port is free, what becomes of a frame on its way, and what has come in.

use std::ops::Range;

use scenario::{CaptureFilter, Scenario};
use topology::{WireEnds, WireId};
use units::{BitsPerSecond, Picos};

use super::faults::{FaultTally, Faults, Passage};
use crate::datapath::FrameKind;
use crate::partition::Place;
use crate::wire_timing::Timing;

/// The sending end of a wire. What every frame needs comes first and fills two cache lines: in a large fabric, other nodes
/// have displaced them from the cache before the port sends again.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Transmitter {
    /// When the port is free again.
    pub busy_until: Picos,
    /// The wire's timing.
    pub timing: Timing,
    /// Frames whose transmission began.
    pub sent: u64,
    /// Their bytes, without FCS.
    pub sent_bytes: u64,
    /// What goes wrong on it, if anything may.
    faults: Option<Box<Faults>>,
    /// The instants of which `results.link_bytes` has what was sent; empty without it.
    counted: Range<Picos>,
    /// The node at the other end.
    pub to: Place,
    /// Its port.
    pub to_port: u16,
    /// Whether the sender wakes up when the port is free.
    pub wakes: bool,
    /// The wire.
    pub wire: WireId,
    /// Frames and bytes of them whose transmission began in [`counted`](Self::counted).
    window_sent: (u64, u64),
    /// Frames that faults took.
    pub lost: u64,
    /// Interfaces of the capture that record what the wire loses.
    pub captures: Vec<u32>,
}

impl Transmitter {
    /// Of an idle wire that leads to the node at `to`; what it loses is recorded by the interfaces of `captured` that
    /// name it.
    pub fn new(
        scenario: &Scenario,
        wire: WireId,
        to: Place,
        captured: &[(WireId, CaptureFilter)],
    ) -> Self {
        let fabric = scenario.fabric();
        let timing = Timing::of(fabric.wire(wire), scenario);
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
            lost: 0,
            faults: faults.map(Box::new),
            captures: interfaces(captured, wire)
                .filter_map(|(interface, filter)| {
                    (filter == CaptureFilter::Drops).then_some(interface)
                })
                .collect(),
        }
    }

    /// Occupies the port from `now` on for a frame of `length` bytes. Returns when its last bit arrives.
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

    /// Whether anything may go wrong on the wire.
    #[inline]
    pub fn is_faulty(&self) -> bool {
        self.faults.is_some()
    }

    /// Whether a frame was, or may have been, later than its link makes it.
    pub fn may_be_late(&self) -> bool {
        self.longest_flight(0) > self.timing.serialise(0) + self.timing.delay
    }

    /// What `results.link_bytes` has of it at the run's end: bytes on the wire, and what the link carries at most.
    pub fn link_bytes(&self, rate: BitsPerSecond, end: Picos) -> (u64, u64) {
        let (frames, bytes) = self.window_sent;
        let sent = bytes + frames * self.timing.on_the_wire(0);
        let span = end.min(self.counted.end).0.saturating_sub(self.counted.start.0);
        let capacity = u128::from(rate.0) * u128::from(span) / 8_000_000_000_000;
        (sent, u64::try_from(capacity).unwrap_or(u64::MAX))
    }

    /// What the frames took that were sent, in bytes on the wire.
    pub fn sent_on_the_wire(&self) -> u64 {
        self.sent_bytes + self.sent * self.timing.on_the_wire(0)
    }

    /// The same as [`start`](Self::start) where faults look at the frame.
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

    /// The most time from the beginning of a transmission to its arrival, of a frame of `length` bytes.
    pub fn longest_flight(&self, length: u32) -> Picos {
        match &self.faults {
            None => self.timing.serialise(length) + self.timing.delay,
            Some(faults) => faults.longest_flight(length),
        }
    }

    /// What each fault of the scenario has done on the wire, by its number.
    pub fn tallies(&self) -> impl Iterator<Item = (u32, FaultTally)> {
        self.faults.iter().flat_map(|faults| faults.tallies())
    }

    /// What goes wrong on the wire, to be changed.
    #[cfg(feature = "kernel")]
    pub fn faults_mut(&mut self) -> &mut Faults {
        self.faults.get_or_insert_with(|| Box::new(Faults::none(self.timing)))
    }

    /// What goes wrong on the wire, if anything may.
    #[cfg(feature = "kernel")]
    pub fn faults(&self) -> Option<&Faults> {
        self.faults.as_deref()
    }
}

/// The receiving end of a wire. What every frame in memory needs comes first and fits a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// Frames that arrived whole.
    pub received: u64,
    /// Their bytes, without FCS.
    pub received_bytes: u64,
    /// Interfaces of the capture, and the filter of each.
    pub captures: Vec<(u32, CaptureFilter)>,
    /// The wire.
    pub wire: WireId,
    /// Where it begins and ends.
    pub ends: WireEnds,
    /// The wire's timing.
    pub timing: Timing,
    /// Frames that arrived with a wrong FCS.
    pub damaged: u64,
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Transmitter, window_sent) <= 128);
    assert!(offset_of!(Receiver, timing) <= 64);
};

impl Receiver {
    /// Of an idle wire, recorded by the interfaces of `captured` that name it.
    pub fn new(scenario: &Scenario, wire: WireId, captured: &[(WireId, CaptureFilter)]) -> Self {
        let fabric = scenario.fabric();
        Self {
            wire,
            ends: fabric.ends(wire),
            timing: Timing::of(fabric.wire(wire), scenario),
            received: 0,
            damaged: 0,
            received_bytes: 0,
            captures: interfaces(captured, wire).collect(),
        }
    }
}

#[cfg(feature = "kernel")]
impl Receiver {
    /// What the frames took that arrived, in bytes on the wire.
    pub fn received_on_the_wire(&self) -> u64 {
        self.received_bytes + self.received * self.timing.on_the_wire(0)
    }
}

/// The instants of which `results.link_bytes` has what was sent.
fn counted(scenario: &Scenario) -> Range<Picos> {
    if !scenario.results.link_bytes {
        return Picos::ZERO..Picos::ZERO;
    }
    scenario.results.window.map_or(Picos::ZERO..Picos::MAX, |window| window.from..window.to)
}

/// The interfaces that name a wire, and the filter of each.
fn interfaces(
    captured: &[(WireId, CaptureFilter)],
    wire: WireId,
) -> impl Iterator<Item = (u32, CaptureFilter)> {
    let of_wire = (0..).zip(captured).filter(move |(_, (of, _))| *of == wire);
    of_wire.map(|(interface, (_, filter))| (interface, *filter))
}
