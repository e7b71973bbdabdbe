//! `buffer` of switches: a size, or a size for each port and Gbit/s.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use units::{BitsPerSecond, Bytes};

use super::document::suggestion;
use super::quantity::{self, starts_like_a_word};
use crate::refusal::Refusal;

/// Suffix of a size that is given for each port and Gbit/s.
const UNIT: &str = "/port/Gbps";

/// Chips and their buffer in thousandths of a KiB for each port and Gbit/s, from BSHARE (Agarwal et al., Section V) and
/// the simulator of ABM (Addanki et al., SIGCOMM 2022).
const CHIPS: [(&str, u64); 3] = [("trident2", 9600), ("tomahawk", 5120), ("tofino", 3440)];

/// Buffer as a file gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferSize {
    /// Size of the whole buffer.
    Fixed(Bytes),
    /// Size for each port and Gbit/s.
    ByRate(ByRate),
}

/// Buffer for each port and Gbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByRate {
    /// Billionths of a byte for each port and Gbit/s, up to 10^18.
    nanobytes: u64,
}

impl BufferSize {
    /// Returns the buffer of a switch with ports of these rates, rounded down; saturates.
    pub(super) fn at(self, rates: impl Iterator<Item = BitsPerSecond>) -> Bytes {
        const NANO: u128 = 1_000_000_000;
        match self {
            Self::Fixed(bytes) => bytes,
            Self::ByRate(ByRate { nanobytes }) => {
                let rate: u128 = rates.map(|rate| u128::from(rate.0)).sum();
                let bytes = u128::from(nanobytes).saturating_mul(rate) / (NANO * NANO);
                Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
        }
    }

    /// Returns the size.
    ///
    /// # Panics
    /// If the size depends on rates. In a [`Scenario`](crate::Scenario) it does not.
    pub(super) fn fixed(self) -> Bytes {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::ByRate(_) => panic!("the buffers of a scenario are sizes"),
        }
    }

    fn parse(text: &str) -> Result<Self, Refusal> {
        if let Some(number) = text.strip_suffix(UNIT) {
            return ByRate::parse(number).map(Self::ByRate);
        }
        if let Some((number, _)) = text.split_once('/') {
            let number = if ByRate::parse(number).is_ok() { number } else { "9.6KiB" };
            return Err(Refusal::new(
                format!("`{text}` is no buffer"),
                format!("the unit for each port and Gbit/s is `{UNIT}`: write \"{number}{UNIT}\""),
            ));
        }
        if starts_like_a_word(text) {
            let chip = CHIPS.iter().find(|(name, _)| *name == text);
            let Some((_, kibibytes)) = chip else {
                let known = suggestion(text, "the chips are", CHIPS.map(|(name, _)| name));
                return Err(Refusal::new(
                    format!("no chip is called `{text}`"),
                    format!("{known}; or write a size such as \"16MB\" or \"9.6KiB{UNIT}\""),
                ));
            };
            return Ok(Self::ByRate(ByRate { nanobytes: kibibytes * 1024 * 1_000_000 }));
        }
        quantity::parse(text).map(Self::Fixed)
    }
}

impl ByRate {
    /// Reads a number and a unit of sizes.
    fn parse(text: &str) -> Result<Self, Refusal> {
        let wrong = || {
            let title = format!("`{text}{UNIT}` is not a size for each port and Gbit/s");
            Refusal::new(title, format!("write \"9.6KiB{UNIT}\""))
        };
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = text.split_at(digits);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
            return Err(wrong());
        }
        let one = format!("1{unit}");
        let one: Bytes = quantity::parse(&one).map_err(|refusal| {
            Refusal::new(refusal.title.replace(&one, text), refusal.help.replace(&one, text))
        })?;
        let fine = || {
            let title = format!("`{text}{UNIT}` has more than nine digits behind the point");
            Refusal::new(title, "write fewer")
        };
        if fraction.len() > 9 {
            return Err(fine());
        }
        let billionths: u64 = format!("{fraction:0<9}").parse().map_err(|_| wrong())?;
        let large = || {
            let title = format!("`{text}{UNIT}` is too large");
            Refusal::new(title, format!("the largest is \"1GB{UNIT}\""))
        };
        let whole: u64 = whole.parse().map_err(|_| large())?;
        let nanobytes = (u128::from(whole) * 1_000_000_000 + u128::from(billionths))
            .saturating_mul(u128::from(one.0));
        match u64::try_from(nanobytes) {
            Ok(nanobytes) if nanobytes <= 1_000_000_000_000_000_000 => Ok(Self { nanobytes }),
            _ => Err(large()),
        }
    }
}

