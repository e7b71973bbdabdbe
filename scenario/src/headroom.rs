//! `switch.headroom`: buffer for what arrives after a PAUSE.

mod advice;
mod reserve;

use fabric_core::scheme::{SchemeSettings, dsh, spfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::document::Document;
use super::quantity::{self, Quantity, Size, Time};
use super::ratio::Ratio;
use super::report::ScenarioError;

/// How headroom is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Headroom {
    /// Static and independent: every lossless ingress queue has its own (DSH Eq. 3).
    Sih {
        /// For each queue; `None` for DSH Eq. 1 and the terms that it misses ([`fabric_core::headroom`]).
        #[serde(
            serialize_with = "quantity::serialize_option",
            skip_serializing_if = "Option::is_none"
        )]
        bytes: Option<Bytes>,
        /// For each queue, this many products of its link's rate and delay instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        bandwidth_delays: Option<u32>,
    },
    /// As `Sih`, with the delay of each link measured (after IEEE P802.1Qdt).
    Adaptive {
        /// As of `Sih`: what each queue has until its port's link is measured.
        #[serde(
            serialize_with = "quantity::serialize_option",
            skip_serializing_if = "Option::is_none"
        )]
        bytes: Option<Bytes>,
        /// Time from one measurement to the next.
        #[serde(serialize_with = "quantity::serialize")]
        period: Picos,
    },
    /// One pool for all lossless ingress queues, smaller than what they may ask for.
    Oversubscribed {
        /// As of `Sih`.
        #[serde(
            serialize_with = "quantity::serialize_option",
            skip_serializing_if = "Option::is_none"
        )]
        bytes: Option<Bytes>,
        /// The pool is DSH's `B_h` (Eq. 3) divided by this, which is at least 1.
        ratio: Ratio,
    },
    /// Dynamic and shared, with insurance for each port.
    Dsh(Dsh),
}

/// The parameters of DSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dsh {
    /// Phi of a port; `None` as for [`Headroom::Sih`].
    #[serde(
        serialize_with = "quantity::serialize_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub bytes: Option<Bytes>,
    /// Weight of a queue's latest gradient in its average, `w_g` in Eq. 5.
    pub gradient_weight: PowerOfTwo,
    /// Weight of the latest deviation, `w_v` in Eq. 6.
    pub deviation_weight: PowerOfTwo,
    /// How many deviations an estimate lies above the average, `k` in Eq. 7.
    pub deviation_gain: PowerOfTwo,
    /// A port with packets of one queue only for longer than this sets tau to 0 (Algorithm 4).
    #[serde(serialize_with = "quantity::serialize")]
    pub single_queue_window: Picos,
    /// `X_pon` = `X_poff` - this, `delta_p`.
    #[serde(serialize_with = "quantity::serialize")]
    pub port_xon_offset: Bytes,
    /// Whether queues get headroom from the shared pool; without, tau is 0 and what comes after a queue's PAUSE
    /// goes to insurance headroom.
    pub shared_headroom: bool,
    /// Whether ports have insurance headroom; without, packets may be lost.
    pub insurance_headroom: bool,
    /// How phi-hat is computed.
    pub estimation: Estimation,
}

/// How DSH computes the headroom that a queue needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimation {
    /// With look-up tables, as a switch chip does it (DSH Algorithm 3).
    #[default]
    Practical,
    /// With a division and a multiplication (DSH Algorithm 2).
    Conceptual,
}

impl Headroom {
    /// The scheme that sets headroom aside like this.
    pub fn scheme(&self) -> SchemeSettings {
        match self {
            Self::Sih { .. } | Self::Adaptive { .. } => SchemeSettings::Pfc,
            Self::Oversubscribed { .. } => SchemeSettings::Oversubscribed,
            Self::Dsh(dsh) => SchemeSettings::Dsh(dsh.settings()),
        }
    }

    /// The same with ports, or queues, that are victims or normal.
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

/// A power of two, or one over a power of two: 2 to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerOfTwo {
    /// -6 to 6.
    pub exponent: i8,
}

impl PowerOfTwo {
    /// A smaller weight would have no effect, and a larger gain would ask for all headroom at once.
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

    /// Bits by which a product with it is shifted to the left; 0 if it is below 1.
    pub fn left_shift(self) -> u8 {
        self.exponent.max(0).unsigned_abs()
    }

    /// Bits by which a product with it is shifted to the right; 0 if it is above 1.
    pub fn right_shift(self) -> u8 {
        self.exponent.min(0).unsigned_abs()
    }
}

impl Serialize for PowerOfTwo {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        Ratio::new(1 << self.left_shift(), 1 << self.right_shift()).serialize(out)
    }
}

