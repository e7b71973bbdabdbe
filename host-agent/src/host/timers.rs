//! Timers of the ends of flows.

use std::collections::BTreeSet;

use units::Picos;

/// The end that a timer belongs to, by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerOf {
    /// A sending end.
    Sender(u32),
    /// A receiving end.
    Receiver(u32),
}

/// Timers, one entry at most for each end. An end keeps the instant of its entry itself.
#[derive(Debug, Default)]
pub struct Timers {
    entries: BTreeSet<(Picos, TimerOf)>,
    /// The first of them, cached: it is read far more often than it changes.
    first: Option<Picos>,
}

impl Timers {
    /// The earliest instant.
    #[inline]
    pub fn first(&self) -> Option<Picos> {
        self.first
    }

    /// Gives an end without an entry one, at `at`, which `entry` keeps.
    pub fn set(&mut self, owner: TimerOf, entry: &mut Option<Picos>, at: Picos) {
        *entry = Some(at);
        self.entries.insert((at, owner));
        self.find_first();
    }

    /// Removes an end's entry, if it has one.
    pub fn remove(&mut self, owner: TimerOf, entry: &mut Option<Picos>) {
        if let Some(at) = entry.take() {
            self.entries.remove(&(at, owner));
            self.find_first();
        }
    }

    /// Removes the first entry that is due at `now` and returns its end, which must clear its own
    /// record of the entry.
    pub fn pop_due(&mut self, now: Picos) -> Option<TimerOf> {
        self.first.filter(|&at| at <= now)?;
        let (_, owner) = self.entries.pop_first()?;
        self.find_first();
        Some(owner)
    }

    fn find_first(&mut self) {
        self.first = self.entries.first().map(|&(at, _)| at);
    }
}
