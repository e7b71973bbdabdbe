//! `switch.thresholds`: events at which thresholds are computed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use super::document::Document;
use super::report::ScenarioError;

/// Events at which thresholds are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdUpdate {
    /// Every arrival of a packet.
    PerPacket,
    /// Periodically, by the control plane.
    Period(Picos),
}

/// Events at which thresholds are computed.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum ThresholdUpdateKeys {
    /// Every arrival of a packet.
    PerPacket,
    /// Periodically, by the control plane.
    #[schemars(untagged)]
    Period(PeriodKeys),
}

/// Period of the control plane.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PeriodKeys {
    /// Time between computations, above zero.
    period: Picos,
}

impl ThresholdUpdateKeys {
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<ThresholdUpdate, ScenarioError> {
        match self {
            Self::PerPacket => Ok(ThresholdUpdate::PerPacket),
            Self::Period(PeriodKeys { period: Picos::ZERO }) => {
                let help = "write a time such as \"10us\", or thresholds = \"per-packet\"";
                Err(document.error("switch.thresholds.period", "a period of no time", help))
            }
            Self::Period(keys) => Ok(ThresholdUpdate::Period(keys.period)),
        }
    }
}

impl<'de> Deserialize<'de> for ThresholdUpdateKeys {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> serde::de::Visitor<'de> for Reader {
            type Value = ThresholdUpdateKeys;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "\"per-packet\" or a period: {{ period = \"10us\" }}")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                if text == "per-packet" {
                    return Ok(ThresholdUpdateKeys::PerPacket);
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<Self::Value, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                PeriodKeys::deserialize(map).map(ThresholdUpdateKeys::Period)
            }
        }
        input.deserialize_any(Reader)
    }
}
