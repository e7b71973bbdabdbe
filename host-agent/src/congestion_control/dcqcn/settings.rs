//! Settings of DCQCN, from a published profile unless a file sets them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use units::checked::{Checked, Period, Range, Weight};
use units::quantity::{self, Increase};
use units::ratio::Ratio;
use units::refusal::Refusal;
use units::schema::DefaultsInWords;
use units::{BitsPerSecond, Bytes, Picos};

use super::Parameters;
use crate::congestion_control::dctcp::Start;
use crate::congestion_control::{Complete, Fraction, Link};

/// Maximum number of stages of fast recovery. After a long silence a sender goes through all of them one by one at its
/// next packet.
pub const MAX_STAGES: u32 = 1 << 16;

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &["profile", "notification"] }
}

/// DCQCN (Zhu et al., SIGCOMM 2015).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DcqcnKeys", transform = in_words())]
pub struct Settings {
    /// Source of parameters that are not set here: "hpcc", "paper" or "conweave". Default "hpcc".
    pub profile: Profile,
    /// Time between updates of alpha, above zero. hpcc 1 us, paper 55 us, conweave 1 us.
    pub alpha_update_interval: Option<Period>,
    /// Minimum time between rate cuts, above zero. hpcc 4 us, paper 50 us, conweave 4 us.
    pub rate_decrease_interval: Option<Period>,
    /// Period of the rate increase timer, above zero. hpcc 300 us, paper 55 us, conweave 300 us.
    pub rate_increase_timer: Option<Period>,
    /// Bytes sent that count as one rate increase event, above zero; "none": no byte counter. hpcc none, paper 10 MB,
    /// conweave none.
    pub byte_counter: Option<ByteCounter>,
    /// Weight of an update of alpha, g: a ratio up to 1. 1/256 in all profiles.
    pub g: Option<Weight>,
    /// Stages of fast recovery, F, up to 65,536. hpcc 1, paper 5, conweave 1.
    #[schemars(range(max = MAX_STAGES))]
    pub fast_recovery_stages: Option<Checked<u32, Stages>>,
    /// Step of additive increase. hpcc 20 Mbit/s, paper 40 Mbit/s, conweave 40 Mbit/s.
    pub additive_increase: Option<Increase>,
    /// Step of hyper increase. hpcc 200 Mbit/s, paper 400 Mbit/s, conweave 100 Mbit/s.
    pub hyper_increase: Option<Increase>,
    /// Minimum rate. hpcc 1 Gbit/s, paper 40 Mbit/s, conweave 100 Mbit/s.
    pub minimum_rate: Option<BitsPerSecond>,
    /// Minimum time between CNPs of a queue pair; "0s": a CNP for each marked packet. hpcc 0 s, paper 50 us, conweave 4
    /// us.
    pub cnp_interval: Option<Picos>,
    /// Notification of the sender by the receiver, at most once in `cnp_interval`: "cnp", a congestion notification
    /// packet, or "ack", a bit in the next ACK or NAK. Default "cnp".
    pub notification: Notification,
    /// True if each cut lowers the target to the rate before the cut. Otherwise a second cut before any rise keeps the
    /// target. hpcc false, paper true, conweave false.
    pub clamp_target_rate: Option<bool>,
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
    fn published(self) -> Parameters {
        let gigabits = |gigabits: u64| BitsPerSecond(gigabits * 1_000_000_000);
        match self {
            Self::Hpcc => Parameters::hpcc(gigabits(100)),
            Self::Paper => Parameters::paper(gigabits(40)),
            Self::Conweave => Parameters::conweave(gigabits(100)),
        }
    }
}

/// Numbers of stages up to [`MAX_STAGES`].
#[derive(Debug)]
pub enum Stages {}

impl Range<u32> for Stages {
    fn check(stages: &u32) -> Result<(), Refusal> {
        if *stages > MAX_STAGES {
            let help = format!("write a number up to {MAX_STAGES}; the paper has 5");
            return Err(Refusal::sentence(format!("{stages} stages of fast recovery"), help));
        }
        Ok(())
    }
}

/// A size above zero, or "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ByteCounter(Option<Bytes>);

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

impl Serialize for ByteCounter {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.0.map_or_else(|| "none".into(), quantity::display))
    }
}

impl JsonSchema for ByteCounter {
    fn schema_name() -> Cow<'static, str> {
        "ByteCounter".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Bytes>();
        json_schema!({ "oneOf": [{ "const": "none" }, size] })
    }
}

impl Complete for Settings {
    /// Adds all values of the profile.
    fn completed(self, _: Start) -> Self {
        let all = self.on_link(BitsPerSecond(u64::MAX));
        Self {
            profile: self.profile,
            alpha_update_interval: Some(Period::within(all.alpha_interval)),
            rate_decrease_interval: Some(Period::within(all.rate_decrease_interval)),
            rate_increase_timer: Some(Period::within(all.rate_increase_interval)),
            byte_counter: Some(ByteCounter(all.rate_increase_bytes)),
            g: self.g.or_else(|| Some(Weight::within(Ratio::new(1, 256)))),
            fast_recovery_stages: Some(Checked::within(all.fast_recovery_stages)),
            additive_increase: Some(Increase(all.additive_increase)),
            hyper_increase: Some(Increase(all.hyper_increase)),
            minimum_rate: Some(all.minimum_rate),
            cnp_interval: Some(all.notification_interval),
            notification: self.notification,
            clamp_target_rate: Some(all.clamp_target_rate),
        }
    }
}

impl Settings {
    /// Returns the parameters on a link.
    pub(in super::super) fn parameters(&self, link: &Link) -> Parameters {
        self.on_link(link.rate)
    }

    fn on_link(&self, line_rate: BitsPerSecond) -> Parameters {
        let published = self.profile.published();
        let period = |given: Option<Period>, usual| given.map_or(usual, Period::get);
        let increase = |given: Option<Increase>, usual| given.map_or(usual, |increase| increase.0);
        Parameters {
            alpha_interval: period(self.alpha_update_interval, published.alpha_interval),
            rate_decrease_interval: period(
                self.rate_decrease_interval,
                published.rate_decrease_interval,
            ),
            rate_increase_interval: period(
                self.rate_increase_timer,
                published.rate_increase_interval,
            ),
            rate_increase_bytes: self
                .byte_counter
                .map_or(published.rate_increase_bytes, |counter| counter.0),
            alpha_gain: self.g.map_or(published.alpha_gain, Fraction::from_weight),
            fast_recovery_stages: self
                .fast_recovery_stages
                .map_or(published.fast_recovery_stages, Checked::get),
            additive_increase: increase(self.additive_increase, published.additive_increase),
            hyper_increase: increase(self.hyper_increase, published.hyper_increase),
            minimum_rate: self.minimum_rate.unwrap_or(published.minimum_rate).min(line_rate),
            clamp_target_rate: self.clamp_target_rate.unwrap_or(published.clamp_target_rate),
            clocked_cuts: published.clocked_cuts,
            notification_interval: self.cnp_interval.unwrap_or(published.notification_interval),
            notification: self.notification,
        }
    }
}
