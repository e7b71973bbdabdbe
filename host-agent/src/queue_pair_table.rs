//! Queue pairs by number, in slots that stay put.
#![expect(clippy::disallowed_types, reason = "the index is looked up and never iterated")]

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Queue pairs of one role. A slot is found by number once per packet and is an index from then on.
#[derive(Debug)]
pub struct QueuePairTable<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    slot_by_number: HashMap<u32, u32, BuildHasherDefault<NumberHasher>>,
    /// The number that was looked up last, and its slot: a flow's packets come one after the other.
    last: Option<(u32, u32)>,
}

impl<T> QueuePairTable<T> {
    /// An empty table.
    pub fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), slot_by_number: HashMap::default(), last: None }
    }

    /// Puts `queue_pair` into a free slot and returns the slot.
    ///
    /// # Panics
    /// If `number` is in use: the control plane must hand out unique numbers.
    pub fn insert(&mut self, number: u32, queue_pair: T) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.len().try_into().expect("queue pairs have numbers of 24 bits")
        });
        let earlier = self.slot_by_number.insert(number, slot);
        assert!(earlier.is_none(), "queue pair {number} is already open");
        if slot as usize == self.slots.len() {
            self.slots.push(Some(queue_pair));
        } else {
            self.slots[slot as usize] = Some(queue_pair);
        }
        slot
    }

    /// The slot of queue pair `number`.
    #[inline]
    pub fn slot_of(&mut self, number: u32) -> Option<u32> {
        if let Some((last, slot)) = self.last
            && last == number
        {
            return Some(slot);
        }
        let slot = self.slot_by_number.get(&number).copied()?;
        self.last = Some((number, slot));
        Some(slot)
    }

    /// The queue pair in an occupied slot.
    #[inline]
    pub fn occupant(&mut self, slot: u32) -> &mut T {
        self.slots[slot as usize].as_mut().expect("a slot in use holds a queue pair")
    }

    /// The queue pairs in slots, in the order of slots.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// Forgets the number; the slot stays until it is released.
    pub fn unlink(&mut self, number: u32) -> Option<u32> {
        self.last = None;
        self.slot_by_number.remove(&number)
    }

    /// Frees an unlinked slot.
    pub fn release(&mut self, slot: u32) {
        let occupant = self.slots[slot as usize].take();
        assert!(occupant.is_some(), "slot {slot} is released once");
        self.free.push(slot);
    }
}

/// Multiplicative hashing by 2^64 / golden ratio. The numbers are our own, so no attacker chooses them.
#[derive(Debug, Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        let product = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table picks buckets by the low bits and tags by the high ones, so the low bits must depend on the high
        // bits of the product.
        self.0 = product ^ (product >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_whichever_was_asked_for_before() {
        let mut table = QueuePairTable::new();
        let [seven, eight] =
            [(7, 'a'), (8, 'b')].map(|(number, it)| Some(table.insert(number, it)));
        for (number, slot) in
            [(7, seven), (8, eight), (8, eight), (9, None), (8, eight), (7, seven)]
        {
            assert_eq!(table.slot_of(number), slot, "{number}");
        }
    }

    #[test]
    fn slots_are_reused_only_after_their_release() {
        let mut table = QueuePairTable::new();
        let first = table.insert(7, 'a');
        assert_eq!(table.slot_of(7), Some(first));
        assert_eq!(table.unlink(7), Some(first));
        assert_eq!(table.slot_of(7), None);
        let second = table.insert(7, 'b');
        assert_ne!(first, second);
        assert_eq!(*table.occupant(first), 'a');
        table.release(first);
        assert_eq!(table.insert(8, 'c'), first);
        assert_eq!(*table.occupant(second), 'b');
    }

    /// A table of 2^n buckets uses the n low bits of a hash, and distinguishes the entries of a bucket by the seven
    /// high bits.
    #[test]
    fn numbers_in_sequence_spread_over_buckets_and_tags() {
        let hash = |number: u32| {
            let mut hasher = NumberHasher::default();
            hasher.write_u32(number);
            hasher.finish()
        };
        let buckets = |numbers: &[u32], part: fn(u64) -> u64| {
            let mut parts: Vec<u64> = numbers.iter().map(|&number| part(hash(number))).collect();
            parts.sort_unstable();
            parts.dedup();
            parts.len()
        };
        for step in [1, 16, 256, 4096] {
            let numbers: Vec<u32> = (0..1024).map(|n| n * step).collect();
            // Thrown at random, 1024 numbers hit 647 of 1024 buckets.
            assert!(buckets(&numbers, |hash| hash & 1023) > 550, "steps of {step}");
            assert_eq!(buckets(&numbers, |hash| hash >> 57), 128, "steps of {step}");
        }
    }

    #[test]
    fn a_key_of_bytes_is_hashed_byte_by_byte() {
        let hash = |bytes: &[u8]| {
            let mut hasher = NumberHasher::default();
            hasher.write(bytes);
            hasher.finish()
        };
        let hashes = [&[][..], &[1], &[2], &[1, 2], &[2, 1]].map(hash);
        for (place, one) in hashes.iter().enumerate() {
            assert!(hashes[..place].iter().all(|other| other != one), "{hashes:x?}");
        }
    }

    #[test]
    #[should_panic(expected = "slot 0 is released once")]
    fn a_slot_is_released_once() {
        let mut table = QueuePairTable::new();
        let slot = table.insert(7, ());
        table.release(slot);
        table.release(slot);
    }

    #[test]
    #[should_panic(expected = "queue pair 7 is already open")]
    fn a_number_is_open_once() {
        let mut table = QueuePairTable::new();
        table.insert(7, ());
        table.insert(7, ());
    }
}
