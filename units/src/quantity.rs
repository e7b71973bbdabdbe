//! Quantities in files: a number and its unit, exact, without floats.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use crate::refusal::Refusal;
use crate::{BitsPerSecond, Bytes, Picos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A quantity with a unit.
pub trait Dimension: Copy {
    /// Units of the quantity.
    const KIND: &'static Kind;
    /// Returns the quantity from bits per second, picoseconds or bytes.
    fn from_base(base: u64) -> Self;
    /// Returns the quantity in bits per second, picoseconds or bytes.
    fn base(self) -> u64;
}

/// Units and limits of a quantity.
pub struct Kind {
    name: &'static str,
    noun: &'static str,
    /// Units, smallest first; the scale of the first one is 1.
    units: &'static [(&'static str, u64)],
    /// Other spellings, each with its unit.
    spellings: &'static [(&'static str, &'static str)],
    example: &'static str,
    largest: u64,
    smallest: u64,
}

/// Maximum time, a day: sums of two hundred spans still fit into 64 bits of picoseconds.
pub const MAX_TIME: u64 = 86_400 * 1_000_000_000_000;
/// Maximum size, a petabyte: twenty hours at 100 Gbit/s.
const MAX_SIZE: u64 = 1_000_000_000_000_000;
/// Maximum rate: above 8 Tbit/s a byte takes less than a picosecond, the unit of time.
const FASTEST_RATE: u64 = 8_000_000_000_000;
/// Minimum rate: below it a pause of 65535 quanta would last for hours.
const SLOWEST_RATE: u64 = 1000;

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
        spellings: &[
            ("bit/s", "bps"),
            ("b/s", "bps"),
            ("kbit/s", "kbps"),
            ("kb/s", "kbps"),
            ("kbit", "kbps"),
            ("k", "kbps"),
            ("Mbit/s", "Mbps"),
            ("Mb/s", "Mbps"),
            ("Mbit", "Mbps"),
            ("M", "Mbps"),
            ("Gbit/s", "Gbps"),
            ("Gb/s", "Gbps"),
            ("Gbit", "Gbps"),
            ("G", "Gbps"),
            ("Tbit/s", "Tbps"),
            ("Tb/s", "Tbps"),
            ("Tbit", "Tbps"),
            ("T", "Tbps"),
        ],
        example: "100Gbps",
        largest: FASTEST_RATE,
        smallest: SLOWEST_RATE,
    };
    fn from_base(base: u64) -> Self {
        Self(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

/// Step by which a rate increases: a rate, or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Increase(pub BitsPerSecond);

impl Dimension for Increase {
    const KIND: &'static Kind =
        &Kind { name: "Increase", smallest: 0, ..*<BitsPerSecond as Dimension>::KIND };
    fn from_base(base: u64) -> Self {
        Self(BitsPerSecond(base))
    }
    fn base(self) -> u64 {
        self.0.0
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
        spellings: MICROSECONDS,
        example: "10us",
        largest: MAX_TIME,
        smallest: 0,
    };
    fn from_base(base: u64) -> Self {
        Self(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

/// Spellings with the micro sign and with the Greek letter.
const MICROSECONDS: &[(&str, &str)] = &[("\u{b5}s", "us"), ("\u{3bc}s", "us")];

/// Propagation delay of a metre of cable.
pub const METRE: Picos = Picos(5_000);

/// Propagation delay of a link: a time, or the length of a cable at 5 ns per metre. Source: light in fibre has a group
/// index of 1.468 (Corning SMF-28 at 1550 nm), so a metre takes 4.9 ns. For other media give the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Propagation(pub Picos);

impl Dimension for Propagation {
    const KIND: &'static Kind = &Kind {
        name: "Propagation",
        noun: "delay",
        units: &[
            ("ps", 1),
            ("ns", 1_000),
            ("m", METRE.0),
            ("us", 1_000_000),
            ("km", 1_000 * METRE.0),
            ("ms", 1_000_000_000),
            ("s", 1_000_000_000_000),
        ],
        spellings: MICROSECONDS,
        example: "1us",
        largest: MAX_TIME,
        smallest: 0,
    };
    fn from_base(base: u64) -> Self {
        Self(Picos(base))
    }
    fn base(self) -> u64 {
        self.0.0
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
        // No spelling `M`, which may be a megabyte or a mebibyte.
        spellings: &[],
        example: "200kB",
        largest: MAX_SIZE,
        smallest: 0,
    };
    fn from_base(base: u64) -> Self {
        Self(base)
    }
    fn base(self) -> u64 {
        self.0
    }
}

/// Returns true if a text is a word, for keys that accept a word or a quantity.
pub fn starts_like_a_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Reads a number and its unit, with or without a space between them, in any spelling of the unit.
pub fn parse<D: Dimension>(text: &str) -> Result<D, Refusal> {
    read(text, |unit| D::KIND.scale(unit.trim_start_matches(' ')))
}

/// Reads a number and its unit in the form in which xoff writes them: no space, and one spelling of each unit. For
/// files that other programs also read.
pub fn parse_strictly<D: Dimension>(text: &str) -> Result<D, Refusal> {
    read(text, |unit| D::KIND.units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale))
}

/// Reads a number and its unit without limits, because a sum of rates may exceed the fastest link. Accepts zero.
/// Returns the value in the smallest unit.
pub fn parse_any<D: Dimension>(text: &str) -> Result<u128, Refusal> {
    read_any::<D>(text, |unit| D::KIND.scale(unit.trim_start_matches(' ')))
}

fn read<D: Dimension>(text: &str, scale: impl FnOnce(&str) -> Option<u64>) -> Result<D, Refusal> {
    let kind = D::KIND;
    let noun = kind.noun;
    let base = read_any::<D>(text, scale)?;
    if base > u128::from(kind.largest) {
        return Err(too_large::<D>(text));
    }
    if base == 0 && kind.smallest > 0 {
        return Err(Refusal::new(format!("the {noun} is zero"), kind.advice()));
    }
    if base < u128::from(kind.smallest) {
        let smallest = display(D::from_base(kind.smallest));
        return Err(Refusal::new(
            format!("the {noun} `{text}` is too small"),
            format!("the smallest {noun} is \"{smallest}\""),
        ));
    }
    Ok(D::from_base(base.try_into().expect("the largest is a u64")))
}

fn too_large<D: Dimension>(text: &str) -> Refusal {
    let noun = D::KIND.noun;
    let largest = display(D::from_base(D::KIND.largest));
    let title = format!("the {noun} `{text}` is too large");
    Refusal::new(title, format!("the largest {noun} is \"{largest}\""))
}

fn read_any<D: Dimension>(
    text: &str,
    scale: impl FnOnce(&str) -> Option<u64>,
) -> Result<u128, Refusal> {
    let kind = D::KIND;
    let noun = kind.noun;
    let fault = |title: String| Refusal::new(title, kind.advice());
    let number_length = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_length);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(fault(format!("`{text}` is not a {noun}")));
    }
    if unit.trim().is_empty() {
        return Err(fault(format!("the {noun} `{text}` has no unit")));
    }
    let Some(scale) = scale(unit) else {
        let unit = unit.trim_start_matches(' ');
        let same = |(name, _): &&(&str, u64)| name.eq_ignore_ascii_case(unit);
        let hint = kind.units.iter().find(same).map(|(name, _)| format!("; `{name}` is"));
        let hint = hint.unwrap_or_default();
        return Err(fault(format!("`{unit}` in `{text}` is not a unit of {noun}s{hint}")));
    };
    // Every unit divides into fewer than eighteen digits after the point.
    let fraction = fraction.trim_end_matches('0');
    if whole.trim_start_matches('0').len() > 18 {
        return Err(too_large::<D>(text));
    }
    let divisor = 10u128.pow(fraction.len().min(18).try_into().expect("at most 18"));
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().unwrap_or(1) };
    let scaled = fraction * u128::from(scale);
    if number.len() > 36 || !scaled.is_multiple_of(divisor) || fraction >= divisor.max(2) {
        let smallest = kind.units[0].0;
        return Err(fault(format!("the {noun} `{text}` is not a whole number of {smallest}")));
    }
    Ok(whole.parse::<u128>().unwrap_or(0) * u128::from(scale) + scaled / divisor)
}

