//! The switches that frames of some traffic cross, and the length of their paths.

use super::{
    Fabric, FlowClass, HostId, NodeKind, Racks, RouteFault, RouteFaultKind, SwitchId, Traffic,
    WireId,
};

/// The paths of some traffic to its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The traffic; its destination is the first host of the group.
    pub traffic: Traffic,
    /// Groups of hosts that send it, ascending.
    pub sources: Vec<usize>,
    /// Switches that its frames cross, each before all switches to which it sends.
    pub switches: Vec<SwitchId>,
    /// For each switch, the number of links of the longest path from there; 0 if frames do not cross it.
    links: Vec<u32>,
    /// For each switch, the number of paths from there.
    paths: Vec<u64>,
}

impl Reach {
    /// All traffic to the hosts of a group, of the flows of `class` if given. Sources that share their routes are
    /// in one entry; sources without a path are left out.
    ///
    /// `groups` are [`Racks::by_routes`].
    pub fn to_group(
        fabric: &Fabric,
        groups: &Racks,
        destination: usize,
        class: Option<FlowClass>,
    ) -> Vec<Self> {
        let hosts = groups.hosts(destination);
        let mut shared = Vec::new();
        let mut reaches = Vec::new();
        for source in 0..groups.len() {
            // Hosts of one group send to each other, too.
            let receiver = if source == destination { hosts.last() } else { hosts.first() };
            let (sender, receiver) = (groups.hosts(source)[0], *receiver.expect("it has a host"));
            let traffic = Traffic::between(sender, receiver).with_class(class);
            if sender == receiver || !fabric.reaches(sender, receiver) {
                continue;
            }
            if fabric.static_routes().name_pair(class, sender, receiver) {
                reaches.push(Self::new(fabric, groups, traffic, vec![source]));
            } else {
                shared.push(source);
            }
        }
        if !shared.is_empty() {
            let traffic = Traffic { class, source: None, destination: hosts[0] };
            reaches.push(Self::new(fabric, groups, traffic, shared));
        }
        reaches
    }

    /// The paths of all flows that have their own routes.
    pub fn for_flows(fabric: &Fabric, groups: &Racks) -> Vec<Self> {
        let of = |traffic: Traffic| {
            let source = groups.rack_of(traffic.source.expect("flows have senders"));
            Self::new(fabric, groups, traffic, vec![source])
        };
        fabric.static_routes().flows().map(of).collect()
    }

    /// # Panics
    /// If frames do not arrive, which earlier checks of the fabric exclude.
    fn new(fabric: &Fabric, groups: &Racks, traffic: Traffic, sources: Vec<usize>) -> Self {
        let starts = sources.iter().map(|&source| groups.switch(source));
        let switches = fabric.switches_of(traffic, starts).expect("all routes have been checked");
        let count = fabric.switch_count() as usize;
        let (mut links, mut paths) = (vec![0u32; count], vec![0u64; count]);
        for &switch in switches.iter().rev() {
            let (mut longest, mut sum) = (0, 0u64);
            for wire in fabric.onward(switch, traffic) {
                let (further, ways) = match fabric.ends(wire).to {
                    NodeKind::Host(_) => (0, 1),
                    NodeKind::Switch(next) => (links[next.0 as usize], paths[next.0 as usize]),
                };
                longest = longest.max(further + 1);
                sum = sum.saturating_add(ways);
            }
            links[switch.0 as usize] = longest;
            paths[switch.0 as usize] = sum;
        }
        Self { traffic, sources, switches, links, paths }
    }

    /// Number of links of the longest path from a host on `switch`, the host's own link included.
    pub fn links_from(&self, switch: SwitchId) -> u32 {
        self.links[switch.0 as usize] + 1
    }

    /// Number of paths from `switch`.
    pub fn paths_from(&self, switch: SwitchId) -> u64 {
        self.paths[switch.0 as usize]
    }

    /// The first of the longest paths between two hosts of the groups.
    pub fn longest_path(
        &self,
        fabric: &Fabric,
        source: HostId,
        destination: HostId,
    ) -> Vec<WireId> {
        let traffic = Traffic::between(source, destination).with_class(self.traffic.class);
        let further = |switch: SwitchId, port: u16| match fabric
            .ends(fabric.switch(switch).ports[port as usize])
            .to
        {
            NodeKind::Host(_) => 0,
            NodeKind::Switch(next) => self.links[next.0 as usize],
        };
        let choose = |switch, group: &[u16]| {
            let longest = group.iter().rev().max_by_key(|&&port| further(switch, port));
            *longest.expect("a group is not empty")
        };
        fabric.path(traffic, choose).expect("the groups have a path")
    }
}

impl Fabric {
    /// The switches that frames of `traffic` may come through from `starts` on, each before all that it
    /// sends to.
    ///
    /// # Errors
    /// If some frames may come back to a switch, or to one that has no route for them.
    pub fn switches_of(
        &self,
        traffic: Traffic,
        starts: impl IntoIterator<Item = SwitchId>,
    ) -> Result<Vec<SwitchId>, RouteFault> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            No,
            Open,
            Done,
        }
        let mut seen = vec![Seen::No; self.switch_count() as usize];
        let mut finished = Vec::new();
        for start in starts {
            if seen[start.0 as usize] != Seen::No {
                continue;
            }
            seen[start.0 as usize] = Seen::Open;
            // Depth first: the switches on the way here, and how many of their ports have been followed.
            let mut way = vec![(start, 0)];
            while let Some((here, followed)) = way.pop() {
                let ports = self.ports(here, traffic);
                if ports.is_empty() {
                    let passed = way.iter().map(|(switch, _)| *switch).chain([here]).collect();
                    return Err(RouteFault { traffic, kind: RouteFaultKind::DeadEnd(passed) });
                }
                let Some(&port) = ports.get(followed) else {
                    seen[here.0 as usize] = Seen::Done;
                    finished.push(here);
                    continue;
                };
                way.push((here, followed + 1));
                let peer = self.peer(self.switch_node(here), port).node;
                let NodeKind::Switch(next) = self.node(peer).kind else { continue };
                match seen[next.0 as usize] {
                    Seen::No => {
                        seen[next.0 as usize] = Seen::Open;
                        way.push((next, 0));
                    }
                    Seen::Open => {
                        let cycle = way.iter().map(|(switch, _)| *switch);
                        let members = cycle.skip_while(|switch| *switch != next).collect();
                        return Err(RouteFault { traffic, kind: RouteFaultKind::Loop(members) });
                    }
                    Seen::Done => {}
                }
            }
        }
        finished.reverse();
        Ok(finished)
    }
}
