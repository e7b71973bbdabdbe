//! `switch.headroom`: buffer for packets that arrive after a PAUSE.

mod advice;
mod reserve;

use fabric_core::scheme::{SchemeSettings, dsh, spfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::document::Document;
use super::ratio::Ratio;
use super::report::ScenarioError;

/// Scheme that reserves headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Headroom {
    /// Static and independent: every lossless ingress queue has separate headroom (DSH Eq. 3).
    Sih {
        /// Headroom of each queue; `None`: DSH Eq. 1 plus the terms that it misses ([`fabric_core::headroom`]).
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// Headroom of each queue as a multiple of rate x delay of its link, instead of `bytes`.
        #[serde(skip_serializing_if = "Option::is_none")]
        bandwidth_delays: Option<u32>,
    },
    /// As `Sih`, but ports measure the delay of their links (after IEEE P802.1Qdt).
    Adaptive {
        /// As for `Sih`: headroom of each queue until its port's link is measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// Time between measurements.
        period: Picos,
    },
    /// One pool for all lossless ingress queues, smaller than the sum of their headroom.
    Oversubscribed {
        /// As for `Sih`: headroom that one queue may use.
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// Divisor of DSH's `B_h` (Eq. 3) that gives the size of the pool; at least 1.
        ratio: Ratio,
    },
    /// Dynamic and shared, with insurance headroom for each port.
    Dsh(Dsh),
}

/// Parameters of DSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dsh {
    /// Phi of a port; `None`: as for [`Headroom::Sih`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
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

impl Headroom {
    /// Returns the scheme of a switch with this headroom.
    pub fn scheme(&self) -> SchemeSettings {
        match self {
            Self::Sih { .. } | Self::Adaptive { .. } => SchemeSettings::Pfc,
            Self::Oversubscribed { .. } => SchemeSettings::Oversubscribed,
            Self::Dsh(dsh) => SchemeSettings::Dsh(dsh.settings()),
        }
    }

    /// Returns the scheme with victim states of ports or queues (SPFC).
    pub(super) fn scheme_with_states(&self, spfc: spfc::Settings) -> SchemeSettings {
        let Self::Dsh(dsh) = self else { return SchemeSettings::Spfc(spfc) };
        let plain = dsh.settings();
        let options = dsh::Options { victims: true, ..plain.options };
        SchemeSettings::Dsh(dsh::Settings { options, spfc, ..plain })
    }
}

impl Dsh {
    fn settings(&self) -> dsh::Settings {
        let estimation = match self.estimation {
            Estimation::Practical => dsh::EstimationForm::Practical,
            Estimation::Conceptual => dsh::EstimationForm::Conceptual,
        };
        dsh::Settings {
            options: dsh::Options {
                estimation,
                shared_headroom: self.shared_headroom,
                victims: false,
            },
            port_xon_offset: self.port_xon_offset,
            single_queue_window: self.single_queue_window.to_nanos(),
            gradient_weight_shift: self.gradient_weight.right_shift(),
            deviation_weight_shift: self.deviation_weight.right_shift(),
            deviation_gain_shift: self.deviation_gain.left_shift(),
            ..dsh::Settings::default()
        }
    }
}

/// A power of two, with a positive or negative exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerOfTwo {
    /// Exponent, -6 to 6.
    pub exponent: i8,
}

impl PowerOfTwo {
    /// Largest absolute exponent. A smaller weight has no effect, and a larger gain requests all headroom at once.
    const LARGEST_EXPONENT: u32 = 6;

    pub(super) fn of(ratio: Ratio) -> Option<Self> {
        let Ratio { numerator, denominator } = ratio;
        let (gain, weight) = (numerator.checked_ilog2()?, denominator.checked_ilog2()?);
        let exact = numerator == 1 << gain && denominator == 1 << weight;
        // Logarithms of 32 bits are at most 31.
        let exponent = i8::try_from(gain).ok()? - i8::try_from(weight).ok()?;
        (exact && u32::from(exponent.unsigned_abs()) <= Self::LARGEST_EXPONENT)
            .then_some(Self { exponent })
    }

    /// Left shift of a product with this factor, in bits; 0 if the factor is below 1.
    pub fn left_shift(self) -> u8 {
        self.exponent.max(0).unsigned_abs()
    }

    /// Right shift of a product with this factor, in bits; 0 if the factor is above 1.
    pub fn right_shift(self) -> u8 {
        self.exponent.min(0).unsigned_abs()
    }
}

impl Serialize for PowerOfTwo {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        Ratio::new(1 << self.left_shift(), 1 << self.right_shift()).serialize(out)
    }
}

