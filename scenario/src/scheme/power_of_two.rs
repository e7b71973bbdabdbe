//! Factors by which a switch shifts instead of multiplying.

use units::checked::{Checked, Range};

use crate::ratio::Ratio;
use crate::refusal::Refusal;

/// A weight of 1, 1/2, 1/4 .. 1/64.
pub type RightShift = Checked<Ratio, UpToOne>;
/// A gain of 1, 2, 4 .. 64.
pub type LeftShift = Checked<Ratio, FromOne>;

/// Powers of two from 1/64 to 1. A smaller weight has no effect.
#[derive(Debug)]
pub enum UpToOne {}

/// Powers of two from 1 to 64. A larger gain requests all headroom at once.
#[derive(Debug)]
pub enum FromOne {}

/// Maximum shift, in bits.
const MAX_SHIFT: u32 = 6;

impl Range<Ratio> for UpToOne {
    fn check(weight: &Ratio) -> Result<(), Refusal> {
        if is_power(*weight) && weight.numerator <= weight.denominator {
            return Ok(());
        }
        let help =
            "a switch shifts instead of multiplying: write \"1\", \"1/2\", \"1/4\" .. \"1/64\"";
        Err(Refusal::sentence(format!("a weight of {weight}"), help))
    }
}

impl Range<Ratio> for FromOne {
    fn check(gain: &Ratio) -> Result<(), Refusal> {
        if is_power(*gain) && gain.numerator >= gain.denominator {
            return Ok(());
        }
        let help = "a switch shifts instead of multiplying: write 1, 2, 4 .. 64";
        Err(Refusal::sentence(format!("a gain of {gain}"), help))
    }
}

fn is_power(Ratio { numerator, denominator }: Ratio) -> bool {
    let both = numerator.is_power_of_two() && denominator.is_power_of_two();
    both && numerator.ilog2().abs_diff(denominator.ilog2()) <= MAX_SHIFT
}

/// Returns the shift for a power of two, in bits: to the left if it is above 1, otherwise to the right.
pub(super) fn shift(Ratio { numerator, denominator }: Ratio) -> u8 {
    let bits = numerator.ilog2().abs_diff(denominator.ilog2());
    u8::try_from(bits).expect("a 32-bit number has at most 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_shifts() {
        for (numerator, denominator, bits) in [(1, 1, 0), (1, 4, 2), (1, 64, 6), (64, 1, 6)] {
            let ratio = Ratio::new(numerator, denominator);
            assert_eq!(RightShift::new(ratio).is_ok(), numerator <= denominator, "{ratio}");
            assert_eq!(LeftShift::new(ratio).is_ok(), numerator >= denominator, "{ratio}");
            assert_eq!(shift(ratio), bits, "{ratio}");
        }
        for (numerator, denominator) in [(3, 1), (1, 3), (128, 1), (1, 128), (3, 12)] {
            let ratio = Ratio::new(numerator, denominator);
            assert!(RightShift::new(ratio).is_err() && LeftShift::new(ratio).is_err(), "{ratio}");
        }
    }
}
