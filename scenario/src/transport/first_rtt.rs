//! Marks of packets of a flow's first round trip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Place;
use crate::quantity::{self, starts_like_a_word};
use crate::refusal::Refusal;
use crate::report::ScenarioError;

/// Marks of packets of a flow's first round trip (docs/flow-hints.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FirstRttMarks {
    /// End of the first round trip, until which data packets are marked.
    #[serde(rename = "first_rtt_marks")]
    pub limit: FirstRttLimit,
    /// True if all ACKs and NAKs are marked.
    #[serde(rename = "first_rtt_acks")]
    pub acks: bool,
}

/// End of a flow's first round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum FirstRttLimit {
    /// No packet is marked.
    #[default]
    Off,
    /// After the bandwidth-delay product: the host's line rate x the base RTT.
    Auto,
    /// After this many bytes of payload, above zero.
    Bytes(Bytes),
}

impl FirstRttMarks {
    /// Checks that ACKs are not the only marked packets.
    pub(super) fn check(self, place: &Place<'_>) -> Result<Self, ScenarioError> {
        if self.acks && self.limit == FirstRttLimit::Off {
            let help = "add first_rtt_marks = \"auto\", or leave the key out";
            let title = "marks on ACKs, and none on data";
            return Err(place.wrong("first_rtt_acks", title, help));
        }
        Ok(self)
    }
}

impl TryFrom<String> for FirstRttLimit {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        Ok(match text.as_str() {
            "off" => FirstRttLimit::Off,
            "auto" => FirstRttLimit::Auto,
            word if starts_like_a_word(word) => {
                let title = format!("no limit of the first round trip is called `{word}`");
                return Err(Refusal::new(
                    title,
                    "write \"auto\", \"off\", or a size such as \"77kB\"",
                ));
            }
            text => match quantity::parse(text)? {
                Bytes(0) => {
                    let title = "a first round trip of no bytes";
                    return Err(Refusal::new(title, "write \"off\" for no marks"));
                }
                bytes => FirstRttLimit::Bytes(bytes),
            },
        })
    }
}

impl JsonSchema for FirstRttLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FirstRtt".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let size = generator.subschema_for::<Bytes>();
        schemars::json_schema!({ "oneOf": [{ "enum": ["off", "auto"] }, size] })
    }
}

impl Serialize for FirstRttLimit {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => out.serialize_str("off"),
            Self::Auto => out.serialize_str("auto"),
            Self::Bytes(bytes) => out.serialize_str(&quantity::display(*bytes)),
        }
    }
}
