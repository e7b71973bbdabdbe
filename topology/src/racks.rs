//! Racks: the hosts of one switch, and groups of them that share routes.

use std::collections::BTreeMap;

use super::{Fabric, HostId, SwitchId};

/// The hosts of each switch, or groups of them that share routes. Racks are numbered in the order of their
/// switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racks {
    switches: Vec<SwitchId>,
    members: Vec<Vec<HostId>>,
    /// Index of each host's rack, by host.
    rack_of: Vec<u32>,
}

impl Racks {
    /// The racks of a fabric.
    pub fn new(fabric: &Fabric) -> Self {
        Self::divided(fabric, |_| ())
    }

    /// The racks, further divided by static routes: hosts of one group take the same routes to and from any other
    /// group, up to their switch.
    pub fn by_routes(fabric: &Fabric) -> Self {
        let named = fabric.static_routes().by_host();
        Self::divided(fabric, |host| named.get(&host))
    }

    fn divided<K: Ord>(fabric: &Fabric, key: impl Fn(HostId) -> K) -> Self {
        let mut found: BTreeMap<(SwitchId, K), Vec<HostId>> = BTreeMap::new();
        for host in (0..fabric.host_count()).map(HostId) {
            found.entry((fabric.edge(host), key(host))).or_default().push(host);
        }
        let mut groups: Vec<(SwitchId, Vec<HostId>)> =
            found.into_iter().map(|((switch, _), hosts)| (switch, hosts)).collect();
        groups.sort();
        let (switches, members): (Vec<SwitchId>, Vec<Vec<HostId>>) = groups.into_iter().unzip();
        let mut rack_of = vec![0; fabric.host_count() as usize];
        for (rack, hosts) in (0..).zip(&members) {
            for host in hosts {
                rack_of[host.0 as usize] = rack;
            }
        }
        Self { switches, members, rack_of }
    }

    /// Number of racks.
    pub fn len(&self) -> usize {
        self.switches.len()
    }

    /// True if there are no racks.
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
    pub fn rack_of(&self, host: HostId) -> usize {
        self.rack_of[host.0 as usize] as usize
    }
}
