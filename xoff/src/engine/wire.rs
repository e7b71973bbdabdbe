//! One direction of a link: the port that sends onto it, and the frames on their way.

use std::collections::VecDeque;

use fabric_core::units::{BitsPerSecond, Picos};

use super::faults::Fault;
use crate::build::WireEnds;
use crate::datapath::FrameKind;
use crate::scenario::{CaptureFilter, Scenario};
use crate::topology;

/// A frame on its way.
#[derive(Debug)]
pub struct Flying<F> {
    /// When its last bit arrives.
    pub arrival: Picos,
    /// Its length without FCS.
    pub length: u32,
    /// The frame.
    pub frame: F,
}

/// A wire and its sending port. What a hop touches lies in the first two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Wire<F> {
    /// When the sending port is free again.
    pub busy_until: Picos,
    /// Propagation delay.
    delay: Picos,
    /// What a byte takes at this rate; zero if that is no whole number.
    byte: Picos,
    /// What a frame takes beyond its length: preamble, FCS and inter-frame gap.
    overhead: u64,
    /// Frames on their way, in order; only the first has an event.
    pub in_flight: VecDeque<Flying<F>>,
    /// Frames whose transmission began.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Where it leads.
    pub ends: WireEnds,
    /// Whether a `PortFree` event is under way.
    pub free_scheduled: bool,
    /// Whether a capture records what arrives.
    pub is_captured: bool,
    has_faults: bool,
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Frames that faults took.
    pub lost: u64,
    /// Interfaces of the capture, and what each takes.
    pub captures: Box<[(u32, CaptureFilter)]>,
    faults: Box<[Fault]>,
}

impl<F> Wire<F> {
    /// An idle wire with the number `number`, recorded by `captures`.
    pub fn new(
        ends: WireEnds,
        wire: &topology::Wire,
        scenario: &Scenario,
        number: usize,
        captures: Box<[(u32, CaptureFilter)]>,
    ) -> Self {
        let faults: Box<[Fault]> = Fault::on_wire(scenario, &wire.name, number).into();
        let second = BitsPerSecond(1).serialise(1);
        let even = second.0.is_multiple_of(wire.rate.0);
        Self {
            busy_until: Picos::ZERO,
            delay: wire.delay,
            byte: if even { Picos(second.0 / wire.rate.0) } else { Picos::ZERO },
            overhead: scenario.switch.wire_overhead.0,
            in_flight: VecDeque::new(),
            sent: 0,
            received: 0,
            ends,
            free_scheduled: false,
            is_captured: !captures.is_empty(),
            has_faults: !faults.is_empty(),
            rate: wire.rate,
            lost: 0,
            captures,
            faults,
        }
    }

    /// How long a frame of `length` bytes occupies the port.
    #[inline]
    pub fn serialise(&self, length: u32) -> Picos {
        let bytes = u64::from(length) + self.overhead;
        // A division is most of the work of a transmission, and at the usual rates there is none to do.
        if self.byte.0 == 0 { self.rate.serialise(bytes) } else { Picos(bytes * self.byte.0) }
    }

    /// Occupies the port from `now` on for a frame of `length` bytes: when its last bit arrives.
    #[inline]
    pub fn start(&mut self, now: Picos, length: u32) -> Picos {
        self.busy_until = now + self.serialise(length);
        self.sent += 1;
        self.busy_until + self.delay
    }

    /// When the transmission of a frame on this wire began.
    #[inline]
    pub fn started(&self, flying: &Flying<F>) -> Picos {
        Picos(flying.arrival.0 - self.delay.0 - self.serialise(flying.length).0)
    }

    /// Whether a fault has to know what is sent.
    #[inline]
    pub fn needs_kind(&self) -> bool {
        self.has_faults
    }

    /// Whether a fault takes the next frame.
    pub fn loses(&mut self, kind: FrameKind) -> bool {
        // Every fault counts every frame that it matches, also one that another takes.
        self.faults.iter_mut().fold(false, |lost, fault| fault.takes(kind) | lost)
    }

    /// Adds a frame behind those on their way. True if it is the first, and needs an event.
    #[inline]
    pub fn push(&mut self, flying: Flying<F>) -> bool {
        self.in_flight.push_back(flying);
        self.in_flight.len() == 1
    }
}
