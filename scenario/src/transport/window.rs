//! A window in addition to congestion control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::quantity;
use crate::refusal::Refusal;

/// Limit of unacknowledged bytes in addition to congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Size of the window.
    #[serde(rename = "window")]
    pub size: WindowSize,
    /// True if the window shrinks in proportion to the rate that congestion control sets.
    #[serde(rename = "window_scales")]
    pub scales: bool,
    /// True if a packet may exceed a window as long as the window is not full.
    #[serde(rename = "window_overrun")]
    pub overrun: bool,
}

/// Size of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum WindowSize {
    /// No limit.
    #[default]
    Unlimited,
    /// The bandwidth-delay product: the host's line rate x the base RTT.
    Bdp,
    /// A fixed number of bytes, above zero.
    Bytes(Bytes),
}

impl TryFrom<String> for WindowSize {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        Ok(match text.as_str() {
            "none" => WindowSize::Unlimited,
            "bdp" => WindowSize::Bdp,
            text => match quantity::parse(text)? {
                Bytes(0) => {
                    return Err(Refusal::new("a window of no bytes", "write \"none\" for none"));
                }
                bytes => WindowSize::Bytes(bytes),
            },
        })
    }
}

impl JsonSchema for WindowSize {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Window".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let size = generator.subschema_for::<Bytes>();
        schemars::json_schema!({ "oneOf": [{ "enum": ["none", "bdp"] }, size] })
    }
}

impl Serialize for WindowSize {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => out.serialize_str("none"),
            Self::Bdp => out.serialize_str("bdp"),
            Self::Bytes(bytes) => out.serialize_str(&quantity::display(*bytes)),
        }
    }
}
