//! Quantities as scenario files write them: a number and its unit, exact, without floats.

use std::fmt;

use fabric_core::units::{BitsPerSecond, Bytes, Picos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// What can be written with a unit.
pub(super) trait Dimension: Copy {
    const KIND: &'static Kind;
    fn from_base(base: u64) -> Self;
    fn base(self) -> u64;
}

/// How a dimension is written.
pub(super) struct Kind {
    name: &'static str,
    noun: &'static str,
    /// Smallest first; the first one's scale is 1.
    units: &'static [(&'static str, u64)],
    example: &'static str,
    largest: u64,
    zero_is_wrong: bool,
}

/// A day: sums of two hundred spans still fit into 64 bits of picoseconds.
const LONGEST_TIME: u64 = 86_400 * 1_000_000_000_000;
/// A petabyte, twenty hours at 100 Gbit/s.
const LARGEST_SIZE: u64 = 1_000_000_000_000_000;
/// Above 8 Tbit/s a byte takes less than the picosecond in which time is counted.
const FASTEST_RATE: u64 = 8_000_000_000_000;

impl Dimension for BitsPerSecond {
    const KIND: &'static Kind = &Kind {
        name: "Rate",
        noun: "rate",
        units: &[
            ("bps", 1),
            ("kbps", 1_000),
            ("Mbps", 1_000_000),
            ("Gbps", 1_000_000_000),
            ("Tbps", 1_000_000_000_000),
        ],
        example: "100Gbps",
        largest: FASTEST_RATE,
        zero_is_wrong: true,
    };
    fn from_base(base: u64) -> Self {
        Self(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl Dimension for Picos {
    const KIND: &'static Kind = &Kind {
        name: "Time",
        noun: "time",
        units: &[
            ("ps", 1),
            ("ns", 1_000),
            ("us", 1_000_000),
            ("ms", 1_000_000_000),
            ("s", 1_000_000_000_000),
        ],
        example: "10us",
        largest: LONGEST_TIME,
        zero_is_wrong: false,
    };
    fn from_base(base: u64) -> Self {
        Self(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl Dimension for Bytes {
    const KIND: &'static Kind = &Kind {
        name: "Size",
        noun: "size",
        units: &[
            ("B", 1),
            ("kB", 1_000),
            ("KiB", 1 << 10),
            ("MB", 1_000_000),
            ("MiB", 1 << 20),
            ("GB", 1_000_000_000),
            ("GiB", 1 << 30),
            ("TB", 1_000_000_000_000),
        ],
        example: "200kB",
        largest: LARGEST_SIZE,
        zero_is_wrong: false,
    };
    fn from_base(base: u64) -> Self {
        Self(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

/// A dimension's value in a file: `"100Gbps"`, `"10us"`, `"2MB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quantity<D>(pub(super) D);

pub(super) type Rate = Quantity<BitsPerSecond>;
pub(super) type Time = Quantity<Picos>;
pub(super) type Size = Quantity<Bytes>;

/// Reads a number and its unit. An error is a title and, on a second line, what would be right.
pub(super) fn parse<D: Dimension>(text: &str) -> Result<D, String> {
    let kind = D::KIND;
    let noun = kind.noun;
    let fault = |title: String| format!("{title}\n{}", kind.advice());
    let number_length = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_length);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(fault(format!("`{text}` is not a {noun}")));
    }
    if unit.is_empty() {
        return Err(fault(format!("the {noun} `{text}` has no unit")));
    }
    let Some(&(_, scale)) = kind.units.iter().find(|(name, _)| *name == unit) else {
        let same = |(name, _): &&(&str, u64)| name.eq_ignore_ascii_case(unit);
        let hint = kind.units.iter().find(same).map(|(name, _)| format!("; `{name}` is"));
        let hint = hint.unwrap_or_default();
        return Err(fault(format!("`{unit}` in `{text}` is not a unit of {noun}s{hint}")));
    };
    let too_large = || {
        let largest = display(D::from_base(kind.largest));
        format!("the {noun} `{text}` is too large\nthe largest {noun} is \"{largest}\"")
    };
    // Eighteen digits after the point are more than any unit divides into.
    let fraction = fraction.trim_end_matches('0');
    if whole.trim_start_matches('0').len() > 18 {
        return Err(too_large());
    }
    let divisor = 10u128.pow(fraction.len().min(18) as u32);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().unwrap_or(1) };
    let scaled = fraction * u128::from(scale);
    if number.len() > 36 || scaled % divisor != 0 || fraction >= divisor.max(2) {
        let smallest = kind.units[0].0;
        return Err(fault(format!("the {noun} `{text}` is not a whole number of {smallest}")));
    }
    let base = whole.parse::<u128>().unwrap_or(0) * u128::from(scale) + scaled / divisor;
    if base > u128::from(kind.largest) {
        return Err(too_large());
    }
    if base == 0 && kind.zero_is_wrong {
        return Err(fault(format!("the {noun} is zero")));
    }
    Ok(D::from_base(base as u64))
}

/// The shortest exact text: `Bytes(2_000_000)` is `2MB`.
pub(super) fn display<D: Dimension>(value: D) -> String {
    let base = value.base();
    let divides = |(_, scale): &&(&str, u64)| base != 0 && base.is_multiple_of(*scale);
    let decimal = |(name, _): &&(&str, u64)| !name.contains('i');
    let largest = D::KIND.units.iter().rev().filter(decimal).find(divides);
    let (name, scale) = largest.unwrap_or(&D::KIND.units[0]);
    format!("{}{name}", base / scale)
}

/// For `#[serde(serialize_with)]` on plain units.
pub(super) fn serialize<D: Dimension, S: Serializer>(value: &D, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&display(*value))
}

/// For `#[serde(serialize_with)]` on optional plain units.
pub(super) fn serialize_option<D: Dimension, S: Serializer>(
    value: &Option<D>,
    out: S,
) -> Result<S::Ok, S::Error> {
    value.map(display).serialize(out)
}

impl Kind {
    fn advice(&self) -> String {
        let names: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        let above = if self.zero_is_wrong { " above zero" } else { "" };
        format!(
            "write a {}{above} such as \"{}\"; units are {}",
            self.noun,
            self.example,
            names.join(", ")
        )
    }
}

impl<D: Dimension> Serialize for Quantity<D> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, out)
    }
}

