//! Kind "dsh" of `switch.scheme`: dynamic and shared headroom.

use fabric_core::scheme::{dsh, spfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::Checked;
use units::{Bytes, Picos};

use super::Victims;
use super::power_of_two::{LeftShift, RightShift, shift};
use crate::document::Document;
use crate::ratio::Ratio;
use crate::report::ScenarioError;

/// Parameters of DSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Dsh {
    /// Weight of a queue's latest gradient in its average (`w_g`): "1", "1/2", "1/4" .. "1/64".
    /// Default "1/4".
    pub gradient_weight: RightShift,
    /// Weight of the latest deviation from the average gradient (`w_v`): "1", "1/2", "1/4" .. "1/64". Default "1/4".
    pub deviation_weight: RightShift,
    /// Number of mean deviations by which an estimate exceeds the average gradient (`k`): 1, 2, 4 .. 64. Default 4.
    pub deviation_gain: LeftShift,
    /// Time after which the queue of a port that holds packets of one queue only pauses at T(t), without shared
    /// headroom. Default "10ms".
    pub single_queue_window: Picos,
    /// Difference of a port's PAUSE threshold and its RESUME threshold. Default "0B".
    pub port_xon_offset: Bytes,
    /// True if queues get headroom from the shared buffer. A queue then pauses below its share, by the headroom that it
    /// is estimated to need, and may afterwards use the shares of its port's other queues. If false, packets after a
    /// queue's PAUSE use the port's insurance headroom, which pauses the port. Default true.
    pub shared_headroom: bool,
    /// True if ports have insurance headroom. If false, packets may be lost. Default true.
    pub insurance_headroom: bool,
    /// Computation of the headroom that a queue needs: "practical" (look-up tables, DSH Algorithm 3) or "conceptual"
    /// (division and multiplication, Algorithm 2). Default "practical".
    pub estimation: Estimation,
    /// Settings of SPFC if ports may be victims, which have the whole shared buffer as threshold; the alpha of normal
    /// ports is then "2" by default, and `threshold` is of kind "dt". Default: no port is a victim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victims: Option<Victims>,
}

impl Default for Dsh {
    /// Defaults of DSH's evaluation, section V.
    fn default() -> Self {
        Self {
            gradient_weight: Checked::within(Ratio::new(1, 4)),
            deviation_weight: Checked::within(Ratio::new(1, 4)),
            deviation_gain: Checked::within(Ratio::new(4, 1)),
            single_queue_window: Picos(10_000_000_000),
            port_xon_offset: Bytes::default(),
            shared_headroom: true,
            insurance_headroom: true,
            estimation: Estimation::default(),
            victims: None,
        }
    }
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
            gradient_weight_shift: shift(self.gradient_weight.get()),
            deviation_weight_shift: shift(self.deviation_weight.get()),
            deviation_gain_shift: shift(self.deviation_gain.get()),
            spfc: spfc.unwrap_or_default(),
        }
    }

    /// Adds defaults, and checks the keys.
    pub(super) fn complete(&mut self, document: &Document<'_>) -> Result<(), ScenarioError> {
        if self.single_queue_window == Picos::ZERO {
            let help = "write a time such as \"10ms\"";
            let path = "switch.scheme.single_queue_window";
            return Err(document.error(path, "a window of no time", help));
        }
        match &mut self.victims {
            Some(victims) => victims.complete("switch.scheme.victims", document),
            None => Ok(()),
        }
    }
}
