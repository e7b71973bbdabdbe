//! The two ends of a wire: when its sending port is free, what becomes of a frame on its way, and what has come in.

use scenario::{CaptureFilter, Scenario};
use topology::{WireEnds, WireId};
use units::Picos;

use super::faults::LossInjector;
use crate::datapath::FrameKind;
use crate::partition::Place;
use crate::wire_timing::Timing;

/// The sending end of a wire.
#[derive(Debug)]
pub struct Transmitter {
    /// When the port is free again.
    pub busy_until: Picos,
    /// The wire's timing.
    pub timing: Timing,
    /// Frames whose transmission began.
    pub sent: u64,
    /// Their bytes, without FCS.
    pub sent_bytes: u64,
    /// The node at the other end.
    pub to: Place,
    /// Its port.
    pub to_port: u16,
    /// Whether the sender wakes up when the port is free.
    pub wakes: bool,
    /// Whether faults look at the frames.
    pub is_faulty: bool,
    /// The wire.
    pub wire: WireId,
    /// Frames that faults took.
    pub lost: u64,
    faults: Box<[LossInjector]>,
    /// Whether it carries frames.
    is_up: bool,
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
        let number = wire.0 as usize;
        let faults: Box<[LossInjector]> =
            LossInjector::on_wire(scenario, &fabric.wire(wire).name, number).into();
        Self {
            busy_until: Picos::ZERO,
            timing: Timing::of(fabric.wire(wire), scenario),
            sent: 0,
            sent_bytes: 0,
            to,
            to_port: fabric.wire(wire).to_port,
            wakes: false,
            is_faulty: !faults.is_empty(),
            wire,
            lost: 0,
            faults,
            is_up: true,
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
        self.sent += 1;
        self.sent_bytes += u64::from(length);
        self.busy_until + self.timing.delay
    }

    /// Whether a fault drops the next frame.
    pub fn loses(&mut self, kind: FrameKind) -> bool {
        // Every fault counts every frame that it matches, even one that another fault drops.
        self.faults.iter_mut().fold(!self.is_up, |lost, fault| fault.takes(kind) | lost)
    }

    /// What the frames took that were sent, in bytes on the wire.
    #[cfg(feature = "kernel")]
    pub fn sent_on_the_wire(&self) -> u64 {
        self.sent_bytes + self.sent * self.timing.on_the_wire(0)
    }

    /// Whether the wire carries frames.
    #[cfg(feature = "kernel")]
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// Lets the wire carry frames, or lose them all. What is on its way arrives.
    #[cfg(feature = "kernel")]
    pub fn set_up(&mut self, up: bool) {
        self.is_up = up;
        self.is_faulty = !up || !self.faults.is_empty();
    }
}

/// The receiving end of a wire.
#[derive(Debug)]
pub struct Receiver {
    /// The wire.
    pub wire: WireId,
    /// Where it begins and ends.
    pub ends: WireEnds,
    /// The wire's timing.
    pub timing: Timing,
    /// Frames that arrived.
    pub received: u64,
    /// Their bytes, without FCS.
    pub received_bytes: u64,
    /// Interfaces of the capture, and the filter of each.
    pub captures: Vec<(u32, CaptureFilter)>,
}

impl Receiver {
    /// Of an idle wire, recorded by the interfaces of `captured` that name it.
    pub fn new(scenario: &Scenario, wire: WireId, captured: &[(WireId, CaptureFilter)]) -> Self {
        let fabric = scenario.fabric();
        Self {
            wire,
            ends: fabric.ends(wire),
            timing: Timing::of(fabric.wire(wire), scenario),
            received: 0,
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

/// The interfaces that name a wire, and the filter of each.
fn interfaces(
    captured: &[(WireId, CaptureFilter)],
    wire: WireId,
) -> impl Iterator<Item = (u32, CaptureFilter)> {
    let of_wire = (0..).zip(captured).filter(move |(_, (of, _))| *of == wire);
    of_wire.map(|(interface, (_, filter))| (interface, *filter))
}