/// How headroom is set aside.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum HeadroomKeys {
    /// Static and independent: each lossless ingress queue has its own.
    Sih {
        /// For each queue. Default: DSH Eq. 1, 2 (rate x delay + longest frame) +
        /// 3840 B, and two terms that it misses: one more frame, and the PAUSE itself (84 B).
        bytes: Option<Size>,
        /// Instead of `bytes`: for each queue, this many times rate x propagation delay of its port's
        /// link, 1 to 1000. The HPCC simulator takes 3.
        bandwidth_delays: Option<u32>,
    },
    /// As "sih", but ports measure the delay of their links by exchanging time-stamped frames with
    /// their neighbours (after IEEE P802.1Qdt), and neighbours declare how fast they obey a PAUSE:
    /// what a queue does not need is shared.
    Adaptive {
        /// What each queue has until its port's link is measured, and again when ten measurements
        /// in a row are lost. Default: as of "sih".
        bytes: Option<Size>,
        /// Time from one measurement to the next, from the run's start on. Default "100us".
        #[serde(default = "default_period")]
        period: Time,
    },
    /// One pool for all lossless ingress queues, smaller than what they may ask for: packets may be
    /// lost.
    Oversubscribed {
        /// What one queue may hold. Default: as of "sih".
        bytes: Option<Size>,
        /// What all queues may hold together is what "sih" sets aside, divided by this; at least 1.
        /// Default "5/4": 80 %, as in DSH's evaluation.
        #[serde(default = "default_ratio")]
        ratio: Ratio,
    },
    /// Dynamic and shared (DSH): congested queues find headroom in the shared pool, and each port
    /// has insurance headroom for what they do not find.
    Dsh(DshKeys),
}

/// The parameters of DSH.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct DshKeys {
    /// Insurance headroom of each port, and the most that is estimated for a queue (Phi). Default:
    /// as of "sih" for one queue.
    bytes: Option<Size>,
    /// Weight of a queue's latest gradient in its average (`w_g`): "1", "1/2", "1/4" .. "1/64".
    /// Default "1/4".
    gradient_weight: Ratio,
    /// Weight of the latest deviation from it (`w_v`): the same values. Default "1/4".
    deviation_weight: Ratio,
    /// How many mean deviations an estimate lies above the average gradient (`k`): 1, 2, 4 .. 64.
    /// Default 4.
    deviation_gain: Ratio,
    /// After this time with packets of one queue only, a port's queue pauses at T(t) without
    /// shared headroom. Default "10ms".
    single_queue_window: Time,
    /// How far below its PAUSE threshold a port resumes. Default "0B".
    port_xon_offset: Size,
    /// Whether a queue gets headroom from the shared buffer: it pauses ahead of its share of it, by
    /// the headroom that it is estimated to need, and may then use the shares of its port's other
    /// queues. Without, what comes after its PAUSE goes to the port's insurance headroom, which
    /// pauses the port. Default true.
    shared_headroom: bool,
    /// Whether ports have insurance headroom; without, packets may be lost. Default true.
    insurance_headroom: bool,
    /// How the headroom that a queue needs is computed: "practical" (look-up tables, DSH Algorithm
    /// 3) or "conceptual" (division and multiplication, Algorithm 2). Default "practical".
    estimation: Estimation,
}

const fn default_ratio() -> Ratio {
    Ratio::new(5, 4)
}

const fn default_period() -> Time {
    Quantity(Picos(100_000_000))
}

impl Default for DshKeys {
    /// DSH's evaluation, section V.
    fn default() -> Self {
        Self {
            bytes: None,
            gradient_weight: Ratio::new(1, 4),
            deviation_weight: Ratio::new(1, 4),
            deviation_gain: Ratio::new(4, 1),
            single_queue_window: Quantity(Picos(10_000_000_000)),
            port_xon_offset: Size::default(),
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
            Self::Sih { bytes, bandwidth_delays } => {
                Ok(Headroom::Sih { bytes: bytes.map(|size| size.0), bandwidth_delays })
            }
            Self::Adaptive { period: Quantity(Picos::ZERO), .. } => {
                wrong("period", "a period of no time", "write a time such as \"100us\"")
            }
            Self::Adaptive { bytes, period } => {
                Ok(Headroom::Adaptive { bytes: bytes.map(|size| size.0), period: period.0 })
            }
            Self::Oversubscribed { ratio, .. } if ratio.numerator < ratio.denominator => wrong(
                "ratio",
                &format!("headroom that is oversubscribed {ratio} times"),
                "a ratio of \"2\" sets aside half of what \"sih\" does; write 1 or more",
            ),
            Self::Oversubscribed { bytes, ratio } => {
                Ok(Headroom::Oversubscribed { bytes: bytes.map(|size| size.0), ratio })
            }
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
        if self.single_queue_window.0 == Picos::ZERO {
            let help = "write a time such as \"10ms\"";
            return Err(wrong("single_queue_window", "a window of no time", help));
        }
        Ok(Dsh {
            bytes: self.bytes.map(|size| size.0),
            gradient_weight: weight("gradient_weight", self.gradient_weight)?,
            deviation_weight: weight("deviation_weight", self.deviation_weight)?,
            deviation_gain: gain.ok_or_else(|| {
                let help = "a switch shifts instead of multiplying: write 1, 2, 4 .. 64";
                wrong("deviation_gain", &format!("a gain of {}", self.deviation_gain), help)
            })?,
            single_queue_window: self.single_queue_window.0,
            port_xon_offset: self.port_xon_offset.0,
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
