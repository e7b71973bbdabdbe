//! Parameters of TIMELY.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Picos};

use super::Inner;
use crate::quantity::{self, Increase, Quantity, Rate, Time};
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// Parameters of TIMELY (Mittal et al., SIGCOMM 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timely {
    /// Version of the algorithm.
    pub form: TimelyForm,
    /// T_low: round-trip time below which the rate always grows.
    #[serde(serialize_with = "quantity::serialize")]
    pub low: Picos,
    /// T_high: round-trip time above which the rate always falls.
    #[serde(serialize_with = "quantity::serialize")]
    pub high: Picos,
    /// minRTT: divisor of differences of round-trip times.
    #[serde(serialize_with = "quantity::serialize")]
    pub minimum_rtt: Picos,
    /// alpha: weight of the newest difference.
    pub gain: Ratio,
    /// beta: strength of a decrease.
    pub decrease: Ratio,
    /// delta: additive increase of the rate; `None`: 1/1000 of the line rate.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub additive_increase: Option<BitsPerSecond>,
    /// Increase of the rate after `hyper_after` increases in a row; `None`: five times `additive_increase`.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub hyper_increase: Option<BitsPerSecond>,
    /// N: number of increases in a row before `hyper_increase`.
    pub hyper_after: u32,
    /// Minimum rate.
    #[serde(serialize_with = "quantity::serialize")]
    pub minimum_rate: BitsPerSecond,
}

/// Version of TIMELY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelyForm {
    /// Version of the TIMELY paper.
    #[default]
    Original,
    /// Version of Zhu et al., "ECN or Delay", CoNEXT 2016.
    Patched,
}

/// TIMELY (Mittal et al., SIGCOMM 2015).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TimelyKeys {
    /// Version: "original", or "patched" (Zhu et al., "ECN or Delay", CoNEXT 2016), in which the rate also follows the
    /// round-trip time between the thresholds. Default "original".
    form: TimelyForm,
    /// T_low: round-trip time below which the rate always grows; above zero. Default "50us".
    low: Option<Time>,
    /// T_high: round-trip time above which the rate always falls; at least `low`. Default "500us".
    high: Option<Time>,
    /// minRTT: divisor of differences of round-trip times; above zero. Default "20us".
    minimum_rtt: Option<Time>,
    /// alpha: weight of the newest difference, a ratio up to 1. Default 7/8.
    gain: Option<Ratio>,
    /// beta: strength of a decrease, a ratio up to 1. Default 4/5; 1/125 with form "patched".
    decrease: Option<Ratio>,
    /// delta: additive increase of the rate. Default: 1/1000 of the line rate, the paper's 10 Mbit/s at 10 Gbit/s.
    additive_increase: Option<Quantity<Increase>>,
    /// Increase of the rate after `hyper_after` increases in a row. Default: five times `additive_increase`.
    hyper_increase: Option<Quantity<Increase>>,
    /// N: number of increases in a row before `hyper_increase`. Default 5.
    hyper_after: Option<u32>,
    /// Minimum rate. Default "10Mbps"; the HPCC simulator has 1 Gbit/s at 100 Gbit/s.
    minimum_rate: Option<Rate>,
}

impl TimelyKeys {
    pub(super) fn resolve(&self, place: &Inner<'_>) -> Result<Timely, ScenarioError> {
        let microseconds = |count: u64| Picos(count * 1_000_000);
        let low = place.time("low", self.low, microseconds(50))?;
        let high = place.time("high", self.high, microseconds(500))?;
        if high < low {
            let given = if self.high.is_some() { "high" } else { "low" };
            let title = format!(
                "an upper threshold of {} below the lower one of {}",
                quantity::display(high),
                quantity::display(low)
            );
            return Err(place.wrong(given, &title, "write `high` at least as long as `low`"));
        }
        let decrease = match self.form {
            TimelyForm::Original => Ratio::new(4, 5),
            TimelyForm::Patched => Ratio::new(1, 125),
        };
        Ok(Timely {
            form: self.form,
            low,
            high,
            minimum_rtt: place.time("minimum_rtt", self.minimum_rtt, microseconds(20))?,
            gain: place.weight("gain", self.gain, Ratio::new(7, 8))?,
            decrease: place.weight("decrease", self.decrease, decrease)?,
            additive_increase: self.additive_increase.map(|increase| increase.0.0),
            hyper_increase: self.hyper_increase.map(|increase| increase.0.0),
            hyper_after: self.hyper_after.unwrap_or(5),
            minimum_rate: self.minimum_rate.map_or(BitsPerSecond(10_000_000), |rate| rate.0),
        })
    }
}
