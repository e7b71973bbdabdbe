//! Buffer that each kind of headroom reserves.

use fabric_core::headroom;
use units::{Bytes, Picos};

use super::{Dsh, Headroom};
use crate::ratio::Ratio;

impl Headroom {
    /// Returns the headroom of a queue or port that requires `required` bytes.
    pub const fn reserved(&self, required: Bytes) -> Bytes {
        match self {
            Self::Dsh(Dsh { insurance_headroom: false, .. }) => Bytes(0),
            _ => required,
        }
    }

    /// Returns true if headroom belongs to ports instead of queues.
    pub const fn is_by_port(&self) -> bool {
        matches!(self, Self::Dsh(_))
    }

    /// Returns the time between measurements of a link, if links are measured.
    pub const fn measurement_period(&self) -> Option<Picos> {
        match self {
            Self::Adaptive { period, .. } => Some(*period),
            _ => None,
        }
    }

    /// Returns phi if the file gives it as a size.
    pub(crate) const fn given_bytes(&self) -> Option<Bytes> {
        match self {
            Self::Sih { bytes, .. }
            | Self::Adaptive { bytes, .. }
            | Self::Oversubscribed { bytes, .. }
            | Self::Dsh(Dsh { bytes, .. }) => *bytes,
        }
    }

    /// Returns phi as a multiple of the link's rate times delay, if the file gives it so.
    pub(crate) const fn given_bandwidth_delays(&self) -> Option<u32> {
        match self {
            Self::Sih { bandwidth_delays, .. } => *bandwidth_delays,
            _ => None,
        }
    }

    /// Returns all headroom of a switch. `phi` has one item per port; `queues` is the number of a port's lossless
    /// queues.
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

    /// Describes the headroom of each ingress queue or port for an error, and names the equations. `largest` is the
    /// largest phi.
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
