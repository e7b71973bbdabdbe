//! Buffer that each scheme reserves as headroom.

use fabric_core::headroom;
use units::Bytes;

use super::{Dsh, Scheme};
use crate::ratio::Ratio;

impl Scheme {
    /// Returns the headroom of a queue or port that requires `required` bytes.
    pub const fn reserved(&self, required: Bytes) -> Bytes {
        match self {
            Self::Dsh(Dsh { insurance_headroom: false, .. }) => Bytes(0),
            _ => required,
        }
    }

    /// Returns true if headroom belongs to ports instead of queues.
    pub const fn has_port_headroom(&self) -> bool {
        matches!(self, Self::Dsh(_))
    }

    /// Returns true if lossless ingress queues compete for one pool of headroom.
    pub const fn pools_headroom(&self) -> bool {
        matches!(self, Self::Oversubscribed { .. })
    }

    /// Returns all headroom of a switch. `phi` has one item per port; `queues` is the number of a port's lossless
    /// queues.
    pub(crate) fn total_headroom(&self, phi: impl Iterator<Item = Bytes>, queues: u64) -> Bytes {
        match self {
            Self::Oversubscribed { ratio } => {
                let inverse = Ratio { numerator: ratio.denominator, denominator: ratio.numerator };
                Bytes(inverse.scale(headroom::total(phi, queues).0))
            }
            Self::Dsh(dsh) if dsh.insurance_headroom && queues > 0 => headroom::insurance(phi),
            Self::Dsh(_) => Bytes(0),
            _ => headroom::total(phi, queues),
        }
    }

    /// Describes the headroom of each ingress queue or port for an error, and names the equations. `largest` is the
    /// largest phi.
    pub(crate) fn headroom_in_words(&self, largest: &str) -> (String, &'static str) {
        match self {
            Self::Oversubscribed { ratio } => (
                format!("each with up to {largest} of headroom that is divided by {ratio}"),
                "DSH Eq. 1, 3",
            ),
            Self::Dsh(_) => {
                (format!("and up to {largest} of insurance headroom for each port"), "DSH Eq. 1, 9")
            }
            _ => (format!("each with up to {largest} of headroom"), "DSH Eq. 1, 3"),
        }
    }
}
