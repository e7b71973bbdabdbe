//! `switch.thresholds`: events at which thresholds are computed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;
use units::checked::{Checked, Range};

use crate::refusal::Refusal;

/// Events at which thresholds are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ThresholdUpdateKeys")]
pub enum ThresholdUpdate {
    /// Every arrival of a packet.
    #[default]
    PerPacket,
    /// Periodically, by the control plane.
    #[serde(untagged)]
    Period(UpdatePeriod),
}

/// Period of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PeriodKeys")]
pub struct UpdatePeriod {
    /// Time between computations, above zero.
    pub period: Checked<Picos, SomeTime>,
}

/// Times above zero.
#[derive(Debug)]
pub enum SomeTime {}

impl Range<Picos> for SomeTime {
    fn check(time: &Picos) -> Result<(), Refusal> {
        match *time {
            Picos::ZERO => Err(Refusal::sentence(
                "a period of no time",
                "write a time such as \"10us\", or thresholds = \"per-packet\"",
            )),
            _ => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for ThresholdUpdate {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> serde::de::Visitor<'de> for Reader {
            type Value = ThresholdUpdate;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "\"per-packet\" or a period: {{ period = \"10us\" }}")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                if text == "per-packet" {
                    return Ok(ThresholdUpdate::PerPacket);
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<Self::Value, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                UpdatePeriod::deserialize(map).map(ThresholdUpdate::Period)
            }
        }
        input.deserialize_any(Reader)
    }
}
