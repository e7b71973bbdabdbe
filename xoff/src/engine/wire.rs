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
    /// When its transmission began.
    pub started: Picos,
    /// When its last bit arrives.
    pub arrival: Picos,
    /// Its length without FCS.
    pub length: u32,
    /// The frame.
    pub frame: F,
}

/// A wire and its sending port.
#[derive(Debug)]
pub struct Wire<F> {
    /// Where it leads.
    pub ends: WireEnds,
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Picos,
    /// When the sending port is free again.
    pub busy_until: Picos,
    /// Whether a `PortFree` event is under way.
    pub free_scheduled: bool,
    /// Frames on their way, in order; only the first has an event.
    pub in_flight: VecDeque<Flying<F>>,
    /// Frames whose transmission began.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Frames that faults took.
    pub lost: u64,
    /// Interfaces of the capture, and what each takes.
    pub captures: Vec<(u32, CaptureFilter)>,
    faults: Vec<Fault>,
}

impl<F> Wire<F> {
    /// An idle wire.
    pub fn new(ends: WireEnds, wire: &topology::Wire, scenario: &Scenario, number: usize) -> Self {
        Self {
            faults: Fault::on_wire(scenario, &wire.name, number),
            ends,
            rate: wire.rate,
            delay: wire.delay,
            busy_until: Picos::ZERO,
            free_scheduled: false,
            in_flight: VecDeque::new(),
            sent: 0,
            received: 0,
            lost: 0,
            captures: Vec::new(),
        }
    }

    /// Whether a fault has to know what is sent.
    pub fn needs_kind(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Whether a fault takes the next frame.
    pub fn loses(&mut self, kind: Option<FrameKind>) -> bool {
        let Some(kind) = kind else { return false };
        // Every fault counts every frame that it matches, also one that another takes.
        self.faults.iter_mut().fold(false, |lost, fault| fault.takes(kind) | lost)
    }

    /// Adds a frame behind those on their way. True if it is the first, and needs an event.
    pub fn push(&mut self, flying: Flying<F>) -> bool {
        self.in_flight.push_back(flying);
        self.in_flight.len() == 1
    }
}
