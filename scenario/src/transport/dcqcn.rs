//! Parameters of DCQCN.

use host_agent::congestion_control::dcqcn::Parameters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes, Picos};

use super::Inner;
use crate::quantity::{self, Increase, Quantity, Rate, Size, Time};
use crate::ratio::Ratio;
use crate::refusal::Refusal;
use crate::report::ScenarioError;

/// Maximum number of stages of fast recovery. After a long silence a sender goes through all of them one by one at its
/// next packet.
pub const MOST_STAGES: u32 = 1 << 16;

/// Parameters of DCQCN (Zhu et al., SIGCOMM 2015), from a profile unless the file sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dcqcn {
    /// Source of parameters that the file does not set.
    pub profile: Profile,
    /// Time between updates of alpha.
    #[serde(serialize_with = "quantity::serialize")]
    pub alpha_update_interval: Picos,
    /// Minimum time between rate cuts.
    #[serde(serialize_with = "quantity::serialize")]
    pub rate_decrease_interval: Picos,
    /// Period of the rate increase timer.
    #[serde(serialize_with = "quantity::serialize")]
    pub rate_increase_timer: Picos,
    /// Bytes sent that count as one rate increase event; `None`: no byte counter.
    #[serde(serialize_with = "serialize_byte_counter")]
    pub byte_counter: Option<Bytes>,
    /// Weight of an update of alpha, g; at most 1.
    pub g: Ratio,
    /// Stages of fast recovery, F.
    pub fast_recovery_stages: u32,
    /// Step of additive increase.
    #[serde(serialize_with = "quantity::serialize")]
    pub additive_increase: BitsPerSecond,
    /// Step of hyper increase.
    #[serde(serialize_with = "quantity::serialize")]
    pub hyper_increase: BitsPerSecond,
    /// Minimum rate.
    #[serde(serialize_with = "quantity::serialize")]
    pub minimum_rate: BitsPerSecond,
    /// Minimum time between CNPs of a queue pair; zero: a CNP for each marked packet.
    #[serde(serialize_with = "quantity::serialize")]
    pub cnp_interval: Picos,
    /// Notification of the sender by the receiver.
    pub notification: Notification,
    /// True if each cut lowers the target to the rate before the cut. Otherwise a second cut before any rise keeps the
    /// target.
    pub clamp_target_rate: bool,
}

/// Notification of a sender about marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notification {
    /// A congestion notification packet.
    #[default]
    Cnp,
    /// A bit in the next ACK or NAK.
    Ack,
}

/// A published set of DCQCN parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Values of the HPCC simulator, for 100 Gbit/s.
    #[default]
    Hpcc,
    /// Values of the DCQCN paper, for 40 Gbit/s.
    Paper,
    /// Values of the ConWeave simulator, for 100 Gbit/s.
    Conweave,
}

impl Profile {
    /// Returns the published values, at the rate for which they were published.
    pub fn published(self) -> Parameters {
        let gigabits = |gigabits: u64| BitsPerSecond(gigabits * 1_000_000_000);
        match self {
            Self::Hpcc => Parameters::hpcc(gigabits(100)),
            Self::Paper => Parameters::paper(gigabits(40)),
            Self::Conweave => Parameters::conweave(gigabits(100)),
        }
    }

    /// Returns the profile's parameters.
    pub fn parameters(self) -> Dcqcn {
        let published = self.published();
        Dcqcn {
            profile: self,
            alpha_update_interval: published.alpha_interval,
            rate_decrease_interval: published.rate_decrease_interval,
            rate_increase_timer: published.rate_increase_interval,
            byte_counter: published.rate_increase_bytes,
            g: Ratio::new(1, 256),
            fast_recovery_stages: published.fast_recovery_stages,
            additive_increase: published.additive_increase,
            hyper_increase: published.hyper_increase,
            minimum_rate: published.minimum_rate,
            cnp_interval: published.notification_interval,
            notification: Notification::Cnp,
            clamp_target_rate: published.clamp_target_rate,
        }
    }
}

