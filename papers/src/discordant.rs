//! Pairs of runs with equal traffic in which an event happened under only one of two schemes.

use results::Number;

/// Numbers of pairs of runs with one seed that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discordant {
    /// Pairs in which the event happened only in the cell's run.
    pub only_here: usize,
    /// Pairs in which the event happened only in the baseline's run.
    pub only_there: usize,
}

impl Discordant {
    /// Returns the probability of a split at least as uneven as this one if each pair falls either way by chance:
    /// McNemar's exact test, two-sided (Q. McNemar, Psychometrika 12, 1947).
    pub fn p(self) -> Number {
        let pairs = self.only_here + self.only_there;
        // Sum of Pascal's row up to the smaller count, in exact integers of as many bits as there are pairs.
        let (mut term, mut sum) = (Natural::one(), Natural::default());
        for place in 0..=self.only_here.min(self.only_there) {
            sum.add(&term);
            term.multiply(pairs - place);
            term.divide(place + 1);
        }
        sum.multiply(2 * MILLION);
        let p = sum.shifted_right(pairs);
        Number(p.min(MILLION as u128).cast_signed())
    }
}

/// Units of [`Number::ONE`].
const MILLION: usize = 1_000_000;

/// A whole number of any size, in digits of 32 bits, the lowest first.
#[derive(Default)]
struct Natural(Vec<u32>);

impl Natural {
    fn one() -> Self {
        Self(vec![1])
    }

    fn add(&mut self, other: &Self) {
        let mut carry = 0;
        for place in 0.. {
            let digit = |number: &Self| number.0.get(place).copied().map(u64::from);
            let (here, there) = (digit(self), digit(other));
            if here.is_none() && there.is_none() && carry == 0 {
                return;
            }
            let sum = here.unwrap_or(0) + there.unwrap_or(0) + carry;
            self.set(place, low(sum));
            carry = sum >> 32;
        }
    }

    fn multiply(&mut self, factor: usize) {
        let mut carry = 0_u64;
        for digit in &mut self.0 {
            let product = u64::from(*digit) * factor as u64 + carry;
            *digit = low(product);
            carry = product >> 32;
        }
        if carry > 0 {
            self.0.push(low(carry));
        }
    }

    /// Divides, and drops the remainder.
    fn divide(&mut self, divisor: usize) {
        let mut rest = 0_u64;
        for digit in self.0.iter_mut().rev() {
            let part = (rest << 32) | u64::from(*digit);
            *digit = low(part / divisor as u64);
            rest = part % divisor as u64;
        }
    }

    /// Returns the number shifted right, which must fit into 128 bits.
    fn shifted_right(&self, bits: usize) -> u128 {
        let (skipped, bits) = (bits / 32, bits % 32);
        let digits = self.0.iter().skip(skipped).enumerate();
        let sum = digits.fold(0_u128, |sum, (place, digit)| {
            if place < 4 { sum | u128::from(*digit) << (32 * place) } else { sum }
        });
        sum >> bits
    }

    fn set(&mut self, place: usize, digit: u32) {
        if place == self.0.len() {
            self.0.push(0);
        }
        self.0[place] = digit;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
const fn low(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by hand: 2 (1 + 5) / 32, 2 (1 + 10 + 45) / 1024; the last two with another program's exact fractions.
    #[test]
    fn a_split_is_as_probable_as_coins_say() {
        for (here, there, expected) in [
            (0, 0, 1_000_000),
            (1, 0, 1_000_000),
            (2, 2, 1_000_000),
            (1, 4, 375_000),
            (4, 1, 375_000),
            (8, 2, 109_375),
            (0, 20, 1),
            (20, 60, 8),
            (480, 520, 217_448),
            (0, 1000, 0),
        ] {
            let split = Discordant { only_here: here, only_there: there };
            assert_eq!(split.p().0, expected, "{here} and {there}");
        }
    }
}
