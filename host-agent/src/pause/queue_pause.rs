//! Pauses and gap of one queue of a NIC.

use fabric_core::pause_state::PauseWindow;
use units::Picos;

/// Pauses and gap of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueuePause {
    /// The latest end of the pauses and the gap. For a queue that nothing stops, nothing else is read.
    pub until: Picos,
    /// End of the gap that the neighbour's rate requires.
    pub gap: Picos,
    /// The pause of its class.
    pub class: PauseWindow<Picos>,
    /// The pause of the queue itself, which does not expire.
    pub queue: PauseWindow<Picos>,
}

impl QueuePause {
    /// Changes one of the pauses.
    pub fn update(&mut self, change: impl FnOnce(&mut Self)) {
        change(self);
        self.until = self.class.until.max(self.queue.until).max(self.gap);
    }

    #[inline]
    pub fn forbids(&self, start: Picos) -> bool {
        start < self.until
            && (start < self.gap || self.class.forbids(start) || self.queue.forbids(start))
    }

    /// The first instant from `from` on at which neither pause holds and the gap is over.
    #[inline]
    pub fn open_from(&self, from: Picos) -> Picos {
        if from >= self.until {
            return from;
        }
        self.open_by_pauses(from.max(self.gap))
    }

    /// First instant from `from` on at which neither pause holds, whatever the gap.
    #[inline]
    pub fn open_by_pauses(&self, from: Picos) -> Picos {
        let end_of =
            |pause: &PauseWindow<_>, from| if pause.forbids(from) { pause.until } else { from };
        end_of(&self.queue, end_of(&self.class, from))
    }
}
