//! Repair of losses by queue pairs: keys of `host.transport`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use super::quantity::{self, Quantity, Time};
use super::report::ScenarioError;
use super::transport::Place;

/// Repair of losses by queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reliability", rename_all = "kebab-case")]
pub enum Reliability {
    /// Go-back-N, as in reliable connections of `InfiniBand`.
    GoBackN,
    /// Selective repeat.
    SelectiveRepeat(SelectiveRepeat),
}

/// Selective repeat's parameters (IRN: Mittal et al., SIGCOMM 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SelectiveRepeat {
    /// Retransmission timeout while few packets are in flight, at most `host.retransmission_timeout`.
    #[serde(serialize_with = "quantity::serialize")]
    pub rto_low: Picos,
    /// Number of packets in flight from which on `rto_low` does not apply.
    pub rto_low_packets: u32,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
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
        rto_low: Option<Time>,
        rto_low_packets: Option<u32>,
        place: &Place<'_>,
    ) -> Result<Reliability, ScenarioError> {
        let Quantity(rto_low) = rto_low.unwrap_or(Quantity(Picos(100_000_000)));
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

impl Reliability {
    /// Checks `rto_low` against the timeout that applies while many packets are in flight.
    pub(super) fn check(
        &self,
        retransmission_timeout: Picos,
        place: &Place<'_>,
    ) -> Result<(), ScenarioError> {
        match self {
            Self::SelectiveRepeat(SelectiveRepeat { rto_low, .. })
                if *rto_low > retransmission_timeout =>
            {
                let [low, high] = [*rto_low, retransmission_timeout].map(quantity::display);
                let title =
                    format!("an `rto_low` of {low} above the retransmission timeout of {high}");
                let help = "write at most `host.retransmission_timeout`; IRN has 100us and 320us";
                Err(place.wrong("rto_low", &title, help))
            }
            _ => Ok(()),
        }
    }
}
