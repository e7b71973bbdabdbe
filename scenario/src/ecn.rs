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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EcnKeys")]
pub struct Ecn {
    /// Queue length in bytes up to which no packet is marked.
    pub kmin: Bytes,
    /// Queue length in bytes above which every packet is marked; at least `kmin`, and less than
    /// "4GiB".
    pub kmax: Bytes,
    /// Probability of a mark at `kmax`, 0 to 1; grows linearly from 0 at `kmin`.
    pub pmax: Probability,
    /// Instant of marking: "enqueue", by the bytes in front of the packet, or "dequeue", by the
    /// bytes behind it. With `numbers` of ns-3 "enqueue" counts the packet, too, as in ns3-datacenter. Default "dequeue"; with
    /// the dialect "ns3-datacenter" "enqueue".
    #[serde(default)]
    pub mark_at: MarkAt,
    /// Priorities whose packets are marked. Default: the lossless ones.
    priorities: Option<Priorities>,
    /// Other thresholds for ports by the rate of their link. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    by_rate: Vec<EcnOfRate>,
}

/// Marking at the ports of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EcnOfRateKeys")]
pub struct EcnOfRate {
    /// Rate of a link of the fabric.
    rate: BitsPerSecond,
    /// Queue length in bytes up to which no packet is marked at these ports.
    pub kmin: Bytes,
    /// Queue length in bytes above which every packet is marked at these ports; at least `kmin`,
    /// and less than "4GiB".
    pub kmax: Bytes,
    /// Probability of a mark at `kmax`, 0 to 1. Default: `pmax` of the other ports.
    pmax: Option<Probability>,
}

/// Marking thresholds and probability of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnThresholds {
    /// Queue length in bytes up to which no packet is marked.
    pub kmin: Bytes,
    /// Queue length in bytes above which every packet is marked; at least `kmin`, and less than 4
    /// GiB.
    pub kmax: Bytes,
    /// Probability of a mark at `kmax`; grows linearly from 0 at `kmin`.
    pub pmax: Probability,
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

impl Ecn {
    /// Returns the thresholds of a port whose link has this rate.
    pub fn thresholds(&self, rate: BitsPerSecond) -> EcnThresholds {
        let own = self.by_rate.iter().find(|of_rate| of_rate.rate == rate);
        own.map_or(self.usual(), |of_rate| of_rate.thresholds(self.pmax))
    }

    /// Returns the priorities whose packets are marked.
    pub fn priorities(&self) -> Priorities {
        self.priorities.expect("a scenario has all defaults")
    }

    /// Returns the thresholds of ports whose rate is not in `by_rate`.
    const fn usual(&self) -> EcnThresholds {
        EcnThresholds { kmin: self.kmin, kmax: self.kmax, pmax: self.pmax }
    }

    /// Adds the defaults, and checks the thresholds. `rates` are the rates of links.
    pub(super) fn complete(
        &mut self,
        lossless: Priorities,
        rates: &BTreeSet<BitsPerSecond>,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        self.usual().check("switch.ecn", document)?;
        let path = "switch.ecn.by_rate";
        by_rate::check(path, self.by_rate.iter().map(|of_rate| of_rate.rate), rates, document)?;
        for (number, of_rate) in self.by_rate.iter_mut().enumerate() {
            of_rate.thresholds(self.pmax).check(&format!("{path}.{number}"), document)?;
            of_rate.pmax.get_or_insert(self.pmax);
        }
        self.priorities.get_or_insert(lossless);
        Ok(())
    }
}

impl EcnOfRate {
    /// Returns the thresholds; `pmax` is the probability of other ports.
    fn thresholds(&self, pmax: Probability) -> EcnThresholds {
        EcnThresholds { kmin: self.kmin, kmax: self.kmax, pmax: self.pmax.unwrap_or(pmax) }
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
