//! Quantities without a unit: ratios and probabilities, exact, without floats.

use std::fmt;

use crate::refusal::Refusal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// A positive rational number: `"1/16"`, `"0.5"`, `"2"` or `2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Numerator, above zero.
    pub numerator: u32,
    /// Denominator, above zero.
    pub denominator: u32,
}

impl Ratio {
    /// Returns `numerator / denominator`; both are above zero.
    pub const fn new(numerator: u32, denominator: u32) -> Self {
        Self { numerator, denominator }
    }

    /// Reads `a/b`, `a`, or `a.b` if the decimals fit into 32 bits; above zero.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if let Some((whole, fraction)) = text.split_once('.') {
            return Self::from_decimals(whole, fraction).ok_or_else(|| {
                let title = format!("`{text}` is not a ratio of numbers below 2^32");
                Refusal::new(title, RATIO_ADVICE)
            });
        }
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse());
        match (digits(numerator), digits(denominator)) {
            (Some(Ok(0)), Some(Ok(_))) => Err(Refusal::new("a ratio of 0", RATIO_ADVICE)),
            (Some(Ok(numerator)), Some(Ok(denominator))) if denominator > 0 => {
                Ok(Self { numerator, denominator })
            }
            _ => Err(Refusal::new(format!("`{text}` is not a ratio"), RATIO_ADVICE)),
        }
    }

    /// Returns a decimal number in lowest terms.
    fn from_decimals(whole: &str, fraction: &str) -> Option<Self> {
        let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let denominator = 10_u64.checked_pow(fraction.len().try_into().ok()?)?;
        let decimals = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
        let numerator =
            whole.parse::<u64>().ok()?.checked_mul(denominator)?.checked_add(decimals)?;
        let divisor = greatest_common_divisor(numerator, denominator);
        let of = |number: u64| u32::try_from(number / divisor).ok().filter(|&it| it > 0);
        Some(Self { numerator: of(numerator)?, denominator: of(denominator)? })
    }

    /// Returns `value` times the ratio, rounded down; saturates.
    pub fn scale(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.numerator);
        u64::try_from(product / u128::from(self.denominator)).unwrap_or(u64::MAX)
    }

    /// Returns the share of `value` whose quotient by the rest is this ratio, rounded down.
    pub fn part_beside(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.numerator);
        let whole = u128::from(self.numerator) + u128::from(self.denominator);
        u64::try_from(product / whole).unwrap_or(u64::MAX)
    }
}

/// Returns the greatest common divisor; one of the numbers must be above zero.
const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

const RATIO_ADVICE: &str = "write a ratio above zero such as \"1/16\", \"0.5\" or \"2\"";

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.numerator)?;
        if self.denominator == 1 { Ok(()) } else { write!(f, "/{}", self.denominator) }
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Ratio;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "a ratio such as \"1/16\", \"0.5\" or 0.5")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
                Ratio::parse(text).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Ratio, E> {
                self.visit_str(&number.to_string())
            }
            /// Reads the shortest decimals of the number, which are the decimals of the file.
            fn visit_f64<E: Error>(self, number: f64) -> Result<Ratio, E> {
                self.visit_str(&number.to_string())
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for Ratio {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ratio".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A ratio above zero.",
            "oneOf": [
                { "type": "string", "pattern": "^(0*[1-9][0-9]*(/0*[1-9][0-9]*)?|[0-9]*[1-9][0-9]*\\.[0-9]+|[0-9]+\\.[0-9]*[1-9][0-9]*)$" },
                { "type": "number", "exclusiveMinimum": 0 },
            ],
            "examples": ["1/16", "0.5", 0.5, 2],
        })
    }
}

/// A probability in millionths: the file's `0.2` is `200_000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probability {
    /// Millionths, 0 to 1,000,000.
    pub millionths: u32,
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(f64::from(self.millionths) / 1e6)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let unit = Unit { parts: 1e6, name: "a millionth", digits: "six" };
        let millionths = input.deserialize_any(unit)?;
        Ok(Self { millionths: millionths.try_into().expect("at most a million") })
    }
}

/// A probability in parts of 10^12: the file's `1e-7` is `100_000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FineProbability {
    /// Trillionths, 0 to 10^12.
    pub trillionths: u64,
}

impl From<Probability> for FineProbability {
    fn from(probability: Probability) -> Self {
        Self { trillionths: u64::from(probability.millionths) * 1_000_000 }
    }
}