/// Scheme that reserves headroom.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum HeadroomKeys {
    /// Static and independent: each lossless ingress queue has separate headroom.
    Sih {
        /// Headroom of each queue. Default: 2 x (rate x delay + longest frame) + 3840 B (DSH Eq. 1), and two terms that
        /// it misses: one more frame, and the PAUSE itself (84 B).
        bytes: Option<Bytes>,
        /// Headroom of each queue as a multiple of rate x propagation delay of its port's link, 1 to 1000; instead of
        /// `bytes`. The HPCC simulator uses 3.
        bandwidth_delays: Option<u32>,
    },
    /// As "sih", but ports measure the delay of their links. They exchange time-stamped frames with their neighbours
    /// (after IEEE P802.1Qdt), and neighbours declare their response time to a PAUSE. Headroom that a queue does not
    /// need is shared.
    Adaptive {
        /// Headroom of each queue until its port's link is measured, and again after ten lost measurements in a row.
        /// Default: as for "sih".
        bytes: Option<Bytes>,
        /// Time between measurements, from the run's start on. Default "100us".
        #[serde(default = "default_period")]
        period: Picos,
    },
    /// One pool for all lossless ingress queues, smaller than the sum of their headroom. Packets may be lost.
    Oversubscribed {
        /// Headroom that one queue may use. Default: as for "sih".
        bytes: Option<Bytes>,
        /// Divisor of the headroom that "sih" reserves, which gives the size of the pool; at least 1. Default "5/4": 80
        /// %, as in DSH's evaluation.
        #[serde(default = "default_ratio")]
        ratio: Ratio,
    },
    /// Dynamic and shared (DSH): congested queues take headroom from the shared pool, and each port has insurance
    /// headroom for the packets that do not fit there.
    Dsh(DshKeys),
}

/// Parameters of DSH.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct DshKeys {
    /// Insurance headroom of each port, and the maximum estimate for a queue (Phi). Default: as for one queue under
    /// "sih".
    bytes: Option<Bytes>,
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
}

const fn default_ratio() -> Ratio {
    Ratio::new(5, 4)
}

const fn default_period() -> Picos {
    Picos(100_000_000)
}

impl Default for DshKeys {
    /// Defaults of DSH's evaluation, section V.
    fn default() -> Self {
        Self {
            bytes: None,
            gradient_weight: Ratio::new(1, 4),
            deviation_weight: Ratio::new(1, 4),
            deviation_gain: Ratio::new(4, 1),
            single_queue_window: Picos(10_000_000_000),
            port_xon_offset: Bytes::default(),
            shared_headroom: true,
            insurance_headroom: true,
            estimation: Estimation::default(),
        }
    }
}

impl HeadroomKeys {
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<Headroom, ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.headroom.{key}"), title, help))
        };
        match self {
            Self::Sih { bytes: Some(_), bandwidth_delays: Some(_) } => {
                wrong("bandwidth_delays", "two sizes of headroom", "write this or `bytes`")
            }
            Self::Sih { bandwidth_delays: Some(0 | 1001..), .. } => wrong(
                "bandwidth_delays",
                "headroom of none or of too many bandwidth-delay products",
                "write 1 to 1000",
            ),
            Self::Sih { bytes, bandwidth_delays } => Ok(Headroom::Sih { bytes, bandwidth_delays }),
            Self::Adaptive { period: Picos::ZERO, .. } => {
                wrong("period", "a period of no time", "write a time such as \"100us\"")
            }
            Self::Adaptive { bytes, period } => Ok(Headroom::Adaptive { bytes, period }),
            Self::Oversubscribed { ratio, .. } if ratio.numerator < ratio.denominator => wrong(
                "ratio",
                &format!("headroom that is oversubscribed {ratio} times"),
                "a ratio of \"2\" sets aside half of what \"sih\" does; write 1 or more",
            ),
            Self::Oversubscribed { bytes, ratio } => Ok(Headroom::Oversubscribed { bytes, ratio }),
            Self::Dsh(keys) => keys.resolve(document).map(Headroom::Dsh),
        }
    }
}

impl DshKeys {
    fn resolve(self, document: &Document<'_>) -> Result<Dsh, ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            document.error(&format!("switch.headroom.{key}"), title, help)
        };
        let weight = |key: &str, ratio: Ratio| {
            PowerOfTwo::of(ratio).filter(|power| power.exponent <= 0).ok_or_else(|| {
                let help = "a switch shifts instead of multiplying: write \"1\", \"1/2\", \"1/4\" \
                            .. \"1/64\"";
                wrong(key, &format!("a weight of {ratio}"), help)
            })
        };
        let gain = PowerOfTwo::of(self.deviation_gain).filter(|power| power.exponent >= 0);
        if self.single_queue_window == Picos::ZERO {
            let help = "write a time such as \"10ms\"";
            return Err(wrong("single_queue_window", "a window of no time", help));
        }
        Ok(Dsh {
            bytes: self.bytes,
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_shifts() {
        let shifts = |numerator, denominator| {
            PowerOfTwo::of(Ratio::new(numerator, denominator))
                .map(|power| (power.left_shift(), power.right_shift()))
        };
        assert_eq!(shifts(1, 1), Some((0, 0)));
        assert_eq!(shifts(1, 4), Some((0, 2)));
        assert_eq!(shifts(64, 1), Some((6, 0)));
        for (numerator, denominator) in [(3, 1), (1, 3), (128, 1), (1, 128), (3, 12)] {
            assert_eq!(shifts(numerator, denominator), None, "{numerator}/{denominator}");
        }
    }
}