/// Returns the shortest exact text: `Bytes(2_000_000)` is `2MB`.
pub fn display<D: Dimension>(value: D) -> String {
    let base = value.base();
    let divides = |(_, scale): &&(&str, u64)| base != 0 && base.is_multiple_of(*scale);
    let decimal = |(name, _): &&(&str, u64)| !name.contains('i');
    let largest = D::KIND.units.iter().rev().filter(decimal).find(divides);
    let (name, scale) = largest.unwrap_or(&D::KIND.units[0]);
    format!("{}{name}", base / scale)
}

impl Kind {
    /// Returns every spelling of every unit.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let units = self.units.iter().map(|(name, _)| *name);
        units.chain(self.spellings.iter().map(|(spelling, _)| *spelling))
    }

    /// Returns the scale of a unit in any spelling.
    fn scale(&self, unit: &str) -> Option<u64> {
        let spelling = self.spellings.iter().find(|(spelling, _)| *spelling == unit);
        let unit = spelling.map_or(unit, |(_, unit)| *unit);
        self.units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
    }

    fn schema(&self) -> Schema {
        let names: Vec<_> = self.names().collect();
        json_schema!({
            "type": "string",
            "description": format!("A {}: a number and its unit.", self.noun),
            "pattern": format!("^[0-9]+(\\.[0-9]+)? *({})$", names.join("|")),
            "examples": [self.example],
        })
    }

    fn advice(&self) -> String {
        let names: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        let above = if self.smallest > 0 { " above zero" } else { "" };
        format!(
            "write a {}{above} such as \"{}\"; units are {}",
            self.noun,
            self.example,
            names.join(", ")
        )
    }
}