impl FineProbability {
    /// Returns true with this probability if `drawn` is uniform over 64 bits. Probabilities in whole millionths use the
    /// upper half only, so that runs with equal seeds stay reproducible.
    pub fn takes(self, drawn: u64) -> bool {
        if self.trillionths.is_multiple_of(1_000_000) {
            // drawn / 2^32 < millionths / 10^6, in integers.
            return (drawn >> 32) * 1_000_000 < (self.trillionths / 1_000_000) << 32;
        }
        u128::from(drawn) * 1_000_000_000_000 < u128::from(self.trillionths) << 64
    }
}

impl Serialize for FineProbability {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(self.trillionths as f64 / 1e12)
    }
}

impl<'de> Deserialize<'de> for FineProbability {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let unit = Unit { parts: 1e12, name: "10^-12", digits: "twelve" };
        Ok(Self { trillionths: input.deserialize_any(unit)? })
    }
}

impl JsonSchema for FineProbability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FineProbability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A probability, in steps of 10^-12.",
            "type": "number", "minimum": 0, "maximum": 1,
        })
    }
}

/// Reads a number from 0 to 1 in parts of one.
struct Unit {
    /// Number of parts, up to 10^12.
    parts: f64,
    name: &'static str,
    digits: &'static str,
}

impl Visitor<'_> for Unit {
    type Value = u64;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a number from 0 to 1 such as 0.2")
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if !(0.0..=1.0).contains(&number) {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        let scaled = number * self.parts;
        let whole = scaled.round();
        // A double has 53 bits, so that parts of 10^12 leave an error of 10^-4.
        if (scaled - whole).abs() > self.parts.sqrt() * 1e-9 {
            let title = format!("{number} is finer than {}", self.name);
            let help = format!("write {} digits at most", self.digits);
            return Err(E::custom(Refusal::new(title, help)));
        }
        #[expect(
            clippy::cast_sign_loss,
            clippy::cast_possible_truncation,
            reason = "checked to be from 0 to the parts of one"
        )]
        Ok(whole as u64)
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        self.visit_f64(number as f64)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A probability, in steps of a millionth.",
            "type": "number", "minimum": 0, "maximum": 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_above_zero() {
        assert_eq!(Ratio::parse("1/16"), Ok(Ratio::new(1, 16)));
        assert_eq!(Ratio::parse("2"), Ok(Ratio::new(2, 1)));
        for text in ["0", "0/4", "1/0", "-1", "+1", "1/2/3", "", "0.0", ".5", "1.", "1.-5"] {
            assert!(Ratio::parse(text).is_err(), "{text}");
        }
        for (text, numerator, denominator) in [
            ("0.5", 1, 2),
            ("1.250", 5, 4),
            ("2.0", 2, 1),
            ("0.0625", 1, 16),
            ("0.000000001", 1, 1_000_000_000),
            ("4294967295.0", u32::MAX, 1),
        ] {
            assert_eq!(Ratio::parse(text), Ok(Ratio::new(numerator, denominator)), "{text}");
        }
        for text in ["0.0000000001", "4294967296.0", "0.3333333333", "99999999999999999999.0"] {
            assert!(Ratio::parse(text).is_err(), "{text} takes more than 32 bits");
        }
        assert_eq!(Ratio::new(1, 3).scale(10), 3);
        assert_eq!(Ratio::new(u32::MAX, 1).scale(u64::MAX / 2), u64::MAX);
    }
    #[test]
    fn a_fine_probability_takes_its_part_and_what_one_in_millionths_takes() {
        let taken = |trillionths, drawn| FineProbability { trillionths }.takes(drawn);
        for millionths in [0, 1, 3, 250_000, 1_000_000] {
            let coarse = |drawn: u64| (drawn >> 32) * 1_000_000 < millionths << 32;
            let edge =
                u64::try_from((u128::from(millionths) << 64) / 1_000_000).unwrap_or(u64::MAX);
            for drawn in [0, edge.wrapping_sub(1), edge, edge.saturating_add(1 << 32), u64::MAX] {
                assert_eq!(taken(millionths * 1_000_000, drawn), coarse(drawn), "{millionths}");
            }
        }
        // 10^-7 of 2^64 is 1844674407370.95.
        assert!(taken(100_000, 1_844_674_407_370) && !taken(100_000, 1_844_674_407_371));
        assert!(taken(1, 18_446_744) && !taken(1, 18_446_745));
    }
}
