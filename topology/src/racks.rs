//! Racks: the hosts of one switch.

use super::{Fabric, HostId, NodeKind, SwitchId};

/// Which hosts share a switch; racks are numbered in the order of their switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racks {
    switches: Vec<SwitchId>,
    members: Vec<Vec<HostId>>,
    /// By host.
    rack_of: Vec<u32>,
}

impl Racks {
    /// The racks of a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let mut members = vec![Vec::new(); fabric.switch_count() as usize];
        let switch_of = |host| {
            let node = fabric.wire(fabric.host(host).ports[0]).to;
            match fabric.node(node).kind {
                NodeKind::Switch(switch) => switch,
                NodeKind::Host(_) => unreachable!("a host's link leads to a switch"),
            }
        };
        for host in (0..fabric.host_count()).map(HostId) {
            members[switch_of(host).0 as usize].push(host);
        }
        let switches: Vec<SwitchId> = (0..fabric.switch_count())
            .map(SwitchId)
            .filter(|switch| !members[switch.0 as usize].is_empty())
            .collect();
        members.retain(|hosts| !hosts.is_empty());
        let mut rack_of = vec![0; fabric.host_count() as usize];
        for (rack, hosts) in (0..).zip(&members) {
            for host in hosts {
                rack_of[host.0 as usize] = rack;
            }
        }
        Self { switches, members, rack_of }
    }

    /// How many racks there are.
    pub fn len(&self) -> usize {
        self.switches.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty()
    }

    /// A rack's hosts, ascending; never empty.
    pub fn hosts(&self, rack: usize) -> &[HostId] {
        &self.members[rack]
    }

    /// A rack's switch.
    pub fn switch(&self, rack: usize) -> SwitchId {
        self.switches[rack]
    }

    /// The rack of a host.
    pub fn of_host(&self, host: HostId) -> usize {
        self.rack_of[host.0 as usize] as usize
    }
}
