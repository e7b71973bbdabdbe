//! Streams of random numbers that are equal on every machine.

/// xoshiro256++ of Blackman and Vigna, seeded through `SplitMix64` as they advise.
///
/// Three numbers name a stream: the run's seed, the workload's key ([`key_of`]) and a member of the
/// workload, such as one sender. Draws from one stream do not change any other stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomStream {
    state: [u64; 4],
}

impl RandomStream {
    /// Returns the stream with this name.
    pub fn new(seed: u64, key: u64, member: u64) -> Self {
        let name = finalise(finalise(finalise(seed) ^ key) ^ member);
        Self { state: [0, 1, 2, 3].map(|number| mix(name, number)) }
    }

    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Draws one of `choices` with equal probability.
    ///
    /// # Panics
    /// If `choices` is empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// Draws an index below `count` with equal probability; 0 if `count` is 0.
    pub fn index(&mut self, count: usize) -> usize {
        let place = self.below(count as u64);
        place.try_into().expect("less than the count")
    }

    /// Draws a number from 0 to `count` - 1; its bias is below `count` / 2^64. 0 if `count` is 0.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }
}

/// Returns the key of a workload from its label and the number of earlier workloads with this
/// label, so that adding or removing other workloads does not change its flows.
pub fn key_of(label: &str, occurrence: u64) -> u64 {
    // FNV-1a; the streams' seeding mixes it well.
    let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    finalise(hash.wrapping_add(occurrence.wrapping_mul(GOLDEN)))
}

/// Returns 64 bits from a seed and a number: draw `number`, from 0, of `SplitMix64` with that seed.
pub const fn mix(seed: u64, number: u64) -> u64 {
    finalise(seed.wrapping_add(number.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// 2^64 / the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `SplitMix64`.
const fn finalise(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut stream = RandomStream { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| stream.bits()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn the_mixer_is_the_published_one() {
        // The first draws of Vigna's splitmix64.c from 1234567.
        let first = [0, 1, 2].map(|number| mix(1_234_567, number));
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn names_lead_to_different_streams() {
        let names = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (0, 0, 0)];
        let mut seen: Vec<u64> =
            names.iter().map(|&(s, k, m)| RandomStream::new(s, k, m).bits()).collect();
        seen.push(key_of("poisson", 0));
        seen.push(key_of("poisson", 1));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 7);
    }

    #[test]
    fn numbers_below_a_count_are_even() {
        let mut stream = RandomStream::new(7, 0, 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[stream.index(10)] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