/// DCQCN (Zhu et al., SIGCOMM 2015).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DcqcnKeys {
    /// Source of parameters that are not set here: "hpcc", "paper" or "conweave". Default "hpcc".
    profile: Profile,
    /// Time between updates of alpha, above zero. hpcc 1 us, paper 55 us, conweave 1 us.
    alpha_update_interval: Option<Time>,
    /// Minimum time between rate cuts, above zero. hpcc 4 us, paper 50 us, conweave 4 us.
    rate_decrease_interval: Option<Time>,
    /// Period of the rate increase timer, above zero. hpcc 300 us, paper 55 us, conweave 300 us.
    rate_increase_timer: Option<Time>,
    /// Bytes sent that count as one rate increase event, above zero; "none": no byte counter. hpcc none, paper 10 MB,
    /// conweave none.
    byte_counter: Option<ByteCounter>,
    /// Weight of an update of alpha, g: a ratio up to 1. 1/256 in all profiles.
    g: Option<Ratio>,
    /// Stages of fast recovery, F, up to 65,536. hpcc 1, paper 5, conweave 1.
    #[schemars(range(max = MOST_STAGES))]
    fast_recovery_stages: Option<u32>,
    /// Step of additive increase. hpcc 20 Mbit/s, paper 40 Mbit/s, conweave 40 Mbit/s.
    additive_increase: Option<Quantity<Increase>>,
    /// Step of hyper increase. hpcc 200 Mbit/s, paper 400 Mbit/s, conweave 100 Mbit/s.
    hyper_increase: Option<Quantity<Increase>>,
    /// Minimum rate. hpcc 1 Gbit/s, paper 40 Mbit/s, conweave 100 Mbit/s.
    minimum_rate: Option<Rate>,
    /// Minimum time between CNPs of a queue pair; "0s": a CNP for each marked packet. hpcc 0 s, paper 50 us, conweave 4
    /// us.
    cnp_interval: Option<Time>,
    /// Notification of the sender by the receiver, at most once in `cnp_interval`: "cnp", a congestion notification
    /// packet, or "ack", a bit in the next ACK or NAK. Default "cnp".
    notification: Notification,
    /// True if each cut lowers the target to the rate before the cut. Otherwise a second cut before any rise keeps the
    /// target. hpcc false, paper true, conweave false.
    clamp_target_rate: Option<bool>,
}

/// A size above zero, or "none".
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct ByteCounter(Option<Bytes>);

impl TryFrom<String> for ByteCounter {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        match text.as_str() {
            "none" => Ok(Self(None)),
            text => match quantity::parse(text)? {
                Bytes(0) => {
                    Err(Refusal::new("a byte counter of no bytes", "write \"none\" for none"))
                }
                bytes => Ok(Self(Some(bytes))),
            },
        }
    }
}

impl JsonSchema for ByteCounter {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ByteCounter".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let size = generator.subschema_for::<Size>();
        schemars::json_schema!({ "oneOf": [{ "const": "none" }, size] })
    }
}

#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn serialize_byte_counter<S: serde::Serializer>(
    value: &Option<Bytes>,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.serialize_str(&value.map_or_else(|| "none".into(), quantity::display))
}

impl DcqcnKeys {
    pub(super) fn resolve(&self, place: &Inner<'_>) -> Result<Dcqcn, ScenarioError> {
        if let Some(stages) = self.fast_recovery_stages
            && stages > MOST_STAGES
        {
            let help = format!("write a number up to {MOST_STAGES}; the paper has 5");
            let title = format!("{stages} stages of fast recovery");
            return Err(place.wrong("fast_recovery_stages", &title, &help));
        }
        let base = self.profile.parameters();
        Ok(Dcqcn {
            profile: self.profile,
            alpha_update_interval: place.time(
                "alpha_update_interval",
                self.alpha_update_interval,
                base.alpha_update_interval,
            )?,
            rate_decrease_interval: place.time(
                "rate_decrease_interval",
                self.rate_decrease_interval,
                base.rate_decrease_interval,
            )?,
            rate_increase_timer: place.time(
                "rate_increase_timer",
                self.rate_increase_timer,
                base.rate_increase_timer,
            )?,
            byte_counter: self.byte_counter.map_or(base.byte_counter, |counter| counter.0),
            g: place.weight("g", self.g, base.g)?,
            fast_recovery_stages: self.fast_recovery_stages.unwrap_or(base.fast_recovery_stages),
            additive_increase: increase(self.additive_increase, base.additive_increase),
            hyper_increase: increase(self.hyper_increase, base.hyper_increase),
            minimum_rate: self.minimum_rate.map_or(base.minimum_rate, |rate| rate.0),
            cnp_interval: self.cnp_interval.map_or(base.cnp_interval, |time| time.0),
            notification: self.notification,
            clamp_target_rate: self.clamp_target_rate.unwrap_or(base.clamp_target_rate),
        })
    }
}

/// Returns the given increase, or the default.
fn increase(given: Option<Quantity<Increase>>, otherwise: BitsPerSecond) -> BitsPerSecond {
    given.map_or(otherwise, |increase| increase.0.0)
}