/// Implements reading, writing and the schema of a quantity: a text such as `"100Gbps"`.
macro_rules! in_files {
    ($($quantity:ty)*) => {
        $(
            impl Serialize for $quantity {
                fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                    out.serialize_str(&display(*self))
                }
            }

            impl<'de> Deserialize<'de> for $quantity {
                fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                    input.deserialize_any(Reader(PhantomData))
                }
            }

            impl JsonSchema for $quantity {
                fn schema_name() -> Cow<'static, str> {
                    Self::KIND.name.into()
                }
                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    Self::KIND.schema()
                }
            }
        )*
    };
}

in_files! { BitsPerSecond Bytes Increase Picos Propagation }

/// Reads a quantity with its unit.
struct Reader<D>(PhantomData<D>);

impl<D: Dimension> Visitor<'_> for Reader<D> {
    type Value = D;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a {} in quotes such as \"{}\"", D::KIND.noun, D::KIND.example)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<D, E> {
        parse(text).map_err(E::custom)
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<D, E> {
        Err(without_unit::<D, E>(number))
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<D, E> {
        Err(without_unit::<D, E>(number))
    }
}

/// Returns the error about a number that has no unit.
pub fn without_unit<D: Dimension, E: Error>(number: impl fmt::Display) -> E {
    let kind = D::KIND;
    E::custom(Refusal::new(format!("the {} `{number}` has no unit", kind.noun), kind.advice()))
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

    /// Spellings of xoff's output, data sheets, tc and ethtool.
    #[test]
    fn a_space_and_other_spellings_of_a_unit_are_read() {
        assert_eq!(parse("16 MB"), Ok(Bytes(16_000_000)));
        assert_eq!(parse("1.5 KiB"), Ok(Bytes(1536)));
        for text in ["25Gbps", "25 Gbps", "25 Gbit/s", "25Gb/s", "25G", "25Gbit", "0.025 Tb/s"] {
            assert_eq!(parse(text), Ok(BitsPerSecond(25_000_000_000)), "{text}");
        }
        for text in ["1 us", "1us", "1\u{b5}s", "1 \u{3bc}s", "0.001 ms"] {
            assert_eq!(parse(text), Ok(Picos(1_000_000)), "{text}");
            assert_eq!(parse::<Propagation>(text).map(|it| it.0), Ok(Picos(1_000_000)), "{text}");
        }
        for (_, unit) in BitsPerSecond::KIND.spellings.iter().chain(Picos::KIND.spellings) {
            let units = [BitsPerSecond::KIND, Picos::KIND].map(|kind| kind.scale(unit));
            assert!(units.iter().any(Option::is_some), "{unit}");
        }
    }

    #[test]
    fn an_ambiguous_unit_is_refused_with_the_ones_to_write() {
        for (text, title) in [
            ("16M", "`M` in `16M` is not a unit of sizes"),
            ("16 Mb", "`Mb` in `16 Mb` is not a unit of sizes; `MB` is"),
            ("16 KB", "`KB` in `16 KB` is not a unit of sizes; `kB` is"),
        ] {
            let refusal = parse::<Bytes>(text).unwrap_err();
            assert_eq!(refusal.title, title);
            assert!(
                refusal.help.ends_with("units are B, kB, KiB, MB, MiB, GB, GiB, TB"),
                "{refusal}"
            );
        }
        assert_eq!(parse::<Bytes>("16 ").unwrap_err().title, "the size `16 ` has no unit");
        for text in ["16 MB", "100Gbit"] {
            assert!(parse_strictly::<Bytes>(text).is_err(), "{text}");
            assert!(parse_strictly::<BitsPerSecond>(text).is_err(), "{text}");
        }
        let refusal = parse::<BitsPerSecond>("1GB/s").unwrap_err();
        assert_eq!(refusal.title, "`GB/s` in `1GB/s` is not a unit of rates");
    }

    #[test]
    fn a_length_of_cable_is_a_delay_and_no_time() {
        let delay = |text| parse::<Propagation>(text).map(|delay| delay.0);
        assert_eq!(delay("40m"), Ok(Picos(200_000)));
        assert_eq!(delay("0.5m"), Ok(Picos(2500)));
        assert_eq!(delay("2km"), Ok(Picos(10_000_000)));
        assert_eq!(delay("10us"), Ok(Picos(10_000_000)));
        let error = delay("40M").unwrap_err().title;
        assert!(error.starts_with("`M` in `40M` is not a unit of delays; `m` is"), "{error}");
        let error = parse::<Picos>("40m").unwrap_err().title;
        assert!(error.starts_with("`m` in `40m` is not a unit of times"), "{error}");
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        let title = |refusal: Refusal| refusal.title;
        let size = |text| title(parse::<Bytes>(text).unwrap_err());
        assert_eq!(size("2"), "the size `2` has no unit");
        assert_eq!(size("2mb"), "`mb` in `2mb` is not a unit of sizes; `MB` is");
        assert_eq!(size("0.5B"), "the size `0.5B` is not a whole number of B");
        assert_eq!(size("MB"), "`MB` is not a size");
        assert_eq!(size("-2MB"), "`-2MB` is not a size");
        assert_eq!(size("1..2MB"), "`1..2MB` is not a size");
        assert_eq!(
            size("99999999999999999999GB"),
            "the size `99999999999999999999GB` is too large"
        );
        let rate = |text| title(parse::<BitsPerSecond>(text).unwrap_err());
        assert_eq!(rate("0Gbps"), "the rate is zero");
        assert_eq!(rate("100"), "the rate `100` has no unit");
        assert_eq!(rate("100bps"), "the rate `100bps` is too small");
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
}
