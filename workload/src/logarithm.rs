//! Logarithms and powers in integers, bit-identical on every machine.
//!
//! Fixed-point numbers have 48 fractional bits ([`FRACTION_BITS`]). Each function documents its maximum error; tests
//! compare it with floats.

/// Fractional bits of fixed-point numbers.
pub const FRACTION_BITS: u32 = 48;

/// ln 2 with 64 fractional bits.
const LN_2: u64 = 0xb172_17f7_d1cf_79ab;
/// log2 e with 63 fractional bits.
const LOG2_E: i128 = 0xb8aa_3b29_5c17_f0bc;

/// Returns -ln(`value` / 2^64) for a `value` above zero, with an error below 2^-47.
pub fn negative_ln(value: u64) -> u64 {
    let negative_log2 = (64 << FRACTION_BITS) - log2(value);
    ((u128::from(negative_log2) * u128::from(LN_2)) >> 64) as u64
}

/// Returns log2 of a `value` above zero, at most 2^-48 too small.
///
/// Computes one bit at a time: squaring a number in [1, 2) doubles its logarithm, and the next bit is set if the square
/// is 2 or more. An error in squaring step `i` weighs 2^-i, so that truncation to 64 bits costs less than 2^-61 in all.
fn log2(value: u64) -> u64 {
    let zeros = value.leading_zeros();
    let mut mantissa = value << zeros;
    let mut bits = u64::from(63 - zeros);
    for _ in 0..FRACTION_BITS {
        let square = u128::from(mantissa) * u128::from(mantissa);
        let carry = square >> 127 == 1;
        let shifted = square >> (63 + u32::from(carry));
        mantissa = shifted.try_into().expect("below 2, with 63 bits after the point");
        bits = bits << 1 | u64::from(carry);
    }
    bits
}

/// A number above zero: `mantissa` x 2^`exponent` with 40 fractional bits in the mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    mantissa: u64,
    exponent: i32,
}

/// Fractional bits of a factor's mantissa.
const MANTISSA_BITS: u32 = 40;

impl Factor {
    /// Returns `value` times the factor, limited to 2^128 - 1; `value` is below 2^86.
    pub fn scale(self, value: u128) -> u128 {
        let product = value * u128::from(self.mantissa);
        let shift = MANTISSA_BITS.cast_signed() - self.exponent;
        if shift >= 128 {
            0
        } else if shift >= 0 {
            product >> shift
        } else if product.leading_zeros() >= shift.unsigned_abs() {
            product << -shift
        } else {
            u128::MAX
        }
    }
}

/// Returns e^`power`; its relative error is below 2^-38.
pub fn exponential(power: i128) -> Factor {
    let power_of_two = (power * LOG2_E) >> 63;
    let exponent = (power_of_two >> FRACTION_BITS) as i32;
    let fraction = power_of_two & ((1 << FRACTION_BITS) - 1);
    let set = |place: &usize| fraction >> (FRACTION_BITS as usize - 1 - place) & 1 == 1;
    let mantissa = (0..FRACTION_BITS as usize)
        .filter(set)
        .fold(1u128 << ROOT_BITS, |product, place| (product * ROOTS[place]) >> ROOT_BITS);
    let mantissa = mantissa >> (ROOT_BITS - MANTISSA_BITS);
    Factor {
        mantissa: mantissa.try_into().expect("below 2, with 40 bits after the point"),
        exponent,
    }
}

/// Fractional bits of [`ROOTS`].
const ROOT_BITS: u32 = 62;

/// 2^(1/2), 2^(1/4), 2^(1/8) and so on: each is the square root of the one before it.
const ROOTS: [u128; FRACTION_BITS as usize] = {
    let mut roots = [0; FRACTION_BITS as usize];
    let mut last = 2 << ROOT_BITS;
    let mut place = 0;
    while place < roots.len() {
        last = u128::isqrt(last << ROOT_BITS);
        roots[place] = last;
        place += 1;
    }
    roots
};

#[cfg(test)]
mod tests {
    use super::super::random::RandomStream;
    use super::*;

    const ONE: f64 = (1u64 << FRACTION_BITS) as f64;

    #[test]
    fn logarithms_are_those_of_floats() {
        let mut stream = RandomStream::new(1, 2, 3);
        let few = (0..64).map(|bit| 1 << bit).chain([3, 5, u64::MAX, u64::MAX - 1]);
        let many = (0..20_000).map(|_| stream.bits() >> stream.below(64)).map(|bits| bits.max(1));
        let values: Vec<u64> = few.chain(many).collect();
        for value in values {
            let expected = -(value as f64).ln() + 64.0 * std::f64::consts::LN_2;
            let found = negative_ln(value) as f64 / ONE;
            assert!((found - expected).abs() < 3e-14, "{value}: {found} {expected}");
        }
        assert_eq!(negative_ln(u64::MAX), 0);
        assert_eq!(negative_ln(1), 44 << 48 | 0x5c85_fdf4_73de);
    }

    #[test]
    fn powers_are_those_of_floats() {
        for step in -4000..4000i32 {
            let power = f64::from(step) / 100.0;
            let factor = exponential(i128::from(step) * (1 << FRACTION_BITS) / 100);
            let expected = power.exp();
            let found = factor.mantissa as f64 * f64::from(factor.exponent - 40).exp2();
            assert!((found / expected - 1.0).abs() < 4e-12, "{power}: {found} {expected}");
        }
    }

    #[test]
    fn factors_multiply_and_saturate() {
        assert_eq!(exponential(0).scale(1000), 1000);
        let large = exponential(80 << FRACTION_BITS);
        assert_eq!(large.scale(1 << 80), u128::MAX);
        assert_eq!(large.scale(0), 0);
        assert_eq!(exponential(-100 << FRACTION_BITS).scale(1 << 80), 0);
    }
}
