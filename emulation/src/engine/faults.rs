//! Faults on a wire, from the scenario or the user of a live fabric. They act on frames whose transmission begins.
//!
//! A frame is never faster than on a wire without faults, so the length of windows does not change. And it never
//! arrives before an earlier one, nor faster than the link's rate: when a delay shrinks, frames arrive back to
//! back.

#[cfg(feature = "kernel")]
mod own;

use std::ops::Add;

use fabric_core::drop_reason::DropReason;
use scenario::{Fault, FrameClass, Lateness, Numbers, Order, Outage, Scenario, Selection, Span};
use units::Picos;
use workload::random::mix;

use crate::datapath::FrameKind;
use crate::wire_timing::Timing;

/// The effect of one fault.
#[derive(Clone, Debug)]
enum What {
    Loss(FrameClass, Selection),
    Corruption(FrameClass, Selection),
    Delay(Lateness),
    Rate(Timing),
    Outage(Outage),
}

/// Counters of a fault on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultTally {
    /// Frames that matched the fault and whose transmission began while it lasted.
    pub seen: u64,
    /// Frames that it lost, damaged, delayed or slowed.
    pub frames: u64,
    /// Total time added to frames, ps.
    pub added: u128,
    /// Max time added to one frame.
    pub most_added: Picos,
}

/// One fault on one wire.
#[derive(Clone, Debug)]
struct Injector {
    /// Index in the scenario; `None` if a user has set the fault.
    number: Option<u32>,
    span: Span,
    what: What,
    seed: u64,
    tally: FaultTally,
}

/// All faults on one wire.
#[derive(Debug)]
pub struct Faults {
    injectors: Vec<Injector>,
    timing: Timing,
    /// Min rate of the port up to now. `most_late` is the max delay that a frame may have had.
    slowest: Timing,
    most_late: Picos,
    /// Arrival of the last frame up to now.
    last_arrival: Picos,
    /// Number of changes by users.
    #[cfg(feature = "kernel")]
    replaced: u64,
}

/// Result of sending a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Instant at which the port is free again.
    pub busy_until: Picos,
    /// Instant at which the last bit arrives.
    pub arrival: Picos,
    /// Delay against a wire without faults.
    pub late: Picos,
    /// Condition in which it arrives.
    pub fate: Fate,
}

/// Condition in which a frame arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// As it was sent.
    Whole,
    /// With a wrong FCS.
    Damaged,
    /// Lost: the frame does not arrive.
    Lost(DropReason),
}

