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
    /// TC: length of a counting period, ns.
    pub period_ns: Cell64,
    /// The counting number, C x TC / `K_spfc`, above zero.
    pub victim_bytes: Cell64,
    /// End of the current period, ns: a multiple of TC.
    pub period_ends_ns: Cell64,
    /// IRC: bytes on the wire that have departed in the current period.
    pub departed_bytes: Cell64,
    /// Bytes of a frame on the wire beyond its length.
    pub overhead_bytes: Cell32,
    /// Reset of SH. Bit n: the neighbour was sent a PAUSE of class n.
    pub paused_classes: Cell32,
    /// SH: 1 in the victim state, 0 in the normal state.
    pub victim: Cell32,
    /// SH before the last PAUSE reset it.
    pub victim_before_pause: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for StateLine {}

impl StateLine {
    /// Returns SH at `now`. In the period after the stored one, SH is the IRC at the end of the
    /// stored period. In later periods SH is 0, because no packet has departed since.
    #[inline(always)]
    pub fn is_victim(&self, now: Nanos) -> bool {
        let ends = self.period_ends_ns.load();
        if now.0 < ends {
            self.victim.load() != 0
        } else {
            now.0 < ends + self.period_ns.load() && self.holds()
        }
    }

    /// TC: begins a new period if the current period is over at `now`.
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

    /// IRC: counts a departing frame.
    #[inline(always)]
    pub fn count<S: Sharing>(&self, length: u64) {
        self.departed_bytes.add::<S>(length + u64::from(self.overhead_bytes.load()));
        if self.holds() {
            self.victim.store(1);
        }
    }

    /// Resets SH because of a PAUSE of `classes`.
    #[inline(always)]
    pub fn reset(&self, classes: u8) {
        self.victim_before_pause.store(self.victim.load());
        self.paused_classes.store(self.paused_classes.load() | u32::from(classes));
        self.victim.store(0);
    }

    /// Releases SH after a RESUME of `classes`, if no other class holds it.
    #[inline(always)]
    pub fn release(&self, classes: u8) {
        self.paused_classes.store(self.paused_classes.load() & !u32::from(classes));
        if self.holds() {
            self.victim.store(1);
        }
    }

    /// Returns the state for observers.
    pub fn shown(&self) -> IngressState {
        IngressState {
            victim: self.victim.load() != 0,
            paused: self.paused_classes.load() != 0,
            victim_before_pause: self.victim_before_pause.load() != 0,
            period_ends: Nanos(self.period_ends_ns.load()),
        }
    }

    /// Truth table of Fig. 10: SH takes the 1 of IRC unless SH is reset.
    #[inline(always)]
    fn holds(&self) -> bool {
        self.departed_bytes.load() >= self.victim_bytes.load() && self.paused_classes.load() == 0
    }
}

/// Returns the end of the period that contains `now`.
#[inline(always)]
fn end_of_period(now: u64, period: u64) -> u64 {
    // Avoids a division by a period of zero, which no scenario has.
    now.checked_div(period).map_or(u64::MAX, |passed| (passed + 1) * period)
}
