//! Queue pairs of one transmit queue that their rates hold back: a binary heap by instant, in which a queue pair's
//! instant can be changed.

use units::Picos;

/// Earliest instant first; equal instants in the order of their numbers.
type Entry = (Picos, u64, u32);

/// Place of a slot that no heap has.
const NOWHERE: u32 = u32::MAX;

/// Places in the heaps of a port, by slot. A slot is in one heap at most.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<u32>);

/// The heap.
#[derive(Debug, Default)]
pub(super) struct Paced {
    entries: Vec<Entry>,
}

impl Places {
    #[inline]
    fn set(&mut self, slot: u32, place: usize) {
        self.0[slot as usize] = u32::try_from(place).expect("a host has fewer queue pairs");
    }

    #[inline]
    fn place_of(&self, slot: u32) -> Option<usize> {
        let place = self.0.get(slot as usize).copied();
        place.filter(|&place| place != NOWHERE).map(|place| place as usize)
    }
}

impl Paced {
    /// The earliest instant.
    #[inline]
    pub(super) fn first(&self) -> Option<Picos> {
        self.entries.first().map(|&(at, ..)| at)
    }

    /// Adds a queue pair, which no heap has.
    pub(super) fn push(&mut self, at: Picos, number: u64, slot: u32, places: &mut Places) {
        if places.0.len() <= slot as usize {
            places.0.resize(slot as usize + 1, NOWHERE);
        }
        self.entries.push((at, number, slot));
        self.rise(self.entries.len() - 1, places);
    }

    /// Removes the earliest queue pair whose instant has come, and returns its number and slot.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Picos, places: &mut Places) -> Option<(u64, u32)> {
        let &(_, number, slot) = self.entries.first().filter(|(at, ..)| *at <= now)?;
        self.entries.swap_remove(0);
        places.0[slot as usize] = NOWHERE;
        if !self.entries.is_empty() {
            self.sink(0, places);
        }
        Some((number, slot))
    }

    /// Gives a queue pair of this heap another instant.
    pub(super) fn change(&mut self, slot: u32, at: Picos, places: &mut Places) {
        let Some(place) = places.place_of(slot) else { return };
        let before = std::mem::replace(&mut self.entries[place].0, at);
        if at < before {
            self.rise(place, places);
        } else {
            self.sink(place, places);
        }
    }

    /// Moves the entry at `place` up to where its parent is earlier.
    #[inline]
    fn rise(&mut self, mut place: usize, places: &mut Places) {
        let entry = self.entries[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.entries[parent] < entry {
                break;
            }
            self.put(place, self.entries[parent], places);
            place = parent;
        }
        self.put(place, entry, places);
    }

    /// Moves the entry at `place` down to where both of its children are later.
    #[inline]
    fn sink(&mut self, mut place: usize, places: &mut Places) {
        let entry = self.entries[place];
        loop {
            let left = 2 * place + 1;
            let right = left + 1;
            let child = match self.entries.get(left..) {
                Some(&[first, second, ..]) if second < first => right,
                Some(&[_, ..]) => left,
                _ => break,
            };
            if entry < self.entries[child] {
                break;
            }
            self.put(place, self.entries[child], places);
            place = child;
        }
        self.put(place, entry, places);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry, places: &mut Places) {
        self.entries[place] = entry;
        places.set(entry.2, place);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push { slot: u32, at: u64 },
        Change { slot: u32, at: u64 },
        PopUntil { now: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..40u32, 0..100u64).prop_map(|(slot, at)| Step::Push { slot, at }),
            (0..40u32, 0..100u64).prop_map(|(slot, at)| Step::Change { slot, at }),
            (0..100u64).prop_map(|now| Step::PopUntil { now }),
        ]
    }

    proptest! {
        /// The heap does as a sorted set, of two heaps that share the places.
        #[test]
        fn entries_leave_in_their_order(steps in prop::collection::vec(step(), 0..200)) {
            let (mut heaps, mut places) = ([Paced::default(), Paced::default()], Places::default());
            let mut sets: [BTreeSet<Entry>; 2] = Default::default();
            let has = |set: &BTreeSet<Entry>, of: u32| {
                set.iter().copied().find(|(_, _, slot)| *slot == of)
            };
            for (number, step) in (0..).zip(steps) {
                match step {
                    Step::Push { slot, at } => {
                        let side = (slot % 2) as usize;
                        if has(&sets[side], slot).is_none() {
                            sets[side].insert((Picos(at), number, slot));
                            heaps[side].push(Picos(at), number, slot, &mut places);
                        }
                    }
                    Step::Change { slot, at } => {
                        let side = (slot % 2) as usize;
                        if let Some(entry) = has(&sets[side], slot) {
                            sets[side].remove(&entry);
                            sets[side].insert((Picos(at), entry.1, slot));
                        }
                        heaps[side].change(slot, Picos(at), &mut places);
                    }
                    Step::PopUntil { now } => {
                        for (heap, set) in heaps.iter_mut().zip(&mut sets) {
                            while let Some((number, slot)) = heap.pop_due(Picos(now), &mut places) {
                                let first = set.pop_first();
                                prop_assert_eq!(first.map(|it| (it.1, it.2)), Some((number, slot)));
                            }
                            prop_assert!(set.first().is_none_or(|(at, ..)| *at > Picos(now)));
                        }
                    }
                }
                for (heap, set) in heaps.iter().zip(&sets) {
                    prop_assert_eq!(heap.first(), set.first().map(|(at, ..)| *at));
                }
            }
        }
    }
}
