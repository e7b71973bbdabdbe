//! Pairs of senders and receivers.

use std::sync::Arc;

use topology::{Fabric, HostId, Racks};

use super::demand::Demand;
use super::incast::next_rack;
use super::matrix::PairMatrix;
use super::random::RandomStream;

/// Scale of a demand that is divided among receivers, to keep rounding errors small.
const DEMAND_UNIT: u128 = 1 << 16;

/// Pairs of a workload's flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Every host sends, in proportion to its link's rate, to every other host with equal probability.
    Uniform {
        /// Number of hosts, at least two.
        hosts: u32,
    },
    /// Hosts of one group send, in proportion to their links' rates, to hosts of another with equal probability.
    Groups {
        /// Sending hosts, ascending.
        from: Arc<[HostId]>,
        /// Receiving hosts, ascending; every sender has a different host among them.
        to: Arc<[HostId]>,
    },
    /// Hosts of every rack send, in proportion to their links' rates, to hosts of the next rack with equal probability;
    /// the last rack sends to the first.
    NextRack {
        /// Racks of all hosts, at least two.
        racks: Arc<Racks>,
        /// Number of hosts.
        hosts: u32,
    },
    /// Weights between hosts decide how often a pair is drawn.
    Matrix(Arc<PairMatrix>),
}

impl Pairs {
    /// Returns the senders and the share of each in the workload, as proportional numbers below 2^56.
    pub fn senders(&self, fabric: &Fabric) -> Vec<(HostId, u64)> {
        let by_rate = |host: HostId| (host, fabric.wire(fabric.host(host).ports[0]).rate.0);
        match self {
            Self::Uniform { hosts } | Self::NextRack { hosts, .. } => {
                (0..*hosts).map(|host| by_rate(HostId(host))).collect()
            }
            Self::Groups { from, .. } => from.iter().map(|&host| by_rate(host)).collect(),
            Self::Matrix(matrix) => {
                matrix.senders().map(|host| (host, matrix.row_sum(host))).collect()
            }
        }
    }

    /// Returns true if a flow may go from one host to another.
    pub fn may_send(&self, from: HostId, to: HostId) -> bool {
        match self {
            Self::Uniform { hosts } => from != to && from.0.max(to.0) < *hosts,
            Self::Groups { from: senders, to: receivers } => {
                let among = |hosts: &[HostId], host| hosts.binary_search(&host).is_ok();
                from != to && among(senders, from) && among(receivers, to)
            }
            Self::NextRack { racks, hosts } => {
                from.0.max(to.0) < *hosts
                    && racks.rack_of(to) == next_rack(racks, racks.rack_of(from))
            }
            Self::Matrix(matrix) => matrix.has_pair(from, to),
        }
    }

    /// Draws a receiver for a sender.
    pub fn draw(&self, sender: HostId, random: &mut RandomStream) -> HostId {
        match self {
            Self::Uniform { hosts } => {
                let other = u32::try_from(random.below(u64::from(hosts - 1))).expect("a host");
                HostId(other + u32::from(other >= sender.0))
            }
            Self::Groups { to, .. } => match to.binary_search(&sender) {
                Err(_) => *random.pick(to),
                Ok(own) => {
                    let other = random.index(to.len() - 1);
                    to[other + usize::from(other >= own)]
                }
            },
            Self::NextRack { racks, .. } => {
                *random.pick(racks.hosts(next_rack(racks, racks.rack_of(sender))))
            }
            Self::Matrix(matrix) => matrix.draw(sender, random),
        }
    }

    /// Returns the expected traffic, in proportion, between groups of hosts.
    pub fn demand(&self, fabric: &Fabric, groups: &Racks) -> Demand {
        let mut demand = Demand::none(fabric, groups);
        for (sender, weight) in self.senders(fabric) {
            let weight = u128::from(weight);
            match self {
                Self::Uniform { hosts } => demand.send_evenly(sender, weight, *hosts, groups),
                Self::Groups { to, .. } => {
                    let others = || to.iter().filter(|&&receiver| receiver != sender);
                    let each = weight * DEMAND_UNIT / others().count() as u128;
                    others().for_each(|&receiver| demand.send(sender, receiver, each, groups));
                }
                Self::NextRack { racks, .. } => {
                    let receivers = racks.hosts(next_rack(racks, racks.rack_of(sender)));
                    let each = weight * DEMAND_UNIT / receivers.len() as u128;
                    for &to in receivers {
                        demand.send(sender, to, each, groups);
                    }
                }
                Self::Matrix(matrix) => matrix
                    .row(sender)
                    .for_each(|(to, weight)| demand.send(sender, to, weight.into(), groups)),
            }
        }
        demand
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_has_pairs_from_rows_to_columns() {
        let matrix = PairMatrix::parse("0,3,0\n0,0,1\n0,0,0\n", 3).unwrap();
        let pairs = Pairs::Matrix(Arc::new(matrix));
        let all = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
        let found: Vec<_> =
            all.filter(|&(from, to)| pairs.may_send(HostId(from), HostId(to))).collect();
        assert_eq!(found, [(0, 1), (1, 2)]);
    }
}
