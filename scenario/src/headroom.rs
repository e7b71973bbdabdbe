//! `switch.headroom`: buffer for packets that arrive after a PAUSE.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::document::Document;
use super::ratio::Ratio;
use super::report::ScenarioError;

/// Size of the headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Headroom {
    /// Static: computed from the links, or given.
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
}

/// A power of two, with a positive or negative exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerOfTwo {
    /// Exponent, -6 to 6.
    pub exponent: i8,
}

impl PowerOfTwo {
    /// Largest absolute exponent. A smaller weight has no effect, and a larger gain requests all headroom at once.
    const MAX_EXPONENT: u32 = 6;

    pub(super) fn from_ratio(ratio: Ratio) -> Option<Self> {
        let Ratio { numerator, denominator } = ratio;
        let (gain, weight) = (numerator.checked_ilog2()?, denominator.checked_ilog2()?);
        let exact = numerator == 1 << gain && denominator == 1 << weight;
        // Logarithms of 32 bits are at most 31.
        let exponent = i8::try_from(gain).ok()? - i8::try_from(weight).ok()?;
        (exact && u32::from(exponent.unsigned_abs()) <= Self::MAX_EXPONENT)
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

/// Size of the headroom.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum HeadroomKeys {
    /// Static: each lossless ingress queue has separate headroom (static and independent), unless `scheme` shares it.
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
}

const fn default_period() -> Picos {
    Picos(100_000_000)
}

impl Headroom {
    /// Returns the time between measurements of a link, if links are measured.
    pub const fn measurement_period(&self) -> Option<Picos> {
        match self {
            Self::Sih { .. } => None,
            Self::Adaptive { period, .. } => Some(*period),
        }
    }

    /// Returns phi if the file gives it as a size.
    pub(crate) const fn given_bytes(&self) -> Option<Bytes> {
        let (Self::Sih { bytes, .. } | Self::Adaptive { bytes, .. }) = self;
        *bytes
    }

    /// Returns phi as a multiple of the link's rate times delay, if the file gives it so.
    pub(crate) const fn given_bandwidth_delays(&self) -> Option<u32> {
        match self {
            Self::Sih { bandwidth_delays, .. } => *bandwidth_delays,
            Self::Adaptive { .. } => None,
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_shifts() {
        let shifts = |numerator, denominator| {
            PowerOfTwo::from_ratio(Ratio::new(numerator, denominator))
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
