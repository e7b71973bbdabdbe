//! Kind "dsh" of `switch.scheme`: dynamic and shared headroom.

use fabric_core::scheme::{dsh, spfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::spfc::VictimsKeys;
use super::{PowerOfTwo, Victims};
use crate::document::Document;
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// Parameters of DSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dsh {
    /// Weight of a queue's latest gradient in its average, `w_g` in Eq. 5.
    pub gradient_weight: PowerOfTwo,
    /// Weight of the latest deviation, `w_v` in Eq. 6.
    pub deviation_weight: PowerOfTwo,
    /// Number of deviations by which an estimate exceeds the average, `k` in Eq. 7.
    pub deviation_gain: PowerOfTwo,
    /// Time after which tau is 0 at a port that holds packets of one queue only (Algorithm 4).
    pub single_queue_window: Picos,
    /// Difference of `X_poff` and `X_pon`, `delta_p`.
    pub port_xon_offset: Bytes,
    /// True if queues get headroom from the shared pool. Otherwise tau is 0, and packets after a queue's PAUSE use
    /// insurance headroom.
    pub shared_headroom: bool,
    /// True if ports have insurance headroom. Otherwise packets may be lost.
    pub insurance_headroom: bool,
    /// Computation of phi-hat.
    pub estimation: Estimation,
    /// Settings of SPFC if ports may be victims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victims: Option<Victims>,
}

/// Computation of the headroom that a queue needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimation {
    /// With look-up tables, as in a switch chip (DSH Algorithm 3).
    #[default]
    Practical,
    /// With a division and a multiplication (DSH Algorithm 2).
    Conceptual,
}

impl Dsh {
    /// Returns the settings of a switch; `spfc` are those of its victims, if any.
    pub(super) fn settings(&self, spfc: Option<spfc::Settings>) -> dsh::Settings {
        let estimation = match self.estimation {
            Estimation::Practical => dsh::EstimationForm::Practical,
            Estimation::Conceptual => dsh::EstimationForm::Conceptual,
        };
        dsh::Settings {
            options: dsh::Options {
                estimation,
                shared_headroom: self.shared_headroom,
                victims: spfc.is_some(),
            },
            port_xon_offset: self.port_xon_offset,
            single_queue_window: self.single_queue_window.to_nanos(),
            gradient_weight_shift: self.gradient_weight.right_shift(),
            deviation_weight_shift: self.deviation_weight.right_shift(),
            deviation_gain_shift: self.deviation_gain.left_shift(),
            spfc: spfc.unwrap_or_default(),
        }
    }
}

/// Parameters of DSH.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(in super::super) struct DshKeys {
    /// Weight of a queue's latest gradient in its average (`w_g`): "1", "1/2", "1/4" .. "1/64".
    /// Default "1/4".
    gradient_weight: Ratio,
    /// Weight of the latest deviation from the average gradient (`w_v`): "1", "1/2", "1/4" .. "1/64". Default "1/4".
    deviation_weight: Ratio,
    /// Number of mean deviations by which an estimate exceeds the average gradient (`k`): 1, 2, 4 .. 64. Default 4.
    deviation_gain: Ratio,
    /// Time after which the queue of a port that holds packets of one queue only pauses at T(t), without shared
    /// headroom. Default "10ms".
    single_queue_window: Picos,
    /// Difference of a port's PAUSE threshold and its RESUME threshold. Default "0B".
    port_xon_offset: Bytes,
    /// True if queues get headroom from the shared buffer. A queue then pauses below its share, by the headroom that it
    /// is estimated to need, and may afterwards use the shares of its port's other queues. If false, packets after a
    /// queue's PAUSE use the port's insurance headroom, which pauses the port. Default true.
    shared_headroom: bool,
    /// True if ports have insurance headroom. If false, packets may be lost. Default true.
    insurance_headroom: bool,
    /// Computation of the headroom that a queue needs: "practical" (look-up tables, DSH Algorithm 3) or "conceptual"
    /// (division and multiplication, Algorithm 2). Default "practical".
    estimation: Estimation,
    /// Settings of SPFC if ports may be victims, which have the whole shared buffer as threshold; the alpha of normal
    /// ports is then "2" by default, and `threshold` is of kind "dt". Default: no port is a victim.
    victims: Option<VictimsKeys>,
}

impl Default for DshKeys {
    /// Defaults of DSH's evaluation, section V.
    fn default() -> Self {
        Self {
            gradient_weight: Ratio::new(1, 4),
            deviation_weight: Ratio::new(1, 4),
            deviation_gain: Ratio::new(4, 1),
            single_queue_window: Picos(10_000_000_000),
            port_xon_offset: Bytes::default(),
            shared_headroom: true,
            insurance_headroom: true,
            estimation: Estimation::default(),
            victims: None,
        }
    }
}

impl DshKeys {
    pub(super) const fn has_victims(&self) -> bool {
        self.victims.is_some()
    }

    pub(super) fn resolve(self, document: &Document<'_>) -> Result<Dsh, ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            document.error(&format!("switch.scheme.{key}"), title, help)
        };
        let weight = |key: &str, ratio: Ratio| {
            PowerOfTwo::from_ratio(ratio).filter(|power| power.exponent <= 0).ok_or_else(|| {
                let help = "a switch shifts instead of multiplying: write \"1\", \"1/2\", \"1/4\" \
                            .. \"1/64\"";
                wrong(key, &format!("a weight of {ratio}"), help)
            })
        };
        let gain = PowerOfTwo::from_ratio(self.deviation_gain).filter(|power| power.exponent >= 0);
        if self.single_queue_window == Picos::ZERO {
            let help = "write a time such as \"10ms\"";
            return Err(wrong("single_queue_window", "a window of no time", help));
        }
        Ok(Dsh {
            gradient_weight: weight("gradient_weight", self.gradient_weight)?,
            deviation_weight: weight("deviation_weight", self.deviation_weight)?,
            deviation_gain: gain.ok_or_else(|| {
                let help = "a switch shifts instead of multiplying: write 1, 2, 4 .. 64";
                wrong("deviation_gain", &format!("a gain of {}", self.deviation_gain), help)
            })?,
            single_queue_window: self.single_queue_window,
            port_xon_offset: self.port_xon_offset,
            shared_headroom: self.shared_headroom,
            insurance_headroom: self.insurance_headroom,
            estimation: self.estimation,
            victims: self
                .victims
                .map(|keys| keys.resolve("switch.scheme.victims", document))
                .transpose()?,
        })
    }
}
