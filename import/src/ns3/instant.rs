//! Conversion of seconds as in ns-3: a double, then a fixed-point number with 64 fractional bits, then nanoseconds.

use scenario::ScenarioError;
use units::Nanos;
use workload::decimal;

use crate::Source;
use crate::source::Word;

/// Latest instant, in seconds: one day, the limit of scenarios.
const LATEST: u128 = 86_400;
/// Fraction bits of a double and of the fixed-point number.
const DOUBLE_BITS: u32 = 52;
const FIXED_BITS: u32 = 64;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Rounding of seconds to whole nanoseconds in a simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Truncation: ns-3.18 and 3.19, the bases of HPCC's and `ConWeave`'s simulators.
    Down,
    /// Rounding to nearest: ns-3.39, the base of ns3-datacenter.
    Nearest,
}

/// Parses non-negative seconds as whole nanoseconds.
pub fn seconds(
    source: &Source,
    word: Word<'_>,
    rounding: Rounding,
) -> Result<Nanos, ScenarioError> {
    // The decimal parser refuses signs, infinities and the like; instants above the limit are refused here.
    let is_instant = decimal::parse(word.text).is_some_and(|value| value <= LATEST * decimal::ONE);
    if let Some(seconds) = word.text.parse::<f64>().ok().filter(|_| is_instant) {
        return Ok(nanos(seconds, NANOS_PER_SECOND, rounding));
    }
    let title = format!("the time is `{}`", word.text);
    let help = format!("write seconds from 0 to {LATEST}, such as 2.000013");
    Err(source.error(word.span(), &title, &help))
}

/// Converts a delay such as `0.6us` as the simulators that cut do; `None` if they do not have its unit, or it is longer
/// than a scenario.
pub fn delay(text: &str) -> Option<Nanos> {
    let end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let unit = match &text[end..] {
        "s" => NANOS_PER_SECOND,
        "ms" => 1_000_000,
        "us" => 1000,
        "ns" => 1,
        _ => return None,
    };
    let number = &text[..end];
    let longest = LATEST * decimal::ONE * (NANOS_PER_SECOND / unit);
    decimal::parse(number).filter(|value| *value <= longest)?;
    Some(nanos(number.parse().ok()?, unit, Rounding::Down))
}

/// Converts an amount of a unit of `unit` nanoseconds, from 0 to [`LATEST`].
fn nanos(amount: f64, unit: u128, rounding: Rounding) -> Nanos {
    let bits = amount.to_bits();
    let exponent = u32::try_from(bits >> DOUBLE_BITS).expect("no sign: eleven bits");
    let fraction = bits & ((1 << DOUBLE_BITS) - 1);
    // Subnormal doubles are zero in 64 fraction bits.
    let mantissa = if exponent == 0 { 0 } else { u128::from(fraction | 1 << DOUBLE_BITS) };
    // amount = mantissa x 2^(exponent - 1075); bits below 2^-64 are cut.
    let fixed = match (exponent + FIXED_BITS).checked_sub(1075) {
        Some(left) => mantissa << left,
        None => mantissa.checked_shr(1075 - FIXED_BITS - exponent).unwrap_or(0),
    };
    let (whole, rest) = (fixed >> FIXED_BITS, fixed & ((1 << FIXED_BITS) - 1));
    let half = match rounding {
        Rounding::Down => 0,
        Rounding::Nearest => 1 << (FIXED_BITS - 1),
    };
    let nanos = whole * unit + ((rest * unit + half) >> FIXED_BITS);
    Nanos(nanos.try_into().expect("a day fits 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instants that HPCC's simulator writes for 2.000033361 and the three below, and its delays of 0.000001 s.
    #[test]
    fn instants_are_those_of_the_simulators() {
        for (text, down, nearest) in [
            ("0", 0, 0),
            ("2", 2_000_000_000, 2_000_000_000),
            ("2.000033361", 2_000_033_360, 2_000_033_361),
            ("2.000113328", 2_000_113_327, 2_000_113_328),
            ("2.000000003", 2_000_000_002, 2_000_000_003),
            ("2.000001", 2_000_001_000, 2_000_001_000),
            ("0.000001", 999, 1000),
            ("1e-6", 999, 1000),
            ("0.15", 149_999_999, 150_000_000),
            ("3.01", 3_009_999_999, 3_010_000_000),
            ("2.0000000005", 2_000_000_000, 2_000_000_001),
            ("1e-300", 0, 0),
            ("4e-320", 0, 0),
            ("86400", 86_400_000_000_000, 86_400_000_000_000),
        ] {
            let source = Source::new("f", text);
            let word = source.lines()[0].words[0];
            let read = |rounding| seconds(&source, word, rounding).unwrap().0;
            assert_eq!((read(Rounding::Down), read(Rounding::Nearest)), (down, nearest), "{text}");
        }
        for (text, expected) in [
            ("0.6us", 599),
            ("1.1us", 1100),
            ("0.0012ms", 1199),
            ("0.009ms", 8999),
            ("0.001ms", 1000),
            ("0.000001s", 999),
            ("600ns", 600),
            ("1us", 1000),
        ] {
            assert_eq!(delay(text), Some(Nanos(expected)), "{text}");
        }
        assert_eq!([delay("5"), delay("5min"), delay("1e9s"), delay("us")], [None; 4]);
        for text in ["-1", "inf", "nan", "86400.1", "1e99", "2,5"] {
            let source = Source::new("f", text);
            assert!(
                seconds(&source, source.lines()[0].words[0], Rounding::Down).is_err(),
                "{text}"
            );
        }
    }
}
