//! Repair of losses by queue pairs: keys of `host.transport`.

pub use host_agent::{Reliability, SelectiveRepeat};
use schemars::JsonSchema;
use serde::Deserialize;
use units::Picos;

use super::quantity;
use super::report::ScenarioError;
use super::transport::Place;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReliabilityKey {
    #[default]
    GoBackN,
    SelectiveRepeat,
}

impl ReliabilityKey {
    /// Resolves the scheme and its keys, and checks them even if another scheme is chosen.
    pub(super) fn resolve(
        self,
        rto_low: Option<Picos>,
        rto_low_packets: Option<u32>,
        place: &Place<'_>,
    ) -> Result<Reliability, ScenarioError> {
        let rto_low = rto_low.unwrap_or(Picos(100_000_000));
        if rto_low == Picos::ZERO {
            let help = "write a time above the round trip, such as \"100us\"";
            return Err(place.wrong("rto_low", "a timeout of no time", help));
        }
        let rto_low_packets = rto_low_packets.unwrap_or(3);
        Ok(match self {
            Self::GoBackN => Reliability::GoBackN,
            Self::SelectiveRepeat => {
                Reliability::SelectiveRepeat(SelectiveRepeat { rto_low, rto_low_packets })
            }
        })
    }
}

/// Checks `rto_low` against the timeout that applies while many packets are in flight.
pub(super) fn check(
    reliability: Reliability,
    retransmission_timeout: Picos,
    place: &Place<'_>,
) -> Result<(), ScenarioError> {
    match reliability {
        Reliability::SelectiveRepeat(SelectiveRepeat { rto_low, .. })
            if rto_low > retransmission_timeout =>
        {
            let [low, high] = [rto_low, retransmission_timeout].map(quantity::display);
            let title = format!("an `rto_low` of {low} above the retransmission timeout of {high}");
            let help = "write at most `host.retransmission_timeout`; IRN has 100us and 320us";
            Err(place.wrong("rto_low", &title, help))
        }
        _ => Ok(()),
    }
}
