//! What each kind of headroom sets aside.

use fabric_core::headroom;
use units::{Bytes, Picos};

use super::{Dsh, Headroom};
use crate::ratio::Ratio;

impl Headroom {
    /// What a queue or port has of the `required` bytes.
    pub const fn reserved(&self, required: Bytes) -> Bytes {
        match self {
            Self::Dsh(Dsh { insurance_headroom: false, .. }) => Bytes(0),
            _ => required,
        }
    }

    /// Whether it belongs to ports instead of queues.
    pub const fn is_by_port(&self) -> bool {
        matches!(self, Self::Dsh(_))
    }

    /// Time between two measurements of a link, if links are measured.
    pub const fn measurement_period(&self) -> Option<Picos> {
        match self {
            Self::Adaptive { period, .. } => Some(*period),
            _ => None,
        }
    }

    /// Phi where the file gives it.
    pub(crate) const fn given_bytes(&self) -> Option<Bytes> {
        match self {
            Self::Sih { bytes, .. }
            | Self::Adaptive { bytes, .. }
            | Self::Oversubscribed { bytes, .. }
            | Self::Dsh(Dsh { bytes, .. }) => *bytes,
        }
    }

    /// Phi as a multiple of the link's rate times delay, where the file gives that.
    pub(crate) const fn given_bandwidth_delays(&self) -> Option<u32> {
        match self {
            Self::Sih { bandwidth_delays, .. } => *bandwidth_delays,
            _ => None,
        }
    }

    /// All headroom of a switch: `phi` has an item for each port, each of which has so many lossless `queues`.
    pub(crate) fn total(&self, phi: impl Iterator<Item = Bytes>, queues: u64) -> Bytes {
        match self {
            Self::Sih { .. } | Self::Adaptive { .. } => headroom::total(phi, queues),
            Self::Oversubscribed { ratio, .. } => {
                let inverse = Ratio { numerator: ratio.denominator, denominator: ratio.numerator };
                Bytes(inverse.of(headroom::total(phi, queues).0))
            }
            Self::Dsh(dsh) if dsh.insurance_headroom && queues > 0 => headroom::insurance(phi),
            Self::Dsh(_) => Bytes(0),
        }
    }

    /// The same in words, for an error: what comes with each ingress queue, `largest` being the largest phi, and
    /// the equations.
    pub(crate) fn total_in_words(&self, largest: &str) -> (String, &'static str) {
        match self {
            Self::Sih { .. } | Self::Adaptive { .. } => {
                (format!("each with up to {largest} of headroom"), "DSH Eq. 1, 3")
            }
            Self::Oversubscribed { ratio, .. } => (
                format!("each with up to {largest} of headroom that is divided by {ratio}"),
                "DSH Eq. 1, 3",
            ),
            Self::Dsh(_) => {
                (format!("and up to {largest} of insurance headroom for each port"), "DSH Eq. 1, 9")
            }
        }
    }
}
