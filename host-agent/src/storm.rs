//! PFC storms: a NIC that pauses its neighbour continuously, as a broken NIC does, however little it holds.
//!
//! The NIC sends PFC frames ahead of everything else. `[[storms]]` of a scenario and `xoff storm` are commands to its
//! node.

use fabric_core::hop_control::ClassPauses;
use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority;
use fabric_core::wire::pfc::quantum_duration;
use units::{BitsPerSecond, Picos};

/// Pause time of each PAUSE frame: the max, in quanta.
const QUANTA: u16 = u16::MAX;

/// The storms of one NIC. Several may overlap: a class is paused until the last of its storms ends.
#[derive(Debug)]
pub struct Storms {
    /// End of the storm by class; zero without a storm.
    ends: [Picos; PRIORITIES],
    /// Next repetition of the pauses; [`Picos::MAX`] without a storm.
    renewal: Picos,
    /// Time between two PAUSE frames: half of their pause time.
    period: Picos,
}

impl Storms {
    /// No storm.
    pub fn new(link_rate: BitsPerSecond) -> Self {
        let period = Picos(quantum_duration(link_rate, QUANTA).0 / 2);
        Self { ends: [Picos::ZERO; PRIORITIES], renewal: Picos::MAX, period }
    }

    /// Pauses `classes` from `now` until `end`; with [`Picos::MAX`], until [`end`](Self::end).
    pub fn begin(&mut self, now: Picos, classes: u8, end: Picos) -> ClassPauses {
        for class in priority::in_mask(classes) {
            let present = &mut self.ends[class.index()];
            *present = end.max(*present);
        }
        self.renewal = now + self.period;
        ClassPauses::xoff(self.classes(), QUANTA)
    }

    /// Ends the storms of `classes`, and resumes these.
    pub fn end(&mut self, classes: u8) -> ClassPauses {
        let ended = classes & self.classes();
        for class in priority::in_mask(ended) {
            self.ends[class.index()] = Picos::ZERO;
        }
        if self.classes() == 0 {
            self.renewal = Picos::MAX;
        }
        ClassPauses::xon(ended)
    }

    /// Returns the PFC frame due at `now`, if any: resumes the classes whose storm is over, and repeats the others'
    /// pauses.
    pub fn expire(&mut self, now: Picos) -> Option<ClassPauses> {
        if self.next() > now {
            return None;
        }
        let is_over = |class: &priority::Priority| self.ends[class.index()] <= now;
        let over = priority::in_mask(self.classes()).filter(is_over);
        let mut pauses = self.end(over.fold(0, |classes, class| classes | class.bit()));
        if self.renewal <= now {
            self.renewal = now + self.period;
            pauses = pauses.and_xoff(self.classes(), QUANTA);
        }
        Some(pauses)
    }

    /// Instant at which [`expire`](Self::expire) is due; [`Picos::MAX`]: never.
    #[inline]
    pub fn next(&self) -> Picos {
        if self.renewal == Picos::MAX { Picos::MAX } else { self.first() }
    }

    #[cold]
    fn first(&self) -> Picos {
        let ends = priority::in_mask(self.classes()).map(|class| self.ends[class.index()]);
        ends.fold(self.renewal, Picos::min)
    }

    /// Ends of the storms by class. Zero: no storm. [`Picos::MAX`]: the storm lasts until a user ends it.
    pub const fn ends(&self) -> [Picos; PRIORITIES] {
        self.ends
    }

    /// The classes that it pauses, a bit each.
    pub fn classes(&self) -> u8 {
        let is_stormy = |class: &priority::Priority| self.ends[class.index()] > Picos::ZERO;
        priority::all().filter(is_stormy).fold(0, |classes, class| classes | class.bit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of 65,535 quanta at 100 Gbit/s.
    const PERIOD: u64 = 167_769_600;
    const THREE: u8 = 1 << 3;
    const FOUR: u8 = 1 << 4;

    fn storms() -> Storms {
        Storms::new(BitsPerSecond(100_000_000_000))
    }

    #[test]
    fn a_storm_is_renewed_before_its_pauses_run_out_and_ends_with_a_resume() {
        let mut storms = storms();
        assert_eq!((storms.next(), storms.expire(Picos(7))), (Picos::MAX, None));
        let end = Picos(5 + 2 * PERIOD + 1);
        let pause = ClassPauses::xoff(THREE, u16::MAX);
        assert_eq!(storms.begin(Picos(5), THREE, end), pause);
        for due in [5 + PERIOD, 5 + 2 * PERIOD] {
            assert_eq!(storms.next(), Picos(due));
            assert_eq!(storms.expire(Picos(due - 1)), None);
            assert_eq!(storms.expire(Picos(due)), Some(pause));
        }
        assert_eq!(storms.next(), end);
        assert_eq!(storms.expire(end), Some(ClassPauses::xon(THREE)));
        assert_eq!((storms.next(), storms.classes()), (Picos::MAX, 0));
    }

    #[test]
    fn storms_overlap_and_the_last_end_of_a_class_counts() {
        let mut storms = storms();
        storms.begin(Picos(0), THREE, Picos(100));
        let both = ClassPauses::xoff(THREE | FOUR, u16::MAX);
        assert_eq!(storms.begin(Picos(10), THREE | FOUR, Picos(50)), both);
        assert_eq!(storms.next(), Picos(50));
        assert_eq!(storms.expire(Picos(50)), Some(ClassPauses::xon(FOUR)));
        assert_eq!(storms.classes(), THREE);
        assert_eq!(storms.expire(Picos(100)), Some(ClassPauses::xon(THREE)));
    }

    #[test]
    fn an_end_and_a_renewal_of_one_instant_are_one_frame() {
        let mut storms = storms();
        storms.begin(Picos(0), THREE, Picos::MAX);
        storms.begin(Picos(0), FOUR, Picos(PERIOD));
        let frame = ClassPauses::xon(FOUR).and_xoff(THREE, u16::MAX);
        assert_eq!(storms.expire(Picos(PERIOD)), Some(frame));
        assert_eq!(storms.next(), Picos(2 * PERIOD));
    }

    #[test]
    fn a_storm_without_end_lasts_until_it_is_ended() {
        let mut storms = storms();
        storms.begin(Picos(0), THREE, Picos::MAX);
        assert_eq!(storms.end(FOUR), ClassPauses::default(), "there is none of that class");
        assert_eq!(storms.end(THREE | FOUR), ClassPauses::xon(THREE));
        assert_eq!(storms.next(), Picos::MAX);
    }
}
