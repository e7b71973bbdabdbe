//! `switch.lossy.pool`: part of a switch's buffer that lossy packets may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::quantity::{self, starts_like_a_word};
use crate::refusal::Refusal;

/// Part of a switch's buffer that lossy packets may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum LossyPool {
    /// The shared pool, together with lossless packets.
    #[default]
    Shared,
    /// A separate pool of this size, above zero.
    Own(Bytes),
}

impl LossyPool {
    /// Returns the size of a separate pool; zero if there is none.
    pub const fn own(self) -> Bytes {
        match self {
            Self::Shared => Bytes(0),
            Self::Own(bytes) => bytes,
        }
    }
}

impl TryFrom<String> for LossyPool {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        Ok(match text.as_str() {
            "shared" => LossyPool::Shared,
            word if starts_like_a_word(word) => {
                let title = format!("no pool is called `{word}`");
                return Err(Refusal::new(title, "write \"shared\", or a size such as \"1MB\""));
            }
            text => match quantity::parse(text)? {
                Bytes(0) => {
                    let help =
                        "write a size above zero, or \"shared\", or make each priority lossless";
                    return Err(Refusal::new("a pool of no bytes", help));
                }
                bytes => LossyPool::Own(bytes),
            },
        })
    }
}

impl JsonSchema for LossyPool {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LossyPool".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let size = generator.subschema_for::<Bytes>();
        schemars::json_schema!({ "oneOf": [{ "const": "shared" }, size] })
    }
}

impl Serialize for LossyPool {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Shared => out.serialize_str("shared"),
            Self::Own(bytes) => out.serialize_str(&quantity::display(*bytes)),
        }
    }
}
