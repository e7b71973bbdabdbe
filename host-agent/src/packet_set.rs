//! A set of packets near each other, one bit each.

use std::collections::VecDeque;

const BITS: u64 = u64::BITS as u64;

/// Packets by number.
///
/// The set grows to the widest span between a packet and the last [`remove_before`](Self::remove_before), and allocates
/// nothing after that; a flow without loss never allocates.
#[derive(Debug, Default)]
pub struct PacketSet {
    /// Number of the first packet that `words` have a bit for, a multiple of 64.
    base: u64,
    /// Empty if the set is.
    words: VecDeque<u64>,
    len: u64,
}

impl PacketSet {
    /// Packets in the set.
    #[inline]
    pub fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn contains(&self, number: u64) -> bool {
        self.place(number).is_some_and(|(place, bit)| self.words[place] & bit != 0)
    }

    /// Adds a packet, which was not removed before; true if it is new.
    pub fn insert(&mut self, number: u64) -> bool {
        assert!(number >= self.base, "packets before the set's start are not added");
        let index = usize::try_from((number - self.base) / BITS).expect("a set spans few packets");
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        let (word, bit) = (&mut self.words[index], 1 << (number % BITS));
        let new = *word & bit == 0;
        *word |= bit;
        self.len += u64::from(new);
        new
    }

    /// Packets from `number` on.
    pub fn count_from(&self, number: u64) -> u64 {
        if number <= self.base {
            return self.len;
        }
        let Some((place, bit)) = self.place(number) else {
            return 0;
        };
        let from = self.words.range(place + 1..).map(|word| u64::from(word.count_ones()));
        u64::from((self.words[place] & !(bit - 1)).count_ones()) + from.sum::<u64>()
    }

    /// The packet with exactly `behind` packets of the set after it; `None` if the set is too small.
    pub fn last_but(&self, behind: u64) -> Option<u64> {
        let mut left = behind;
        for (place, &word) in self.words.iter().enumerate().rev() {
            let ones = u64::from(word.count_ones());
            if left >= ones {
                left -= ones;
                continue;
            }
            let mut word = word;
            for _ in 0..left {
                word &= !(1 << (BITS - 1 - u64::from(word.leading_zeros())));
            }
            let top = BITS - 1 - u64::from(word.leading_zeros());
            return Some(self.base + place as u64 * BITS + top);
        }
        None
    }

    /// The first packet at or after `number` that the set does not have.
    #[inline]
    pub fn first_missing(&self, number: u64) -> u64 {
        let Some((place, bit)) = self.place(number) else {
            return number;
        };
        // Setting the bits below `number` hides the packets missing there.
        let mut present = self.words[place] | (bit - 1);
        let mut place = place;
        while present == u64::MAX {
            place += 1;
            present = self.words.get(place).copied().unwrap_or(0);
        }
        self.base + place as u64 * BITS + u64::from(present.trailing_ones())
    }

    /// Forgets the packets before `number`. Nothing before it is added later.
    #[inline]
    pub fn remove_before(&mut self, number: u64) {
        if self.words.is_empty() {
            self.base = self.base.max(number / BITS * BITS);
        } else {
            self.remove_some_before(number);
        }
    }

    fn remove_some_before(&mut self, number: u64) {
        while self.base + BITS <= number
            && let Some(word) = self.words.pop_front()
        {
            self.len -= u64::from(word.count_ones());
            self.base += BITS;
        }
        if let Some(word) = self.words.front_mut()
            && number > self.base
        {
            let gone = *word & ((1 << (number % BITS)) - 1);
            self.len -= u64::from(gone.count_ones());
            *word &= !gone;
        }
        if self.len == 0 {
            self.words.clear();
            self.base = self.base.max(number / BITS * BITS);
        }
    }

    /// Word and bit of a packet, if the set has room for it.
    #[inline]
    fn place(&self, number: u64) -> Option<(usize, u64)> {
        let index = usize::try_from(number.checked_sub(self.base)? / BITS).ok()?;
        (index < self.words.len()).then_some((index, 1 << (number % BITS)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(numbers: &[u64]) -> PacketSet {
        let mut set = PacketSet::default();
        for &number in numbers {
            assert!(set.insert(number), "{number} is new");
        }
        set
    }

    #[test]
    fn gaps_are_found_across_words() {
        let mut set = set(&[62, 63, 64, 65, 130]);
        for (from, missing) in
            [(0, 0), (61, 61), (62, 66), (64, 66), (66, 66), (130, 131), (131, 131), (900, 900)]
        {
            assert_eq!(set.first_missing(from), missing, "from {from}");
        }
        assert!(!set.insert(64), "it is there");
        assert_eq!(set.len(), 5);
        set.remove_before(64);
        assert_eq!((set.len(), set.contains(63), set.contains(64)), (3, false, true));
        set.remove_before(131);
        assert!(set.is_empty() && set.words.is_empty());
        set.remove_before(7000);
        assert!(set.insert(7001) && set.words.len() == 1, "it starts where its packets are");
    }

    #[test]
    fn a_word_of_ones_ends_at_the_next() {
        let all: Vec<u64> = (0..128).collect();
        let set = set(&all);
        assert_eq!([0, 63, 64, 127].map(|from| set.first_missing(from)), [128; 4]);
    }

    proptest! {
        /// The set agrees with a set of the standard library while its start moves on.
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), 0u64..300), 1..200)) {
            let (mut ours, mut model, mut start) = (PacketSet::default(), BTreeSet::new(), 0);
            for (insert, distance) in steps {
                if insert {
                    let number = start + distance;
                    prop_assert_eq!(ours.insert(number), model.insert(number));
                } else {
                    start += distance / 4;
                    ours.remove_before(start);
                    model = model.split_off(&start);
                }
                prop_assert_eq!(ours.len(), model.len() as u64);
                for behind in [0_u64, 1, 2, 70] {
                    let below = usize::try_from(behind).expect("few");
                    let expected = model.iter().rev().nth(below).copied();
                    prop_assert_eq!(ours.last_but(behind), expected);
                }
                for from in [start, start + 63, start + 64, start + 200, start + 1000] {
                    prop_assert_eq!(ours.count_from(from), model.range(from..).count() as u64);
                }
                let missing = (start..=u64::MAX).find(|number| !model.contains(number));
                prop_assert_eq!(Some(ours.first_missing(start)), missing);
                for number in start..start + 310 {
                    prop_assert_eq!(ours.contains(number), model.contains(&number));
                }
            }
        }
    }
}
