//! Turns of queue pairs, by their places in the NIC's list, and the NIC's wake-up.

use units::Nanos;

use super::super::settings::{List, Wake};
use super::{Host, Schedule};

impl Host {
    /// The index in the list of the next queue pair to send.
    pub(super) fn choose(&mut self, now: Nanos) -> Option<usize> {
        match self.settings.list {
            List::Cleared => self.choose_cleared(now),
            List::Kept => self.choose_kept(now),
        }
    }

    /// As [`choose`](Self::choose) in a list whose places stay. Completed queue pairs never send, so that the list need not
    /// have them.
    fn choose_kept(&mut self, now: Nanos) -> Option<usize> {
        let Self { list, queue_pairs, .. } = self;
        // A queue pair is complete by an ACK only: other looks need not walk the list for this.
        if std::mem::take(&mut self.has_finished) {
            list.retain(|&slot| {
                let stays = !queue_pairs.occupant(slot).is_finished();
                if !stays {
                    queue_pairs.release(slot);
                }
                stays
            });
        }
        let (count, last) = (list.len(), self.last);
        let behind = list.partition_point(|&slot| queue_pairs.occupant(slot).place <= last);
        let mut indexes = (behind..count).chain(0..behind);
        let chosen = indexes.find(|&index| self.may_send(now, self.list[index]))?;
        self.last = self.queue_pairs.occupant(self.list[chosen]).place;
        Some(chosen)
    }

    /// True if a queue pair may send now.
    fn may_send(&mut self, now: Nanos, slot: u32) -> bool {
        let rate = self.link.rate;
        let pair = self.queue_pairs.occupant(slot);
        let is_paused = self.paused & pair.flow.priority.bit() != 0;
        !is_paused && pair.is_open(rate, &self.settings) && pair.available <= now
    }

    /// As [`choose`](Self::choose). Queue pairs that are completely acknowledged are cleared away from the first one that
    /// was met on.
    fn choose_cleared(&mut self, now: Nanos) -> Option<usize> {
        let (count, rate) = (self.list.len(), self.link.rate);
        let (mut chosen, mut first_finished) = (None, usize::MAX);
        for step in 1..=count {
            let place = (self.last + step) % count;
            let pair = self.queue_pairs.occupant(self.list[place]);
            let is_paused = self.paused & pair.flow.priority.bit() != 0;
            if !is_paused && pair.is_open(rate, &self.settings) {
                if pair.available <= now {
                    chosen = Some(place);
                    break;
                }
            } else if pair.is_finished() {
                first_finished = first_finished.min(place);
            }
        }
        if first_finished < count {
            chosen = self.clear(first_finished, chosen);
        }
        self.last = chosen.unwrap_or(self.last);
        chosen
    }

    /// Removes the finished queue pair at `first` and all behind it. Returns the new place of the one at `kept`.
    fn clear(&mut self, first: usize, kept: Option<usize>) -> Option<usize> {
        let (mut next, mut moved) = (first, kept);
        for place in first..self.list.len() {
            let slot = self.list[place];
            if kept == Some(place) {
                // It may be acknowledged as a whole, and send again after a NACK.
                moved = Some(next);
            } else if self.queue_pairs.occupant(slot).is_finished() {
                self.queue_pairs.release(slot);
                continue;
            }
            self.list[next] = slot;
            next += 1;
        }
        self.list.truncate(next);
        moved
    }

    /// Schedules a wake-up for the earliest start that pacing sets, also of queue pairs that a pause or the window stops.
    pub(super) fn plan_wake(&mut self, now: Nanos, schedule: &mut impl Schedule) {
        let mut earliest = Nanos(u64::MAX);
        for &slot in &self.list {
            let pair = self.queue_pairs.occupant(slot);
            let counts = self.settings.wake == Wake::Earliest || pair.available > now;
            if pair.left() > 0 && counts {
                earliest = earliest.min(pair.available);
            }
        }
        if self.wake.is_none() && earliest > now && earliest != Nanos(u64::MAX) {
            self.wake_at(earliest, schedule);
        }
    }
}
