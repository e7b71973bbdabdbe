//! A value whose type depends on the compared value.

use std::fmt;

use crate::refusal::Refusal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// Value as a file has it; quantities are texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plain {
    /// Text in quotes, or a number with its unit in quotes.
    Text(String),
    /// A number, in millionths.
    Number(i128),
    /// `true` or `false`.
    Truth(bool),
}

const ONE: i128 = 1_000_000;

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Number(number) if number % ONE == 0 => write!(f, "{}", number / ONE),
            Self::Number(number) => write!(f, "{}", *number as f64 / ONE as f64),
            Self::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => out.serialize_str(text),
            Self::Truth(truth) => out.serialize_bool(*truth),
            Self::Number(number) => match i64::try_from(number / ONE) {
                Ok(whole) if number % ONE == 0 => out.serialize_i64(whole),
                _ => out.serialize_f64(*number as f64 / ONE as f64),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Plain;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a text, a number or a truth value; quantities stand in quotes, such as \"10us\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Plain, E> {
                Ok(Plain::Text(text.to_owned()))
            }
            fn visit_bool<E: Error>(self, truth: bool) -> Result<Plain, E> {
                Ok(Plain::Truth(truth))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Plain, E> {
                Ok(Plain::Number(i128::from(number) * ONE))
            }
            #[expect(clippy::cast_possible_truncation, reason = "checked to be within bounds")]
            fn visit_f64<E: Error>(self, number: f64) -> Result<Plain, E> {
                // A float represents millionths exactly up to this number.
                const MAX_SIZE: f64 = 9e9;
                if !(-MAX_SIZE..=MAX_SIZE).contains(&number) {
                    let title = format!("the number {number} is too large");
                    return Err(E::custom(Refusal::new(
                        title,
                        "write a whole number, or one up to 9e9",
                    )));
                }
                let millionths = (number * ONE as f64).round();
                if (number * ONE as f64 - millionths).abs() > 1e-3 {
                    let title = format!("{number} is finer than a millionth");
                    return Err(E::custom(Refusal::new(title, "write six digits at most")));
                }
                Ok(Plain::Number(millionths as i128))
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for Plain {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Plain".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text, a number, a truth value, or a number with its unit in quotes.",
            "type": ["string", "number", "boolean"],
        })
    }
}
