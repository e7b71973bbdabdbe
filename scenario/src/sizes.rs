//! `sizes` of a workload: one size, a distribution that ships with xoff, or a distribution from a file.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use units::Bytes;
use workload::{Length, SizeChoice, SizeDistribution, catalogue};

use super::document::suggestion;
use super::flows::Expansion;
use super::quantity;
use super::report::ScenarioError;
use crate::refusal::Refusal;

/// Source of flow sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// One size for all flows, above zero.
    Fixed(Bytes),
    /// A distribution that ships with xoff, by name.
    Named(&'static str),
    /// A distribution from a file.
    File {
        /// Absolute path.
        file: String,
        /// Bytes per unit of the table's sizes; `None`: sizes are in bytes.
        unit: Option<Bytes>,
    },
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Sizes;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(
                    f,
                    "a distribution such as \"websearch\", a size such as \"64kB\", or a \
                    file: {{ file = \"my.cdf\" }}"
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Sizes, E> {
                if text.starts_with(|c: char| c.is_ascii_digit()) {
                    return quantity::parse(text).map(Sizes::Fixed).map_err(E::custom);
                }
                let known = catalogue::names().find(|name| *name == text);
                known.map(Sizes::Named).ok_or_else(|| {
                    let what = "the distributions are";
                    let help = suggestion(text, what, catalogue::names());
                    let more = "or write a size such as \"64kB\", or { file = \"my.cdf\" }";
                    let title = format!("no distribution is called `{text}`");
                    E::custom(Refusal::new(title, format!("{help}; {more}")))
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
                let keys = SizeFileKeys::deserialize(MapAccessDeserializer::new(map))?;
                let unit = keys.unit;
                if unit == Some(Bytes(0)) {
                    let refusal = Refusal::new("a unit of no bytes", "write one such as \"1460B\"");
                    return Err(A::Error::custom(refusal));
                }
                Ok(Sizes::File { file: keys.file, unit })
            }
        }
        input.deserialize_any(Reader)
    }
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(bytes) => serde::Serialize::serialize(bytes, out),
            Self::Named(name) => out.serialize_str(name),
            Self::File { file, unit } => {
                let mut map = out.serialize_map(None)?;
                map.serialize_entry("file", file)?;
                if let Some(unit) = unit {
                    map.serialize_entry("unit", &quantity::display(*unit))?;
                }
                map.end()
            }
        }
    }
}

/// A table of sizes.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SizeFileKeys {
    /// Path of the table, relative to the folder of the scenario file. It has a line for each point, with a size and
    /// the cumulative probability up to it, ending in 1 or in 100 (per cent). A third column between the two, as in
    /// tables of ns-2, is ignored.
    file: String,
    /// Bytes per unit of the table's sizes, above zero, such as "1460B" for sizes in packets. Required for tables with
    /// three columns. Default "1B".
    unit: Option<Bytes>,
}

impl JsonSchema for Sizes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sizes".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = catalogue::names().collect();
        json_schema!({
            "description": "Flow sizes: a distribution, a size, or a file.",
            "oneOf": [
                { "enum": names },
                generator.subschema_for::<Bytes>(),
                generator.subschema_for::<SizeFileKeys>(),
            ],
        })
    }
}

/// Bytes of a flow, or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthText(pub Length);

impl<'de> Deserialize<'de> for LengthText {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = LengthText;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "a size in quotes such as \"1MB\", or \"unlimited\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<LengthText, E> {
                if text == "unlimited" {
                    return Ok(LengthText(Length::Unlimited));
                }
                let bytes = quantity::parse(text).map_err(E::custom)?;
                Ok(LengthText(Length::Bytes(bytes)))
            }
        }
        input.deserialize_any(Reader)
    }
}

impl Serialize for LengthText {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Length::Bytes(bytes) => serde::Serialize::serialize(&bytes, out),
            Length::Unlimited => out.serialize_str("unlimited"),
        }
    }
}

impl JsonSchema for LengthText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Length".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size, or no end before the run's.",
            "oneOf": [generator.subschema_for::<Bytes>(), { "const": "unlimited" }],
        })
    }
}

impl Expansion<'_> {
    /// Resolves `sizes` at `path`. The second value is the distribution from which sizes are drawn.
    pub(super) fn sizes(
        &self,
        path: &str,
        sizes: Sizes,
    ) -> Result<(Sizes, SizeChoice), ScenarioError> {
        match sizes {
            Sizes::Fixed(bytes) => {
                self.check_bytes(path, bytes)?;
                Ok((sizes, SizeChoice::Fixed(bytes)))
            }
            Sizes::Named(name) => {
                let distribution = catalogue::distribution(name).expect("a known name");
                Ok((sizes, SizeChoice::Drawn(distribution)))
            }
            Sizes::File { file: name, unit } => {
                let file = self.read(&format!("{path}.file"), "distribution", &name)?;
                let distribution = SizeDistribution::parse_in(&file.text, unit)
                    .map_err(|fault| file.error(&fault))?;
                Ok((Sizes::File { file: file.path, unit }, SizeChoice::Drawn(distribution.into())))
            }
        }
    }

    pub(super) fn length(
        &self,
        path: &str,
        LengthText(length): LengthText,
    ) -> Result<Length, ScenarioError> {
        if let Length::Bytes(bytes) = length {
            self.check_bytes(path, bytes)?;
        }
        Ok(length)
    }

    pub(super) fn check_bytes(&self, path: &str, bytes: Bytes) -> Result<(), ScenarioError> {
        if bytes == Bytes(0) {
            let help = "write a size such as \"1MB\"";
            return Err(self.document.error(path, "a flow of no bytes", help));
        }
        Ok(())
    }
}
