//! `switch.ecn`: marking of egress queues.

use fabric_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::priority::Priorities;
use super::quantity::{self, Size};
use super::ratio::Probability;
use super::report::ScenarioError;

/// ECN marking by the length of the egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ecn {
    /// Nothing is marked up to this many bytes.
    #[serde(serialize_with = "quantity::serialize")]
    pub kmin: Bytes,
    /// Everything is marked above this many bytes; at least `kmin`.
    #[serde(serialize_with = "quantity::serialize")]
    pub kmax: Bytes,
    /// Probability at `kmax`; between, it grows in proportion from 0 at `kmin`.
    pub pmax: Probability,
    /// Whose queue length counts.
    pub mark_at: MarkAt,
    /// Priorities that are marked.
    pub priorities: Priorities,
}

/// At which instant a packet is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAt {
    /// When it enters the queue, by what is in front of it.
    Enqueue,
    /// When it leaves the queue, by what is behind it.
    #[default]
    Dequeue,
}

/// ECN marking by the length of the egress queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EcnKeys {
    /// Up to this many bytes nothing is marked.
    kmin: Size,
    /// Above this many bytes everything is marked; at least `kmin`.
    kmax: Size,
    /// Probability of a mark at `kmax`, 0 to 1; it grows in proportion from 0 at `kmin`.
    pmax: Probability,
    /// "enqueue" or "dequeue". Default "dequeue".
    #[serde(default)]
    mark_at: MarkAt,
    /// Priorities whose packets are marked. Default: the lossless ones.
    priorities: Option<Priorities>,
}

impl EcnKeys {
    pub(super) fn resolve(
        self,
        lossless: Priorities,
        document: &Document<'_>,
    ) -> Result<Ecn, ScenarioError> {
        if self.kmin.0 > self.kmax.0 {
            let (kmin, kmax) = (quantity::display(self.kmin.0), quantity::display(self.kmax.0));
            let title = format!("kmin ({kmin}) is above kmax ({kmax})");
            let help = "marking starts at kmin and is certain above kmax: kmin is the smaller one";
            return Err(document.error("switch.ecn.kmin", &title, help));
        }
        Ok(Ecn {
            kmin: self.kmin.0,
            kmax: self.kmax.0,
            pmax: self.pmax,
            mark_at: self.mark_at,
            priorities: self.priorities.unwrap_or(lossless),
        })
    }
}
