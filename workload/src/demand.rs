//! Expected traffic: how much of a workload each host sends and receives, and each rack sends to
//! each other one.

use topology::{Fabric, HostId, NodeKind, Racks, SHARE_UNIT, Spread, WireId};

/// Amounts in proportion to each other, below 2^80 in sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    sent: Vec<u128>,
    received: Vec<u128>,
    /// `source * racks + destination`.
    between: Vec<u128>,
    racks: usize,
    total: u128,
}

impl Demand {
    /// No traffic yet.
    pub fn none(fabric: &Fabric, racks: &Racks) -> Self {
        let hosts = fabric.host_count() as usize;
        let between = vec![0; racks.len() * racks.len()];
        let (sent, received) = (vec![0; hosts], vec![0; hosts]);
        Self { sent, received, between, racks: racks.len(), total: 0 }
    }

    /// Adds an amount from one host to another.
    pub fn send(&mut self, source: HostId, destination: HostId, amount: u128, racks: &Racks) {
        self.sent[source.0 as usize] += amount;
        self.received[destination.0 as usize] += amount;
        let place = racks.of_host(source) * self.racks + racks.of_host(destination);
        self.between[place] += amount;
        self.total += amount;
    }

    /// Adds an amount from one host to each of the other `hosts` - 1.
    pub fn send_evenly(&mut self, source: HostId, amount: u128, hosts: u32, racks: &Racks) {
        let own = racks.of_host(source);
        for rack in 0..racks.len() {
            let receivers = racks.hosts(rack).len() - usize::from(rack == own);
            self.between[own * self.racks + rack] += amount * receivers as u128;
        }
        for host in (0..hosts as usize).filter(|host| *host != source.0 as usize) {
            self.received[host] += amount;
        }
        self.sent[source.0 as usize] += amount * u128::from(hosts - 1);
        self.total += amount * u128::from(hosts - 1);
    }

    /// A rack that sends to one that it cannot reach, and that one.
    pub fn unreachable(&self, fabric: &Fabric, racks: &Racks) -> Option<(usize, usize)> {
        let pairs = (0..self.racks).flat_map(|from| (0..self.racks).map(move |to| (from, to)));
        let mut pairs = pairs.filter(|(from, to)| self.between[from * self.racks + to] > 0);
        pairs.find(|&(from, to)| {
            fabric.routes(racks.switch(from)).ports_to(racks.hosts(to)[0]).is_empty()
        })
    }

    /// The share of all traffic that crosses each wire, by [`WireId`], in [`SHARE_UNIT`]s. A wire
    /// that some of it crosses has a share above zero.
    pub fn shares(&self, fabric: &Fabric, racks: &Racks) -> Vec<u128> {
        let spread = Spread::of(fabric, racks, &self.between);
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