impl Injector {
    fn new(fault: &Fault, number: u32, wire: u32, timing: Timing, seed: u64) -> Self {
        let what = match fault {
            Fault::Loss { r#match, rate, nth, .. } => {
                What::Loss(*r#match, Selection::new(*rate, nth.as_deref()))
            }
            Fault::Corrupt { r#match, rate, nth, .. } => {
                What::Corruption(*r#match, Selection::new(*rate, nth.as_deref()))
            }
            Fault::Delay { delay, jitter, .. } => What::Delay(Lateness::new(*delay, *jitter)),
            Fault::Rate { rate, .. } => What::Rate(timing.at(*rate)),
            Fault::Down { flap, .. } => What::Outage(Outage { span: fault.span(), flap: *flap }),
        };
        Self {
            number: Some(number),
            span: fault.span(),
            what,
            seed: mix(seed, u64::from(number) << 40 | u64::from(wire) | 1 << 63),
            tally: FaultTally::default(),
        }
    }

    fn is_for(&self, now: Picos, kind: FrameKind) -> bool {
        let matches = match &self.what {
            What::Loss(class, _) | What::Corruption(class, _) => matches(*class, kind),
            What::Delay(_) | What::Rate(_) => true,
            What::Outage(outage) => outage.is_down(now),
        };
        self.span.contains(now) && matches
    }

    /// True if the selection includes the frame seen last.
    fn selects(&self, selection: &Selection) -> bool {
        match selection {
            Selection::Nth(numbers) => numbers.binary_search(&self.tally.seen).is_ok(),
            Selection::Rate(probability) => probability.takes(mix(self.seed, self.tally.seen)),
        }
    }

    /// Delay of the frame seen last: all values up to the jitter are equally likely.
    fn lateness(&self, lateness: Lateness) -> Picos {
        let random = u128::from(mix(self.seed, self.tally.seen));
        let drawn = (random * (u128::from(lateness.jitter.0) + 1)) >> 64;
        lateness.delay + Picos(u64::try_from(drawn).expect("it is at most the jitter"))
    }

    /// Counts a frame that arrives, if this fault delays it.
    fn count_late(&mut self, added: Picos) {
        if added == Picos::ZERO {
            return;
        }
        self.tally.frames += 1;
        self.tally.added += u128::from(added.0);
        self.tally.most_added = self.tally.most_added.max(added);
    }
}

impl Faults {
    /// No faults, on a wire with this timing.
    pub fn none(timing: Timing) -> Self {
        Self {
            injectors: Vec::new(),
            timing,
            slowest: timing,
            most_late: Picos::ZERO,
            last_arrival: Picos::ZERO,
            #[cfg(feature = "kernel")]
            replaced: 0,
        }
    }

    /// The scenario's faults on a wire; `None` if it has no faults.
    pub fn on_wire(scenario: &Scenario, name: &str, wire: u32, timing: Timing) -> Option<Self> {
        // Losses by ns-3's numbers are drawn where frames arrive, and there a link that has failed loses frames.
        let fails = scenario.order == Order::Insertion;
        let elsewhere = |fault: &Fault| match fault {
            Fault::Loss { .. } => scenario.numbers != Numbers::Seed,
            Fault::Down { .. } => fails,
            _ => false,
        };
        let faults = (0..).zip(&scenario.faults);
        let faults = faults.filter(|(_, fault)| fault.covers(name) && !elsewhere(fault));
        let mut all = Self::none(timing);
        for (number, fault) in faults {
            all.add(Injector::new(fault, number, wire, timing, scenario.seed));
        }
        (!all.injectors.is_empty()).then_some(all)
    }

    fn add(&mut self, injector: Injector) {
        if let What::Rate(timing) = injector.what
            && timing.rate < self.slowest.rate
        {
            self.slowest = timing;
        }
        self.injectors.push(injector);
        let late = self.injectors.iter().filter_map(|injector| match injector.what {
            What::Delay(lateness) => Some(lateness.most()),
            _ => None,
        });
        self.most_late = self.most_late.max(late.fold(Picos::ZERO, Picos::add));
    }

    /// The result for a frame of `length` bytes whose transmission begins now.
    pub fn pass(&mut self, now: Picos, length: u32, kind: FrameKind) -> Passage {
        let fate = self.fate(now, kind);
        let plain = self.timing.serialise(length);
        let (mut serialised, mut late) = (plain, Picos::ZERO);
        for injector in &mut self.injectors {
            let added = match &injector.what {
                _ if !injector.is_for(now, kind) => continue,
                What::Delay(lateness) => {
                    let added = injector.lateness(*lateness);
                    late += added;
                    added
                }
                What::Rate(timing) => {
                    let slower = timing.serialise(length);
                    serialised = serialised.max(slower);
                    slower - plain
                }
                _ => continue,
            };
            if !matches!(fate, Fate::Lost(_)) {
                injector.count_late(added);
            }
        }
        let busy_until = now + serialised;
        let mut arrival = busy_until + self.timing.delay + late;
        if !matches!(fate, Fate::Lost(_)) {
            arrival = arrival.max(self.last_arrival + serialised);
            self.last_arrival = arrival;
        }
        let late = arrival - (now + plain + self.timing.delay);
        Passage { busy_until, arrival, late, fate }
    }

    /// Counts a frame, and returns the condition in which it arrives.
    fn fate(&mut self, now: Picos, kind: FrameKind) -> Fate {
        let (mut taker, mut damager) = (None, None);
        // Every fault counts every matching frame, even a frame lost by another fault.
        for (place, injector) in self.injectors.iter_mut().enumerate() {
            if !injector.is_for(now, kind) {
                continue;
            }
            injector.tally.seen += 1;
            match &injector.what {
                What::Loss(_, selection) => {
                    let is_lost = injector.selects(selection);
                    taker = taker.or(is_lost.then_some((place, DropReason::InjectedLoss)));
                }
                What::Outage(_) => taker = taker.or(Some((place, DropReason::LinkDown))),
                What::Corruption(_, selection) => {
                    let is_damaged = injector.selects(selection);
                    damager = damager.or(is_damaged.then_some(place));
                }
                What::Delay(_) | What::Rate(_) => {}
            }
        }
        match (taker, damager) {
            (Some((place, reason)), _) => {
                self.injectors[place].tally.frames += 1;
                Fate::Lost(reason)
            }
            (None, Some(place)) => {
                self.injectors[place].tally.frames += 1;
                Fate::Damaged
            }
            (None, None) => Fate::Whole,
        }
    }

    /// Max time from the beginning of a transmission to the arrival, for a frame of `length` bytes that was or may
    /// be sent.
    pub fn longest_flight(&self, length: u32) -> Picos {
        self.slowest.serialise(length) + self.timing.delay + self.most_late
    }

    /// Counters of the scenario's faults, by the fault's index.
    pub fn tallies(&self) -> impl Iterator<Item = (u32, FaultTally)> {
        self.injectors.iter().filter_map(|injector| Some((injector.number?, injector.tally)))
    }

    /// True if a fault has taken the wire down.
    #[cfg(feature = "kernel")]
    pub fn is_down(&self, now: Picos) -> bool {
        self.injectors
            .iter()
            .any(|injector| matches!(&injector.what, What::Outage(outage) if outage.is_down(now)))
    }
}

fn matches(class: FrameClass, kind: FrameKind) -> bool {
    match class {
        FrameClass::All => true,
        FrameClass::Data => kind == FrameKind::Data,
        FrameClass::Ack => kind == FrameKind::Ack,
        FrameClass::Nak => kind == FrameKind::Nak,
        FrameClass::Cnp => kind == FrameKind::Cnp,
        FrameClass::Pfc => matches!(kind, FrameKind::Pause | FrameKind::Resume),
        FrameClass::Pause => kind == FrameKind::Pause,
        FrameClass::Resume => kind == FrameKind::Resume,
        FrameClass::HopControl => kind == FrameKind::HopControl,
        FrameClass::LinkDelay => kind == FrameKind::LinkDelay,
    }
}
