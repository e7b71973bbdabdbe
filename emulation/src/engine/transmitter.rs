//! The sending end of a wire: when its port is free, and what becomes of a frame on its way.

use fabric_core::wire::LinkAddresses;
use scenario::{CaptureFilter, Scenario};
use topology;
use topology::WireEnds;
use units::{BitsPerSecond, Picos};

use super::faults::LossInjector;
use crate::datapath::FrameKind;

/// A wire and its sending port. The fields that each hop uses are in the first cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Transmitter {
    /// When the sending port is free again.
    pub busy_until: Picos,
    /// Propagation delay.
    delay: Picos,
    /// Frames whose transmission began.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Picoseconds per byte at this rate; zero if that is not a whole number.
    byte: u32,
    /// Bytes on the wire beyond a frame: preamble, FCS and inter-frame gap. A scenario allows up to 1000.
    overhead: u16,
    /// Whether a `PortFree` event is scheduled.
    pub free_scheduled: bool,
    /// Whether faults or captures look at the frames of this wire.
    pub is_watched: bool,
    /// Where it leads.
    pub ends: WireEnds,
    /// Line rate.
    pub rate: BitsPerSecond,
    /// What frames on it carry.
    pub addresses: LinkAddresses,
    /// Frames that faults took.
    pub lost: u64,
    /// Interfaces of the capture, and the filter of each.
    pub captures: Box<[(u32, CaptureFilter)]>,
    faults: Box<[LossInjector]>,
}

const _: () =
    assert!(std::mem::offset_of!(Transmitter, rate) <= 64, "a hop touches one cache line");

impl Transmitter {
    /// An idle wire with the number `number`, recorded by `captures`.
    pub fn new(
        ends: WireEnds,
        addresses: LinkAddresses,
        wire: &topology::Wire,
        scenario: &Scenario,
        number: usize,
        captures: Box<[(u32, CaptureFilter)]>,
    ) -> Self {
        let faults: Box<[LossInjector]> =
            LossInjector::on_wire(scenario, &wire.name, number).into();
        let second = BitsPerSecond(1).serialise(1);
        let even = second.0.is_multiple_of(wire.rate.0);
        let byte = if even { second.0 / wire.rate.0 } else { 0 };
        Self {
            busy_until: Picos::ZERO,
            delay: wire.delay,
            sent: 0,
            received: 0,
            byte: u32::try_from(byte).unwrap_or(0),
            overhead: scenario.switch.wire_overhead.0 as u16,
            free_scheduled: false,
            is_watched: !captures.is_empty() || !faults.is_empty(),
            ends,
            rate: wire.rate,
            addresses,
            lost: 0,
            captures,
            faults,
        }
    }

    /// How long a frame of `length` bytes occupies the port.
    #[inline]
    pub fn serialise(&self, length: u32) -> Picos {
        let bytes = u64::from(length) + u64::from(self.overhead);
        // A division would be most of the work of a transmission. The usual rates need only a product.
        if self.byte == 0 {
            self.rate.serialise(bytes)
        } else {
            Picos(bytes * u64::from(self.byte))
        }
    }

    /// Occupies the port from `now` on for a frame of `length` bytes. Returns when its last bit arrives.
    #[inline]
    pub fn start(&mut self, now: Picos, length: u32) -> Picos {
        self.busy_until = now + self.serialise(length);
        self.sent += 1;
        self.busy_until + self.delay
    }

    /// When the transmission began of a frame of `length` bytes whose last bit arrives at `arrival`.
    #[inline]
    pub fn started(&self, arrival: Picos, length: u32) -> Picos {
        Picos(arrival.0 - self.delay.0 - self.serialise(length).0)
    }

    /// Whether a fault drops the next frame.
    pub fn loses(&mut self, kind: FrameKind) -> bool {
        // Every fault counts every frame that it matches, even one that another fault drops.
        self.faults.iter_mut().fold(false, |lost, fault| fault.takes(kind) | lost)
    }
}