impl<'de, D: Dimension> Deserialize<'de> for Quantity<D> {
    fn deserialize<T: Deserializer<'de>>(input: T) -> Result<Self, T::Error> {
        struct Reader<D>(std::marker::PhantomData<D>);
        impl<D: Dimension> Visitor<'_> for Reader<D> {
            type Value = Quantity<D>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "a {} in quotes such as \"{}\"", D::KIND.noun, D::KIND.example)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                parse(text).map(Quantity).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                Err(without_unit::<D, E>(number))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                Err(without_unit::<D, E>(number))
            }
        }
        input.deserialize_any(Reader(std::marker::PhantomData))
    }
}

fn without_unit<D: Dimension, E: Error>(number: impl fmt::Display) -> E {
    let kind = D::KIND;
    E::custom(format!("the {} `{number}` has no unit\n{}", kind.noun, kind.advice()))
}

impl<D: Dimension> JsonSchema for Quantity<D> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        D::KIND.name.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = D::KIND.units.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "type": "string",
            "description": format!("A {}: a number and its unit.", D::KIND.noun),
            "pattern": format!("^[0-9]+(\\.[0-9]+)?({})$", names.join("|")),
            "examples": [D::KIND.example],
        })
    }
}

/// A positive rational number: `"1/16"`, `"2"` or `2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Above zero.
    pub numerator: u32,
    /// Above zero.
    pub denominator: u32,
}

impl Ratio {
    pub(super) const fn new(numerator: u32, denominator: u32) -> Self {
        Self { numerator, denominator }
    }

    /// Reads `a/b` or `a`, both above zero.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse());
        match (digits(numerator), digits(denominator)) {
            (Some(Ok(0)), Some(Ok(_))) => Err(format!("a ratio of 0\n{RATIO_ADVICE}")),
            (Some(Ok(numerator)), Some(Ok(denominator))) if denominator > 0 => {
                Ok(Self { numerator, denominator })
            }
            _ => Err(format!("`{text}` is not a ratio\n{RATIO_ADVICE}")),
        }
    }

    /// `value` times the ratio, rounded down.
    pub const fn of(self, value: u64) -> u64 {
        (value as u128 * self.numerator as u128 / self.denominator as u128) as u64
    }
}

