//! Order of the keys in a hash table of GCC 5's C++ library (`std::unordered_map` with whole numbers as keys), which HPCC's
//! simulator is built with: in this order hosts take up their queue pairs again after the failure of a link.
//!
//! A new key goes in front of the keys of its bucket, or in front of all if its bucket is empty. A larger table takes the
//! keys one by one in their present order. The rule of other versions is the same, with other sizes.

/// Numbers of buckets. The table grows as soon as it has as many keys.
const SIZES: [u64; 18] = [
    1, 2, 5, 11, 23, 47, 97, 199, 409, 823, 1741, 3739, 7517, 15_173, 30_727, 62_233, 126_271,
    256_279,
];

/// Keys in the table's order, each with its queue pair.
#[derive(Debug, Default)]
pub struct HashTable {
    keys: Vec<(u64, u32)>,
    /// Place of the present size among all sizes.
    size: usize,
}

impl HashTable {
    /// Adds a key that is not in the table.
    pub fn insert(&mut self, key: u64, queue_pair: u32) {
        if self.keys.len() as u64 + 1 >= SIZES[self.size] && self.size + 1 < SIZES.len() {
            self.size += 1;
            for (key, queue_pair) in std::mem::take(&mut self.keys) {
                self.link(key, queue_pair);
            }
        }
        self.link(key, queue_pair);
    }

    fn link(&mut self, key: u64, queue_pair: u32) {
        let bucket = |key: u64| key % SIZES[self.size];
        let place = self.keys.iter().position(|(other, _)| bucket(*other) == bucket(key));
        self.keys.insert(place.unwrap_or(0), (key, queue_pair));
    }

    /// Removes the key of a queue pair.
    pub fn remove(&mut self, queue_pair: u32) {
        self.keys.retain(|(_, other)| *other != queue_pair);
    }

    /// Queue pairs in the order of the table.
    pub fn queue_pairs(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|(_, queue_pair)| *queue_pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(table: &HashTable) -> Vec<u32> {
        table.queue_pairs().collect()
    }

    /// By hand: buckets are the remainders of keys by 2, then by 5, then by 11.
    #[test]
    fn a_key_goes_in_front_of_its_bucket_or_of_all() {
        let mut table = HashTable::default();
        table.insert(10, 0);
        assert_eq!(order(&table), [0]);
        // The second key makes five buckets of two: 10 and 7 are alone in 0 and 2.
        table.insert(7, 1);
        assert_eq!(order(&table), [1, 0]);
        // 5 is in the bucket of 10, 12 in that of 7.
        table.insert(5, 2);
        assert_eq!(order(&table), [1, 2, 0]);
        table.insert(12, 3);
        assert_eq!(order(&table), [3, 1, 2, 0]);
        // Of 11 buckets the keys 12, 7, 5 and 10 have the numbers 1, 7, 5 and 10, each alone: their order turns round.
        // Then 21 joins 10.
        table.insert(21, 4);
        assert_eq!(order(&table), [4, 0, 2, 1, 3]);
        table.remove(2);
        assert_eq!(order(&table), [4, 0, 1, 3]);
        // A key in the bucket of 1, behind others.
        table.insert(18, 5);
        assert_eq!(order(&table), [4, 0, 5, 1, 3]);
    }

    #[test]
    fn sizes_are_primes_that_about_double() {
        for pair in SIZES.windows(2).skip(1) {
            assert!((2 * pair[0]..3 * pair[0]).contains(&pair[1]), "{pair:?}");
            let mut divisors = 2..;
            let least = divisors.find(|divisor| pair[1] % divisor == 0);
            assert_eq!(least, Some(pair[1]));
        }
    }
}
