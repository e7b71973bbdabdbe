//! Priorities 0 to 7, alone and in sets.

use std::fmt;

use crate::refusal::Refusal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A priority as a file gives it: 0 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority(pub u8);

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Priority;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "a priority from 0 to 7")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Priority, E> {
                match u8::try_from(number) {
                    Ok(priority @ 0..=7) => Ok(Priority(priority)),
                    _ => Err(E::custom(Refusal::new(
                        format!("there is no priority {number}"),
                        "Ethernet has the priorities 0 to 7",
                    ))),
                }
            }
        }
        input.deserialize_any(Reader)
    }
}

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u8(self.0)
    }
}

impl JsonSchema for Priority {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Priority".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer", "minimum": 0, "maximum": 7,
            "description": "A priority.",
        })
    }
}

/// Priority of ACKs: a number from 0 to 7, or `"data"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPriority {
    /// Priority of the packet that the ACK acknowledges.
    Data,
    /// A fixed priority.
    Fixed(u8),
}

impl Serialize for AckPriority {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Data => out.serialize_str("data"),
            Self::Fixed(priority) => out.serialize_u8(*priority),
        }
    }
}

impl<'de> Deserialize<'de> for AckPriority {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        priority_or("data", input).map(|priority| priority.map_or(Self::Data, Self::Fixed))
    }
}

impl JsonSchema for AckPriority {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AckPriority".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_or("data")
    }
}

/// A set of priorities, as a PFC class-enable vector: bit `n` is priority `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priorities(pub u8);

impl Priorities {
    /// Returns true if a priority (0 to 7) is in the set.
    pub const fn contains(self, priority: u8) -> bool {
        self.0 >> priority & 1 == 1
    }

    /// Returns the number of priorities in the set.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns the priorities in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..8).filter(move |&priority| self.contains(priority))
    }
}

impl Serialize for Priorities {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Priorities {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let list = Vec::<Priority>::deserialize(input)?;
        let mut set = Self::default();
        for Priority(priority) in list {
            if set.contains(priority) {
                let title = format!("priority {priority} comes twice");
                return Err(D::Error::custom(Refusal::new(title, "name each once")));
            }
            set.0 |= 1 << priority;
        }
        Ok(set)
    }
}

impl JsonSchema for Priorities {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Priorities".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut list = Vec::<Priority>::json_schema(generator);
        list.insert("description".into(), "A set of priorities.".into());
        list.insert("uniqueItems".into(), true.into());
        list
    }
}

/// A priority, or `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionalPriority(pub Option<u8>);

impl Serialize for OptionalPriority {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(priority) => out.serialize_u8(priority),
            None => out.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for OptionalPriority {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        priority_or("none", input).map(Self)
    }
}

impl JsonSchema for OptionalPriority {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OptionalPriority".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_or("none")
    }
}

/// Reads a priority, or `None` for `word`.
fn priority_or<'de, D: Deserializer<'de>>(
    word: &'static str,
    input: D,
) -> Result<Option<u8>, D::Error> {
    struct Reader(&'static str);
    impl Visitor<'_> for Reader {
        type Value = Option<u8>;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            write!(f, "a priority from 0 to 7, or \"{}\"", self.0)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Option<u8>, E> {
            if text == self.0 {
                return Ok(None);
            }
            Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<Option<u8>, E> {
            let number = serde::de::value::I64Deserializer::new(number);
            Priority::deserialize(number).map(|priority| Some(priority.0))
        }
    }
    input.deserialize_any(Reader(word))
}

fn schema_or(word: &str) -> Schema {
    json_schema!({ "oneOf": [
        { "type": "integer", "minimum": 0, "maximum": 7 },
        { "const": word },
    ] })
}
