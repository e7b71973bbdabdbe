//! Faults that the user of a live fabric sets on a wire, in addition to the scenario's faults.

use scenario::{FineProbability, FrameClass, Lateness, Outage, Probability, Selection, Span};
use units::{BitsPerSecond, Picos};
use workload::random::mix;

use super::{FaultTally, Faults, Injector, What};
use crate::live::impairment::Impairment;

impl What {
    /// Number of the kind of fault, used in seeds and to find the fault to replace.
    fn place(&self) -> u64 {
        match self {
            Self::Loss(..) => 0,
            Self::Corruption(..) => 1,
            Self::Delay(_) => 2,
            Self::Rate(_) => 3,
            Self::Outage(_) => 4,
        }
    }
}

fn at_random(millionths: u32) -> Option<Selection> {
    (millionths > 0).then_some(Selection::Rate(Probability { millionths }.into()))
}

/// The probability that [`at_random`] was given.
fn millionths(rate: FineProbability) -> u32 {
    u32::try_from(rate.trillionths / 1_000_000).expect("at most a million")
}

impl Faults {
    fn own(&self) -> impl Iterator<Item = &What> {
        let own = self.injectors.iter().filter(|injector| injector.number.is_none());
        own.map(|injector| &injector.what)
    }

    /// The impairments that the user has set.
    pub fn impairment(&self) -> Impairment {
        let mut set = Impairment::default();
        for what in self.own() {
            match what {
                What::Loss(_, Selection::Rate(rate)) => {
                    set.loss_millionths = millionths(*rate);
                }
                What::Corruption(_, Selection::Rate(rate)) => {
                    set.corrupt_millionths = millionths(*rate);
                }
                What::Delay(lateness) => {
                    (set.delay_ps, set.jitter_ps) = (lateness.delay.0, lateness.jitter.0);
                }
                What::Rate(timing) => set.rate_bps = timing.rate.0,
                _ => {}
            }
        }
        set
    }

    /// Sets impairments. Unchanged ones continue their random sequences. `seed` is the wire's seed.
    pub fn impair(&mut self, set: Impairment, seed: u64) {
        let before = self.impairment();
        if set.loss_millionths != before.loss_millionths {
            let loss = at_random(set.loss_millionths);
            self.replace(0, loss.map(|which| What::Loss(FrameClass::All, which)), seed);
        }
        if set.corrupt_millionths != before.corrupt_millionths {
            let damage = at_random(set.corrupt_millionths);
            self.replace(1, damage.map(|which| What::Corruption(FrameClass::All, which)), seed);
        }
        if (set.delay_ps, set.jitter_ps) != (before.delay_ps, before.jitter_ps) {
            let late = Lateness { delay: Picos(set.delay_ps), jitter: Picos(set.jitter_ps) };
            self.replace(2, (late != Lateness::default()).then_some(What::Delay(late)), seed);
        }
        if set.rate_bps != before.rate_bps {
            let slower = || What::Rate(self.timing.at(BitsPerSecond(set.rate_bps)));
            let slower = (set.rate_bps > 0).then(slower);
            self.replace(3, slower, seed);
        }
    }

    /// Sets the outage of the wire, in addition to outages of the scenario.
    pub fn set_outage(&mut self, outage: Option<Outage>) {
        self.replace(4, outage.map(What::Outage), 0);
    }

    /// The outage that the user has set.
    pub fn own_outage(&self) -> Option<Outage> {
        self.own().find_map(|what| match what {
            What::Outage(outage) => Some(*outage),
            _ => None,
        })
    }

    /// Replaces the user's fault of this kind.
    fn replace(&mut self, place: u64, what: Option<What>, seed: u64) {
        self.injectors
            .retain(|injector| injector.number.is_some() || injector.what.place() != place);
        let Some(what) = what else { return };
        // A later setting draws other random numbers.
        self.replaced += 1;
        let seed = mix(seed, self.replaced << 8 | place);
        let (span, tally) = (Span::ALWAYS, FaultTally::default());
        self.add(Injector { number: None, span, what, seed, tally });
    }
}
