//! `switch.lossy.period`: period in which congested queues are counted and drain rates measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use crate::quantity::{self, MAX_TIME, starts_like_a_word};
use crate::refusal::Refusal;

/// Minimum period, because each count takes time: at most a million counts per second.
const MIN_LENGTH: Picos = Picos(1_000_000);

/// Period in which congested queues are counted and drain rates measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum LossyPeriod {
    /// The longest round trip of the fabric, but at least a microsecond.
    #[default]
    RoundTrip,
    /// A fixed time, from a microsecond to a day.
    Time(Picos),
}

impl LossyPeriod {
    /// Returns the period in a fabric whose longest round trip is `round_trip`.
    pub(super) fn at(self, round_trip: Picos) -> Picos {
        match self {
            Self::RoundTrip => {
                let time = Picos::from_nanos(round_trip.min(Picos(MAX_TIME)).to_nanos_ceil());
                time.max(MIN_LENGTH)
            }
            Self::Time(time) => time,
        }
    }
}

impl TryFrom<String> for LossyPeriod {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        Ok(match text.as_str() {
            "round-trip" => LossyPeriod::RoundTrip,
            word if starts_like_a_word(word) => {
                let title = format!("no period is called `{word}`");
                return Err(Refusal::new(
                    title,
                    "write \"round-trip\", or a time such as \"80us\"",
                ));
            }
            text => match quantity::parse::<Picos>(text)? {
                time if time < MIN_LENGTH => {
                    let title =
                        format!("congested queues are counted every {}", quantity::display(time));
                    let help = "write \"1us\" or more, or \"round-trip\"";
                    return Err(Refusal::sentence(title, help));
                }
                // Switches keep times in nanoseconds.
                time => Self::Time(Picos::from_nanos(time.to_nanos_ceil())),
            },
        })
    }
}

impl JsonSchema for LossyPeriod {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LossyPeriod".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let time = generator.subschema_for::<Picos>();
        schemars::json_schema!({ "oneOf": [{ "const": "round-trip" }, time] })
    }
}

impl Serialize for LossyPeriod {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::RoundTrip => out.serialize_str("round-trip"),
            Self::Time(time) => out.serialize_str(&quantity::display(*time)),
        }
    }
}
