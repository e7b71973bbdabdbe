//! Who sends to whom.

use std::sync::Arc;

use super::demand::Demand;
use super::matrix::PairMatrix;
use super::random::RandomStream;
use crate::topology::{Fabric, HostId, Racks};

/// The pairs of a workload's flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Every host sends, by its link's rate, to every other one with equal probability.
    Uniform {
        /// How many hosts there are, at least two.
        hosts: u32,
    },
    /// The hosts of one rack send to those of another, with equal probability.
    Racks {
        /// The senders.
        from: Arc<[HostId]>,
        /// The receivers, none of the senders.
        to: Arc<[HostId]>,
    },
    /// By weights between hosts.
    Matrix(Arc<PairMatrix>),
}

impl Pairs {
    /// The senders, and how much of the workload each sends: proportional numbers below 2^56.
    pub fn senders(&self, fabric: &Fabric) -> Vec<(HostId, u64)> {
        let by_rate = |host: HostId| (host, fabric.wire(fabric.host(host).ports[0]).rate.0);
        match self {
            Self::Uniform { hosts } => (0..*hosts).map(|host| by_rate(HostId(host))).collect(),
            Self::Racks { from, .. } => from.iter().map(|&host| by_rate(host)).collect(),
            Self::Matrix(matrix) => {
                matrix.senders().map(|host| (host, matrix.row_sum(host))).collect()
            }
        }
    }

    /// A receiver for a sender.
    pub fn draw(&self, sender: HostId, random: &mut RandomStream) -> HostId {
        match self {
            Self::Uniform { hosts } => {
                let other = random.below(u64::from(hosts - 1)) as u32;
                HostId(other + u32::from(other >= sender.0))
            }
            Self::Racks { to, .. } => to[random.below(to.len() as u64) as usize],
            Self::Matrix(matrix) => matrix.draw(sender, random),
        }
    }

    /// The expected traffic, in proportion.
    pub fn demand(&self, fabric: &Fabric, racks: &Racks) -> Demand {
        let mut demand = Demand::none(fabric, racks);
        let receivers_of = |sender: HostId| -> Box<dyn Iterator<Item = (HostId, u64)> + '_> {
            match self {
                Self::Uniform { .. } => unreachable!("uniform demand is computed by racks"),
                Self::Racks { to, .. } => Box::new(to.iter().map(|&host| (host, 1))),
                Self::Matrix(matrix) => Box::new(matrix.row(sender)),
            }
        };
        for (sender, weight) in self.senders(fabric) {
            let weight = u128::from(weight);
            if let Self::Uniform { hosts } = self {
                demand.send_evenly(sender, weight, *hosts, racks);
                continue;
            }
            for (receiver, part) in receivers_of(sender) {
                // A matrix's weight is the demand; a rack's sender has an equal part for each.
                let is_matrix = matches!(self, Self::Matrix(_));
                let amount = if is_matrix { u128::from(part) } else { weight };
                demand.send(sender, receiver, amount, racks);
            }
        }
        demand
    }
}
