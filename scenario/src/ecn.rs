//! `switch.ecn`: marking of egress queues.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Bytes};

use super::by_rate;
use super::document::Document;
use super::priority::Priorities;
use super::quantity;
use super::ratio::Probability;
use super::report::ScenarioError;

/// ECN marking by the length of the egress queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ecn {
    /// Thresholds of every port whose rate is not in `by_rate`.
    #[serde(flatten)]
    pub thresholds: EcnThresholds,
    /// Instant at which the queue length decides on the mark.
    pub mark_at: MarkAt,
    /// Priorities whose packets are marked.
    pub priorities: Priorities,
    /// Rates whose ports have other thresholds, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<EcnOfRate>,
}

/// Marking thresholds and probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EcnThresholds {
    /// Queue length in bytes up to which no packet is marked.
    pub kmin: Bytes,
    /// Queue length in bytes above which every packet is marked; at least `kmin`, and less than 4
    /// GiB.
    pub kmax: Bytes,
    /// Probability of a mark at `kmax`; grows linearly from 0 at `kmin`.
    pub pmax: Probability,
}

/// Marking at the ports of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EcnOfRate {
    /// Rate of the ports' links.
    pub rate: BitsPerSecond,
    /// Thresholds of these ports.
    #[serde(flatten)]
    pub thresholds: EcnThresholds,
}

impl Ecn {
    /// Returns the thresholds of a port whose link has this rate.
    pub fn thresholds(&self, rate: BitsPerSecond) -> EcnThresholds {
        let own = self.by_rate.iter().find(|of_rate| of_rate.rate == rate);
        own.map_or(self.thresholds, |of_rate| of_rate.thresholds)
    }
}

/// Instant at which a packet is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAt {
    /// On entering the queue, by the bytes in front of the packet.
    Enqueue,
    /// On leaving the queue, by the bytes behind the packet.
    #[default]
    Dequeue,
}

/// ECN marking by the length of the egress queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EcnKeys {
    /// Queue length in bytes up to which no packet is marked.
    kmin: Bytes,
    /// Queue length in bytes above which every packet is marked; at least `kmin`, and less than
    /// "4GiB".
    kmax: Bytes,
    /// Probability of a mark at `kmax`, 0 to 1; grows linearly from 0 at `kmin`.
    pmax: Probability,
    /// Instant of marking: "enqueue", by the bytes in front of the packet, or "dequeue", by the
    /// bytes behind it. Default "dequeue".
    #[serde(default)]
    mark_at: MarkAt,
    /// Priorities whose packets are marked. Default: the lossless ones.
    priorities: Option<Priorities>,
    /// Other thresholds for ports by the rate of their link. Default: none.
    #[serde(default)]
    by_rate: Vec<EcnOfRateKeys>,
}

/// Marking at the ports of one rate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EcnOfRateKeys {
    /// Rate of a link of the fabric.
    rate: BitsPerSecond,
    /// Queue length in bytes up to which no packet is marked at these ports.
    kmin: Bytes,
    /// Queue length in bytes above which every packet is marked at these ports; at least `kmin`,
    /// and less than "4GiB".
    kmax: Bytes,
    /// Probability of a mark at `kmax`, 0 to 1. Default: `pmax` of the other ports.
    pmax: Option<Probability>,
}

impl EcnKeys {
    pub(super) fn resolve(
        self,
        lossless: Priorities,
        rates: &BTreeSet<BitsPerSecond>,
        document: &Document<'_>,
    ) -> Result<Ecn, ScenarioError> {
        let thresholds = EcnThresholds { kmin: self.kmin, kmax: self.kmax, pmax: self.pmax };
        thresholds.check("switch.ecn", document)?;
        let of_rate = |keys: EcnOfRateKeys| EcnOfRate {
            rate: keys.rate,
            thresholds: EcnThresholds {
                kmin: keys.kmin,
                kmax: keys.kmax,
                pmax: keys.pmax.unwrap_or(self.pmax),
            },
        };
        let by_rate: Vec<EcnOfRate> = self.by_rate.into_iter().map(of_rate).collect();
        let path = "switch.ecn.by_rate";
        by_rate::check(path, by_rate.iter().map(|of_rate| of_rate.rate), rates, document)?;
        for (number, of_rate) in by_rate.iter().enumerate() {
            of_rate.thresholds.check(&format!("{path}.{number}"), document)?;
        }
        let priorities = self.priorities.unwrap_or(lossless);
        Ok(Ecn { thresholds, mark_at: self.mark_at, priorities, by_rate })
    }
}

impl EcnThresholds {
    /// Checks the thresholds; `path` is the table with the keys.
    fn check(&self, path: &str, document: &Document<'_>) -> Result<(), ScenarioError> {
        let (kmin, kmax) = (quantity::display(self.kmin), quantity::display(self.kmax));
        if self.kmin > self.kmax {
            let title = format!("kmin ({kmin}) is above kmax ({kmax})");
            let help = "marking starts at kmin and is certain above kmax: kmin is the smaller one";
            return Err(document.error(&format!("{path}.kmin"), &title, help));
        }
        if self.kmax.0 > u64::from(u32::MAX) {
            let title = format!("kmax is {kmax}, longer than any queue");
            let help = "a switch counts it in 32 bits: write a size below \"4GiB\"";
            return Err(document.error(&format!("{path}.kmax"), &title, help));
        }
        Ok(())
    }
}
