//! Distances between hosts as the simulator computes them, which are the bases of windows.

use std::collections::VecDeque;

use units::{Bytes, Nanos};

use super::topology::Topology;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Max round-trip time: a day, the longest time of a scenario.
const MAX_RTT: u64 = 86_400 * NANOS_PER_SECOND;

/// A base round-trip time, and its bandwidth-delay product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base {
    /// Twice the propagation delay, plus the time of a full payload on each link in one direction.
    pub rtt: Nanos,
    /// Bytes sent in this time at the rate of the path's slowest link.
    pub bdp: Bytes,
}

/// The bases of all pairs of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Bases by receiver and sender; `None` if there is no path.
    bases: Vec<Vec<Option<Base>>>,
    /// True if a switch has several equal paths to a host.
    pub several: bool,
    /// Links of the longest path between two hosts.
    pub longest_links: u32,
}

/// A link from a node's point of view.
struct Way {
    to: u32,
    rate: u64,
    delay_ns: u64,
}

/// Distance of a node from a host: number of links, their total delay and the payload's total time in nanoseconds, and
/// the slowest rate.
#[derive(Clone, Copy)]
struct Distance {
    links: u32,
    delay: u64,
    serialisation: u64,
    rate: u64,
}

impl Paths {
    /// Computes the paths of a topology with packets of `payload` bytes.
    pub fn new(topology: &Topology, payload: Bytes) -> Self {
        let ways = ways(topology);
        let mut paths =
            Self { bases: vec![Vec::new(); ways.len()], several: false, longest_links: 0 };
        for host in topology.nodes().filter(|&node| !topology.is_switch(node)) {
            paths.bases[host as usize] = paths.towards(host, &ways, topology, payload);
        }
        paths
    }

    /// Returns the base between two hosts.
    pub fn base(&self, source: u32, destination: u32) -> Option<Base> {
        self.bases.get(destination as usize)?.get(source as usize).copied().flatten()
    }

    /// Returns the longest round trip of all pairs and the largest product, which may be another pair's.
    pub fn largest(&self) -> Base {
        let all = || self.bases.iter().flatten().flatten();
        Base {
            rtt: all().map(|base| base.rtt).max().unwrap_or_default(),
            bdp: all().map(|base| base.bdp).max().unwrap_or_default(),
        }
    }

    /// Searches breadth first from `host`. Among paths with equal numbers of links, the first one found is used.
    fn towards(
        &mut self,
        host: u32,
        ways: &[Vec<Way>],
        topology: &Topology,
        payload: Bytes,
    ) -> Vec<Option<Base>> {
        let mut found: Vec<Option<Distance>> = vec![None; ways.len()];
        let start = Distance { links: 0, delay: 0, serialisation: 0, rate: u64::MAX };
        found[host as usize] = Some(start);
        let mut queue = VecDeque::from([(host, start)]);
        while let Some((node, at)) = queue.pop_front() {
            for way in &ways[node as usize] {
                match found[way.to as usize] {
                    None => {
                        let further = Distance {
                            links: at.links + 1,
                            delay: at.delay.saturating_add(way.delay_ns),
                            serialisation: at
                                .serialisation
                                .saturating_add(payload.0 * NANOS_PER_SECOND * 8 / way.rate),
                            rate: at.rate.min(way.rate),
                        };
                        found[way.to as usize] = Some(further);
                        if topology.is_switch(way.to) {
                            queue.push_back((way.to, further));
                        }
                    }
                    Some(other) => self.several |= other.links == at.links + 1,
                }
            }
        }
        let links = found.iter().flatten().map(|distance| distance.links).max();
        self.longest_links = self.longest_links.max(links.unwrap_or(0));
        let base = |node: u32| {
            let Distance { delay, serialisation, rate, .. } =
                found[node as usize].filter(|_| node != host && !topology.is_switch(node))?;
            let rtt = delay.saturating_mul(2).saturating_add(serialisation).min(MAX_RTT);
            let bits = u128::from(rtt) * u128::from(rate) / u128::from(NANOS_PER_SECOND);
            let bdp = u64::try_from(bits / 8).unwrap_or(u64::MAX);
            Some(Base { rtt: Nanos(rtt), bdp: Bytes(bdp) })
        };
        topology.nodes().map(base).collect()
    }
}

/// Returns the links from each node, by the number of the neighbour. Of parallel links the simulator knows only the
/// last.
fn ways(topology: &Topology) -> Vec<Vec<Way>> {
    let mut ways: Vec<Vec<Way>> = topology.nodes().map(|_| Vec::new()).collect();
    for link in &topology.links {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let way = Way { to, rate: link.rate.0, delay_ns: link.delay.to_nanos().0 };
            match ways[from as usize].iter_mut().find(|other| other.to == way.to) {
                Some(other) => *other = way,
                None => ways[from as usize].push(way),
            }
        }
    }
    for ways in &mut ways {
        ways.sort_by_key(|way| way.to);
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::ns3::Simulator;

    fn paths(text: &str) -> Paths {
        let source = Source::new("t.txt", text);
        let topology = Topology::parse(&source, Simulator::Hpcc.traits()).unwrap();
        Paths::new(&topology, Bytes(1000))
    }

    /// Hosts 0 to 2 at switch 3; host 2's link is slower and longer. At 100 Gbit/s a payload takes 80 ns, at 25 Gbit/s 320.
    #[test]
    fn a_base_counts_payloads_one_way_and_delays_both() {
        let star = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 25Gbps 3us 0\n";
        let paths = paths(star);
        assert_eq!(paths.base(0, 1), Some(Base { rtt: Nanos(4160), bdp: Bytes(52_000) }));
        assert_eq!(paths.base(0, 2), Some(Base { rtt: Nanos(8400), bdp: Bytes(26_250) }));
        assert_eq!((paths.base(0, 0), paths.base(0, 3)), (None, None));
        assert_eq!(paths.largest(), Base { rtt: Nanos(8400), bdp: Bytes(52_000) });
        assert!(!paths.several);
    }

    #[test]
    fn two_spines_are_two_ways_and_the_last_of_parallel_links_counts() {
        let leaf_spine = "6 4 6\n2 3 4 5\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 4 100Gbps 1us 0\n\
                          3 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n";
        assert!(paths(leaf_spine).several);
        let parallel = "4 2 4\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 10Gbps 9us 0\n3 2 50Gbps 1us 0\n";
        let found = paths(parallel);
        assert_eq!(found.base(0, 1), Some(Base { rtt: Nanos(6320), bdp: Bytes(39_500) }));
        assert!(!found.several);
    }
}
