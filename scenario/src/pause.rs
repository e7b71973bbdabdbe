//! How a port sends and obeys PAUSE (IEEE 802.1Qbb).

use fabric_core::headroom::MAX_RESPONSE_BYTES;
use fabric_core::wire::pfc::quantum_duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use topology::NodeKind;
use units::{BitsPerSecond, Picos};

use super::Scenario;
use super::document::Document;
use super::quantity;
use super::ratio::Ratio;
use super::report::ScenarioError;
use crate::refusal::Refusal;

/// How long after the arrival of a PAUSE a port may still start frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PauseResponse {
    /// The most that 802.1Qbb allows: 3840 bytes at the port's rate.
    #[default]
    Standard,
    /// A fixed time, at most that.
    Time(Picos),
}

impl PauseResponse {
    /// The response time of a port of this rate.
    pub const fn at(self, rate: BitsPerSecond) -> Picos {
        match self {
            Self::Standard => rate.serialise(MAX_RESPONSE_BYTES),
            Self::Time(time) => time,
        }
    }

    /// Checks the time against the fastest port that it applies to.
    pub(super) fn check(
        self,
        fastest: BitsPerSecond,
        path: &str,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let (given, longest) = (self.at(fastest), Self::Standard.at(fastest));
        if given <= longest {
            return Ok(());
        }
        let rate = quantity::display(fastest);
        let title = format!(
            "a pause response of {} is longer than 802.1Qbb allows at {rate}",
            quantity::display(given)
        );
        let help = format!(
            "it is at most 3840 B at line rate, {} here; \"standard\" is just that",
            quantity::display(longest)
        );
        Err(document.error(path, &title, &help))
    }
}

impl TryFrom<String> for PauseResponse {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        if text == "standard" { Ok(Self::Standard) } else { quantity::parse(&text).map(Self::Time) }
    }
}

impl From<PauseResponse> for String {
    fn from(response: PauseResponse) -> Self {
        match response {
            PauseResponse::Standard => "standard".into(),
            PauseResponse::Time(time) => quantity::display(time),
        }
    }
}

impl JsonSchema for PauseResponse {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PauseResponse".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<super::quantity::Time>();
        json_schema!({ "oneOf": [{ "const": "standard" }, time] })
    }
}

/// When a PAUSE is sent again while the congestion lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PauseRefresh {
    /// After this part of the pause time; below 1.
    Part(Ratio),
    /// After a fixed time, shorter than the pause time.
    Time(Picos),
}

impl Default for PauseRefresh {
    fn default() -> Self {
        Self::Part(Ratio::new(1, 2))
    }
}

impl PauseRefresh {
    /// The time from one PAUSE to the next on a port of this rate that sends `quanta`.
    pub fn period(self, quanta: u16, rate: BitsPerSecond) -> Picos {
        match self {
            Self::Part(part) => Picos(part.of(quantum_duration(rate, quanta).0)),
            Self::Time(time) => time,
        }
    }

    /// Checks that a refresh comes before the quanta expire on the fastest port.
    pub(super) fn check(
        self,
        quanta: u16,
        fastest: BitsPerSecond,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let (period, time) = (self.period(quanta, fastest), quantum_duration(fastest, quanta));
        if period > Picos::ZERO && period < time {
            return Ok(());
        }
        let title = format!("a PAUSE would be refreshed after {}", quantity::display(period));
        let help = format!(
            "its {quanta} quanta last {} at {}: refresh later than at once and earlier than that",
            quantity::display(time),
            quantity::display(fastest)
        );
        Err(document.error("switch.pause_refresh", &title, &help))
    }
}

impl TryFrom<String> for PauseRefresh {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        if text.contains('/') {
            Ratio::parse(&text).map(Self::Part)
        } else {
            quantity::parse(&text).map(Self::Time)
        }
    }
}

impl From<PauseRefresh> for String {
    fn from(refresh: PauseRefresh) -> Self {
        match refresh {
            PauseRefresh::Part(Ratio { numerator, denominator }) => {
                format!("{numerator}/{denominator}")
            }
            PauseRefresh::Time(time) => quantity::display(time),
        }
    }
}

impl JsonSchema for PauseRefresh {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PauseRefresh".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<super::quantity::Time>();
        json_schema!({ "oneOf": [
            {
                "type": "string",
                "pattern": "^[0-9]+/[0-9]+$",
                "description": "A part of the pause time.",
            },
            time,
        ] })
    }
}

/// When a queue that is paused is compared with `X_on`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResumeTest {
    /// When a packet of it departs, and when its PAUSE is due again: a threshold may have risen.
    #[default]
    Refresh,
    /// Only when a packet of it departs.
    Departure,
}

impl Scenario {
    /// Checks what depends on the fastest port: it has the shortest pauses.
    pub(super) fn check_pauses(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let wires = self.fabric.wires();
        let is_host = |node| matches!(self.fabric.node(node).kind, NodeKind::Host(_));
        let fastest = |hosts| {
            let rates = wires.iter().filter(|wire| is_host(wire.from) == hosts).map(|w| w.rate);
            rates.max()
        };
        if let Some(rate) = fastest(false) {
            let switch = &self.switch;
            switch.pause_response.check(rate, "switch.pause_response", document)?;
            switch.pause_refresh.check(switch.pause_quanta, rate, document)?;
        }
        if let Some(rate) = fastest(true) {
            self.host.pause_response.check(rate, "host.pause_response", document)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);

    #[test]
    fn all_quanta_are_a_third_of_a_millisecond_at_100g() {
        assert_eq!(PauseRefresh::default().period(65535, RATE), Picos(167_769_600));
        assert_eq!(PauseResponse::Standard.at(RATE), Picos(307_200));
    }
}