impl fmt::Display for ByRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, billionths) = (self.nanobytes / 1_000_000_000, self.nanobytes % 1_000_000_000);
        let text = format!("{whole}.{billionths:09}");
        write!(f, "{}B{UNIT}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for BufferSize {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(bytes) => serde::Serialize::serialize(bytes, out),
            Self::ByRate(by_rate) => out.collect_str(by_rate),
        }
    }
}

impl<'de> Deserialize<'de> for BufferSize {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = BufferSize;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "a size in quotes such as \"16MB\" or \"9.6KiB{UNIT}\", or a chip")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<BufferSize, E> {
                BufferSize::parse(text).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<BufferSize, E> {
                Err(quantity::without_unit::<Bytes, E>(number))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<BufferSize, E> {
                Err(quantity::without_unit::<Bytes, E>(number))
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for BufferSize {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BufferSize".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let by_rate = json_schema!({
            "type": "string",
            "description": "A size for each port and Gbit/s of its rate.",
            "pattern": "^[0-9]+(\\.[0-9]{1,9})? *(B|kB|KiB|MB|MiB|GB|GiB|TB)/port/Gbps$",
            "examples": ["9.6KiB/port/Gbps"],
        });
        json_schema!({
            "oneOf": [
                generator.subschema_for::<Bytes>(),
                by_rate,
                { "enum": CHIPS.map(|(name, _)| name), "description": "Buffer of this chip for each port and Gbit/s." },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str, gigabits: &[u64]) -> Result<u64, Refusal> {
        let rates = gigabits.iter().map(|rate| BitsPerSecond(rate * 1_000_000_000));
        BufferSize::parse(text).map(|size| size.at(rates).0)
    }

    /// 40 ports of 10 Gbit/s, as in ABM's simulator.
    #[test]
    fn chips_have_a_buffer_for_each_port_and_gigabit() {
        let ports = [10; 40];
        for (chip, text, expected) in [
            ("trident2", "9.6KiB/port/Gbps", 3_932_160),
            ("tomahawk", "5.12KiB/port/Gbps", 2_097_152),
            ("tofino", "3.44KiB/port/Gbps", 1_409_024),
        ] {
            assert_eq!(bytes(chip, &ports), Ok(expected));
            assert_eq!(BufferSize::parse(chip), BufferSize::parse(text));
        }
        assert_eq!(bytes("1000B/port/Gbps", &[100, 400]), Ok(500_000));
        assert_eq!(bytes("0.3B/port/Gbps", &[10]), Ok(3));
        assert_eq!(bytes("0.3B/port/Gbps", &[5]), Ok(1), "rounded down");
        assert_eq!(bytes("16MB", &[100]), Ok(16_000_000));
    }

    #[test]
    fn what_is_no_buffer_says_why() {
        for (text, expected) in [
            (
                "trident3",
                "no chip is called `trident3`\ndid you mean `trident2`? the chips are `trident2`, `tomahawk` and `tofino`",
            ),
            ("x", "no chip is called `x`\nthe chips are `trident2`, `tomahawk` and `tofino`"),
            ("KiB/port/Gbps", "`KiB/port/Gbps` is not a size"),
            ("9.6/port/Gbps", "`9.6/port/Gbps` is not a size"),
            ("9.6kib/port/Gbps", "`kib` in `9.6kib` is not a unit of sizes; `KiB` is"),
            ("1.0000000001B/port/Gbps", "more than nine digits"),
            ("2GB/port/Gbps", "is too large"),
            ("99999999999999999999B/port/Gbps", "is too large"),
            ("-1KiB/port/Gbps", "`-1KiB/port/Gbps` is not a size"),
            ("9,6KiB/port/Gbps", "`,6KiB` in `9,6KiB` is not a unit of sizes"),
            (
                "9.6KiB/Gbps",
                "the unit for each port and Gbit/s is `/port/Gbps`: write \"9.6KiB/port",
            ),
            (
                "8KiB/port",
                "`8KiB/port` is no buffer\nthe unit for each port and Gbit/s is `/port/Gbps`: write \"8KiB/port",
            ),
            ("1/2", "write \"9.6KiB/port/Gbps\""),
        ] {
            let error = BufferSize::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_buffer_by_rate_is_written_exactly() {
        for text in ["trident2", "3B/port/Gbps", "0.000000001kB/port/Gbps", "0.5B/port/Gbps"] {
            let BufferSize::ByRate(by_rate) = BufferSize::parse(text).unwrap() else {
                panic!("{text} is by rate");
            };
            assert_eq!(BufferSize::parse(&by_rate.to_string()), Ok(BufferSize::ByRate(by_rate)));
        }
    }
}