const RATIO_ADVICE: &str = "write a ratio above zero such as \"1/16\" or \"2\"";

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
                write!(f, "a ratio in quotes such as \"1/16\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
                Ratio::parse(text).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Ratio, E> {
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
                { "type": "string", "pattern": "^0*[1-9][0-9]*(/0*[1-9][0-9]*)?$" },
                { "type": "integer", "minimum": 1 },
            ],
            "examples": ["1/16", "2"],
        })
    }
}

/// A probability in millionths: the file's `0.2` is `200_000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probability {
    /// 0 to 1,000,000.
    pub millionths: u32,
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(f64::from(self.millionths) / 1e6)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Probability;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "a number from 0 to 1 such as 0.2")
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Probability, E> {
                if !(0.0..=1.0).contains(&number) {
                    return Err(E::invalid_value(Unexpected::Float(number), &self));
                }
                let millionths = (number * 1e6).round();
                if (number * 1e6 - millionths).abs() > 1e-6 {
                    let title = format!("{number} is finer than a millionth");
                    return Err(E::custom(format!("{title}\nwrite six digits at most")));
                }
                #[expect(clippy::cast_sign_loss, reason = "checked to be at least zero")]
                Ok(Probability { millionths: millionths as u32 })
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Probability, E> {
                self.visit_f64(number as f64)
            }
        }
        input.deserialize_any(Reader)
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
    fn numbers_with_units_are_read_exactly() {
        assert_eq!(parse("2MB"), Ok(Bytes(2_000_000)));
        assert_eq!(parse("1MiB"), Ok(Bytes(1_048_576)));
        assert_eq!(parse("1.5kB"), Ok(Bytes(1500)));
        assert_eq!(parse("0.1Gbps"), Ok(BitsPerSecond(100_000_000)));
        assert_eq!(parse("350ps"), Ok(Picos(350)));
        assert_eq!(parse("20ms"), Ok(Picos(20_000_000_000)));
        assert_eq!(parse("0s"), Ok(Picos(0)));
        assert_eq!(parse("0.0000000000010000000s"), Ok(Picos(1)));
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        let title = |error: String| error.lines().next().unwrap_or_default().to_owned();
        let size = |text| title(parse::<Bytes>(text).unwrap_err());
        assert_eq!(size("2"), "the size `2` has no unit");
        assert_eq!(size("2mb"), "`mb` in `2mb` is not a unit of sizes; `MB` is");
        assert_eq!(size("0.5B"), "the size `0.5B` is not a whole number of B");
        assert_eq!(size("MB"), "`MB` is not a size");
        assert_eq!(size("-2MB"), "`-2MB` is not a size");
        assert_eq!(size("1..2MB"), "`1..2MB` is not a size");
        assert_eq!(size("99999999999999999999GB"), "the size `99999999999999999999GB` is too large");
        assert_eq!(title(parse::<BitsPerSecond>("0Gbps").unwrap_err()), "the rate is zero");
        assert_eq!(
            title(parse::<Picos>("0.00000000000000000000000001s").unwrap_err()),
            "the time `0.00000000000000000000000001s` is not a whole number of ps"
        );
    }

    #[test]
    fn text_is_the_shortest_exact_one() {
        assert_eq!(display(Bytes(2_000_000)), "2MB");
        assert_eq!(display(Bytes(3100)), "3100B");
        assert_eq!(display(Bytes(0)), "0B");
        assert_eq!(display(Picos(4_194_000_000)), "4194us");
        assert_eq!(display(BitsPerSecond(2_500_000_000)), "2500Mbps");
    }

    #[test]
    fn ratios_are_above_zero() {
        assert_eq!(Ratio::parse("1/16"), Ok(Ratio::new(1, 16)));
        assert_eq!(Ratio::parse("2"), Ok(Ratio::new(2, 1)));
        for text in ["0", "0/4", "1/0", "-1", "+1", "1/2/3", "", "0.5"] {
            assert!(Ratio::parse(text).is_err(), "{text}");
        }
        assert_eq!(Ratio::new(1, 3).of(10), 3);
    }
}
