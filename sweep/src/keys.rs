//! A sweep file as written by the user.
//!
//! `sweep_file.rs` parses the values; docs/sweeps.md documents the keys.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use scenario::{DatapathKind, Refusal, schema_of};

/// A sweep of xoff: every combination of a variant, a value of each key of the matrix and a seed is
/// one run of the scenario.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "xoff sweep")]
pub(super) struct SweepKeys {
    /// Path of the scenario, relative to the folder of the sweep file.
    pub(super) scenario: String,
    /// Place where switches run: "memory" or "kernel". Default "memory".
    #[serde(default = "in_memory")]
    pub(super) datapath: DatapathKind,
    /// Seeds, each once, or their count: 3 is equal to [1, 2, 3], and { first = 11, count = 3 } to [11, 12, 13].
    /// Default 1.
    #[serde(default)]
    pub(super) seeds: Seeds,
    /// Metrics to keep, such as `fct_ns.p99` or `drops.*`; `*` matches any text. Default: every number of
    /// `summary.json`.
    pub(super) metrics: Option<Vec<String>>,
    /// Values by key; a key is a path in the format of `--set`, in quotes: "switch.threshold.alpha".
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    #[expect(dead_code, reason = "read from the document; here it is a key of the schema")]
    pub(super) matrix: Paths,
    /// Named groups of settings, such as one per scheme: an axis called "variant".
    #[serde(default)]
    pub(super) variants: Vec<VariantKeys>,
    /// More axes of grouped settings, such as the loads of two workloads.
    #[serde(default)]
    pub(super) axes: Vec<AxisKeys>,
    /// Settings of every run with `--scale NAME`, by name: a smaller fabric, a shorter time.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>")]
    #[expect(clippy::zero_sized_map_values, reason = "values are read from the document")]
    pub(super) scales: BTreeMap<String, Paths>,
}

/// An axis of grouped settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AxisKeys {
    /// Name of the axis in the tables.
    pub(super) name: String,
    /// Variants of the axis, one or more.
    pub(super) variants: Vec<VariantKeys>,
}

/// A named group of settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantKeys {
    /// Name of the variant in the tables.
    pub(super) name: String,
    /// Value by key; a key is a path in the format of `--set`, in quotes: "switch.headroom".
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    #[expect(dead_code, reason = "read from the document; here it is a key of the schema")]
    pub(super) set: Paths,
}

/// A table whose keys are paths. It is read from the document, which has the positions of the values.
#[derive(Debug, Default)]
pub(super) struct Paths;

impl<'de> Deserialize<'de> for Paths {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Paths;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "a table with paths in quotes as its keys: \"switch.buffer\"")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Paths, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Paths)
            }
        }
        input.deserialize_any(Reader)
    }
}

/// Seeds in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seeds {
    /// A range of seeds.
    Range(SeedRange),
    /// A list of seeds.
    List(Vec<u64>),
}

impl Default for Seeds {
    fn default() -> Self {
        Self::Range(SeedRange { first: 1, count: 1 })
    }
}

/// Consecutive seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SeedRange {
    /// First seed.
    pub first: u64,
    /// Number of seeds, from 1 up.
    #[schemars(range(min = 1))]
    pub count: u64,
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Seeds;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(
                    f,
                    "a list of seeds such as [1, 2, 3], their count, or {{ first = 11, count = 3 }}"
                )
            }
            fn visit_i64<E: Error>(self, count: i64) -> Result<Seeds, E> {
                let wrong =
                    || E::custom(Refusal::new(format!("{count} seeds"), "write a count from 1 up"));
                let count = u64::try_from(count).map_err(|_| wrong())?;
                Ok(Seeds::Range(SeedRange { first: 1, count }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Seeds, A::Error> {
                SeedRange::deserialize(MapAccessDeserializer::new(map)).map(Seeds::Range)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Seeds, A::Error> {
                let mut seeds = Vec::new();
                while let Some(seed) = list.next_element()? {
                    seeds.push(seed);
                }
                Ok(Seeds::List(seeds))
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for Seeds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Seeds".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let range = generator.subschema_for::<SeedRange>();
        json_schema!({
            "description": "Seeds, or their count.",
            "oneOf": [
                { "type": "integer", "minimum": 1 },
                {
                    "type": "array",
                    "items": { "type": "integer", "minimum": 0, "maximum": i64::MAX },
                    "minItems": 1,
                    "uniqueItems": true,
                },
                range,
            ],
        })
    }
}

const fn in_memory() -> DatapathKind {
    DatapathKind::Memory
}

/// Returns the JSON Schema of a sweep file, for editors: `xoff schema sweep`.
pub fn json_schema() -> serde_json::Value {
    schema_of::<SweepKeys>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_every_key_and_the_forms_of_seeds() {
        let schema = json_schema();
        assert_eq!(schema["title"], "xoff sweep");
        for key in
            ["scenario", "datapath", "seeds", "metrics", "matrix", "variants", "axes", "scales"]
        {
            assert!(schema["properties"][key].is_object(), "{key}");
        }
        let reference = schema["properties"]["seeds"].to_string();
        assert!(reference.contains("#/$defs/Seeds"), "{reference}");
        let forms = &schema["$defs"]["Seeds"]["oneOf"];
        assert_eq!((&forms[0]["type"], &forms[1]["type"]), (&"integer".into(), &"array".into()));
    }

    #[test]
    fn seeds_are_a_count_a_list_or_a_range() {
        let seeds = |text: &str| serde_json::from_str::<Seeds>(text).map_err(|it| it.to_string());
        let range = |first, count| Seeds::Range(SeedRange { first, count });
        assert_eq!(Seeds::default(), range(1, 1));
        assert_eq!(seeds(r#"{ "first": 11, "count": 3 }"#), Ok(range(11, 3)));
        assert!(seeds(r#"{ "first": 11 }"#).is_err());
        assert_eq!(seeds("[4, 2]"), Ok(Seeds::List(vec![4, 2])));
        let error = seeds("true").expect_err("neither");
        assert!(error.contains("a list of seeds such as [1, 2, 3], their count, or"), "{error}");
    }

    #[test]
    fn a_table_of_paths_may_hold_anything() {
        let paths = |text: &str| serde_json::from_str::<Paths>(text).map_err(|it| it.to_string());
        assert!(paths(r#"{ "switch.buffer": "1MB", "flows.0": { "bytes": [1, 2] } }"#).is_ok());
        let error = paths("[]").expect_err("no table");
        assert!(error.contains("a table with paths in quotes as its keys"), "{error}");
    }
}
