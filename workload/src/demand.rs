//! Expected traffic of a workload: amounts that each host sends and receives, and amounts between groups of hosts.

use topology::{Fabric, FlowClass, HostId, NodeKind, Racks, SHARE_UNIT, Spread, WireId};

/// Proportional amounts of traffic, below 2^80 in sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    sent: Vec<u128>,
    received: Vec<u128>,
    /// Amounts by `source * groups + destination`.
    between: Vec<u128>,
    groups: usize,
    total: u128,
}

impl Demand {
    /// Returns an empty demand. `groups` here and below are [`Racks::by_routes`].
    pub fn none(fabric: &Fabric, groups: &Racks) -> Self {
        let hosts = fabric.host_count() as usize;
        let between = vec![0; groups.len() * groups.len()];
        let (sent, received) = (vec![0; hosts], vec![0; hosts]);
        Self { sent, received, between, groups: groups.len(), total: 0 }
    }

    /// Adds an amount from one host to another.
    pub fn send(&mut self, source: HostId, destination: HostId, amount: u128, groups: &Racks) {
        self.sent[source.0 as usize] += amount;
        self.received[destination.0 as usize] += amount;
        let place = groups.rack_of(source) * self.groups + groups.rack_of(destination);
        self.between[place] += amount;
        self.total += amount;
    }

    /// Adds an amount from one host to each of the other `hosts` - 1.
    pub fn send_evenly(&mut self, source: HostId, amount: u128, hosts: u32, groups: &Racks) {
        let own = groups.rack_of(source);
        for group in 0..groups.len() {
            let receivers = groups.hosts(group).len() - usize::from(group == own);
            self.between[own * self.groups + group] += amount * receivers as u128;
        }
        for host in (0..hosts as usize).filter(|host| *host != source.0 as usize) {
            self.received[host] += amount;
        }
        self.sent[source.0 as usize] += amount * u128::from(hosts - 1);
        self.total += amount * u128::from(hosts - 1);
    }

    /// Returns a host with traffic to a host that it cannot reach, and that host.
    pub fn unreachable(&self, fabric: &Fabric, groups: &Racks) -> Option<(HostId, HostId)> {
        let pairs = (0..self.groups).flat_map(|from| (0..self.groups).map(move |to| (from, to)));
        let mut pairs = pairs
            .filter(|(from, to)| self.between[from * self.groups + to] > 0)
            .map(|(from, to)| (groups.hosts(from)[0], groups.hosts(to)[0]));
        pairs.find(|&(from, to)| !fabric.reaches(from, to))
    }

    /// Returns the share of all traffic that crosses each wire, by [`WireId`], in [`SHARE_UNIT`]s; above zero if any
    /// traffic crosses the wire. With `class`, the traffic takes the routes of this class of flows.
    pub fn shares(&self, fabric: &Fabric, groups: &Racks, class: Option<FlowClass>) -> Vec<u128> {
        let spread = Spread::new(fabric, groups, class, &self.between);
        let share = |(id, wire): (WireId, &topology::Wire)| {
            let amount = match (fabric.node(wire.from).kind, fabric.node(wire.to).kind) {
                (NodeKind::Host(HostId(host)), _) => self.sent[host as usize] * SHARE_UNIT,
                (_, NodeKind::Host(HostId(host))) => self.received[host as usize] * SHARE_UNIT,
                _ => spread.on(id),
            };
            amount.div_ceil(self.total.max(1))
        };
        (0..).map(WireId).zip(fabric.wires()).map(share).collect()
    }
}
