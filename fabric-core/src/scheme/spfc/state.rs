//! The circuit of Fig. 10: timeout clock, ingress rate counter and state holder of an ingress port or queue.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64, Sharing};
use crate::scheme::IngressState;
use crate::scheme::state::Line;
use units::Nanos;

/// One circuit.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct StateLine {
    /// TC: how long departures are counted.
    pub period_ns: Cell64,
    /// The counting number, C x TC / `K_spfc`, above zero.
    pub victim_bytes: Cell64,
    /// When the running period ends: a multiple of TC.
    pub period_ends_ns: Cell64,
    /// IRC: bytes on the wire that have departed in the running period.
    pub departed_bytes: Cell64,
    /// What a frame takes on the wire beyond its length.
    pub overhead_bytes: Cell32,
    /// The reset of SH. Bit n: the neighbour has been told to pause class n.
    pub paused_classes: Cell32,
    /// SH: 1 in the victim state, 0 in the normal one.
    pub victim: Cell32,
    /// What SH was when the last PAUSE reset it.
    pub victim_before_pause: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for StateLine {}

impl StateLine {
    /// SH at `now`. In the next period it is what IRC was at the end of this one. If that period is over, too, nothing
    /// has departed in it.
    #[inline(always)]
    pub fn is_victim(&self, now: Nanos) -> bool {
        let ends = self.period_ends_ns.load();
        if now.0 < ends {
            self.victim.load() != 0
        } else {
            now.0 < ends + self.period_ns.load() && self.holds()
        }
    }

    /// TC: begins another period if the running one is over at `now`.
    #[inline(always)]
    pub fn tick(&self, now: Nanos) {
        let (ends, period) = (self.period_ends_ns.load(), self.period_ns.load());
        if now.0 < ends {
            return;
        }
        self.victim.store(u32::from(self.is_victim(now)));
        self.departed_bytes.store(0);
        let next = ends + period;
        let ends = if now.0 < next { next } else { end_of_period(now.0, period) };
        self.period_ends_ns.store(ends);
    }

    /// IRC: a frame departs.
    #[inline(always)]
    pub fn count<S: Sharing>(&self, length: u64) {
        self.departed_bytes.add::<S>(length + u64::from(self.overhead_bytes.load()));
        if self.holds() {
            self.victim.store(1);
        }
    }

    /// A PAUSE of `classes` resets SH.
    #[inline(always)]
    pub fn reset(&self, classes: u8) {
        self.victim_before_pause.store(self.victim.load());
        self.paused_classes.store(self.paused_classes.load() | u32::from(classes));
        self.victim.store(0);
    }

    /// A RESUME of `classes` releases SH, if no other class holds it.
    #[inline(always)]
    pub fn release(&self, classes: u8) {
        self.paused_classes.store(self.paused_classes.load() & !u32::from(classes));
        if self.holds() {
            self.victim.store(1);
        }
    }

    /// What the state is, for those who look on.
    pub fn shown(&self) -> IngressState {
        IngressState {
            victim: self.victim.load() != 0,
            paused: self.paused_classes.load() != 0,
            victim_before_pause: self.victim_before_pause.load() != 0,
            period_ends: Nanos(self.period_ends_ns.load()),
        }
    }

    /// The truth table of Fig. 10: SH takes over the 1 of IRC unless it is reset.
    #[inline(always)]
    fn holds(&self) -> bool {
        self.departed_bytes.load() >= self.victim_bytes.load() && self.paused_classes.load() == 0
    }
}

/// The end of the period in which `now` lies.
#[inline(always)]
fn end_of_period(now: u64, period: u64) -> u64 {
    // A period of zero, which no scenario has, must not divide.
    now.checked_div(period).map_or(u64::MAX, |passed| (passed + 1) * period)
}
