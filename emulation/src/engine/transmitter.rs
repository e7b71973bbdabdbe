//! The two ends of a wire: when its sending port is free, what becomes of a frame on its way, and what has come in.

use scenario::{CaptureFilter, Scenario};
use topology::{self, WireEnds, WireId};
use units::{BitsPerSecond, FrameTime, Picos};

use super::faults::LossInjector;
use crate::datapath::FrameKind;
use crate::partition::Place;

/// The rate and length of a wire.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Propagation delay.
    delay: Picos,
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Picoseconds per byte at this rate; zero if that is not a whole number.
    byte: u32,
    /// How long frames occupy the port.
    frame_time: FrameTime,
}

impl Timing {
    fn new(wire: &topology::Wire, scenario: &Scenario) -> Self {
        let second = BitsPerSecond(1).serialise(1);
        let even = second.0.is_multiple_of(wire.rate.0);
        let byte = if even { second.0 / wire.rate.0 } else { 0 };
        Self {
            delay: wire.delay,
            rate: wire.rate,
            byte: u32::try_from(byte).unwrap_or(0),
            frame_time: scenario.frame_time(),
        }
    }

    /// Bytes on the wire of a frame of `length` bytes.
    #[inline]
    pub fn on_the_wire(&self, length: u32) -> u64 {
        self.frame_time.on_the_wire(length.into())
    }

    /// How long a frame of `length` bytes occupies the port.
    #[inline]
    pub fn serialise(&self, length: u32) -> Picos {
        let bytes = self.on_the_wire(length);
        // A division would be most of the work of a transmission. The usual rates need only a product.
        let exact = if self.byte == 0 {
            self.rate.serialise(bytes)
        } else {
            Picos(bytes * u64::from(self.byte))
        };
        self.frame_time.rounded(exact)
    }

    /// When the transmission began of a frame of `length` bytes whose last bit arrives at `arrival`.
    #[inline]
    pub fn started(&self, arrival: Picos, length: u32) -> Picos {
        Picos(arrival.0 - self.delay.0 - self.serialise(length).0)
    }
}

/// The sending end of a wire.
#[derive(Debug)]
pub struct Transmitter {
    /// When the port is free again.
    pub busy_until: Picos,
    /// The wire's timing.
    pub timing: Timing,
    /// Frames whose transmission began.
    pub sent: u64,
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
}

impl Transmitter {
    /// Of an idle wire that leads to the node at `to`.
    pub fn new(scenario: &Scenario, wire: WireId, to: Place) -> Self {
        let fabric = scenario.fabric();
        let number = wire.0 as usize;
        let faults: Box<[LossInjector]> =
            LossInjector::on_wire(scenario, &fabric.wire(wire).name, number).into();
        Self {
            busy_until: Picos::ZERO,
            timing: Timing::new(fabric.wire(wire), scenario),
            sent: 0,
            to,
            to_port: fabric.wire(wire).to_port,
            wakes: false,
            is_faulty: !faults.is_empty(),
            wire,
            lost: 0,
            faults,
        }
    }

    /// Occupies the port from `now` on for a frame of `length` bytes. Returns when its last bit arrives.
    #[inline]
    pub fn start(&mut self, now: Picos, length: u32) -> Picos {
        self.busy_until = now + self.timing.serialise(length);
        self.sent += 1;
        self.busy_until + self.timing.delay
    }

    /// Whether a fault drops the next frame.
    pub fn loses(&mut self, kind: FrameKind) -> bool {
        // Every fault counts every frame that it matches, even one that another fault drops.
        self.faults.iter_mut().fold(false, |lost, fault| fault.takes(kind) | lost)
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
    /// Interfaces of the capture, and the filter of each.
    pub captures: Box<[(u32, CaptureFilter)]>,
}

impl Receiver {
    /// Of an idle wire, recorded by the interfaces of `captured` that name it.
    pub fn new(scenario: &Scenario, wire: WireId, captured: &[(WireId, CaptureFilter)]) -> Self {
        let fabric = scenario.fabric();
        let interfaces = (0..).zip(captured).filter(|(_, (of, _))| *of == wire);
        Self {
            wire,
            ends: fabric.ends(wire),
            timing: Timing::new(fabric.wire(wire), scenario),
            received: 0,
            captures: interfaces.map(|(interface, (_, filter))| (interface, *filter)).collect(),
        }
    }
}
