//! The plan of a fabric: names and links, listed or generated.

use units::{BitsPerSecond, Picos};

use super::{FabricError, FailedLinkError, MAX_HOSTS, MAX_SWITCHES};

/// Names and links in order; [`super::Fabric::build`] turns it into a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Host names; a name's place is the host's number.
    pub hosts: Vec<String>,
    /// Switch names; a name's place is the switch's number.
    pub switches: Vec<String>,
    /// Links; a node's ports are numbered in the order of its links.
    pub links: Vec<PlannedLink>,
}

/// A cable between two named nodes, the same in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLink {
    /// The one end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Bits per second in each direction.
    pub rate: BitsPerSecond,
    /// Propagation delay, `D_prop` in DSH.
    pub delay: Picos,
}

/// Numbers of nodes in [`Plan::pods`], each from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodCounts {
    /// Pods.
    pub pods: u32,
    /// Switches above all pods.
    pub spines: u32,
    /// Switches above the ToRs of a pod.
    pub leaves_per_pod: u32,
    /// Switches with hosts in a pod.
    pub tors_per_pod: u32,
    /// Hosts on each ToR.
    pub hosts_per_tor: u32,
}

impl Plan {
    /// One switch `s0` with hosts `h0..` on its ports `0..`.
    pub fn star(hosts: u32, rate: BitsPerSecond, delay: Picos) -> Result<Self, FabricError> {
        limit_hosts(u64::from(hosts))?;
        let hosts = numbered("h", hosts);
        let links = hosts.iter().map(|host| link(host, "s0", rate, delay)).collect();
        Ok(Self { hosts, switches: vec!["s0".into()], links })
    }

    /// `leaves` leaves and `spines` spines, each leaf with `hosts_per_leaf` hosts and a link to
    /// each spine.
    ///
    /// Host `n` is on leaf `n / hosts_per_leaf`. A leaf's ports are its hosts, then the spines; a
    /// spine's ports are the leaves. Links are a pair (rate, delay).
    pub fn leaf_spine(
        leaves: u32,
        spines: u32,
        hosts_per_leaf: u32,
        host_link: (BitsPerSecond, Picos),
        fabric_link: (BitsPerSecond, Picos),
    ) -> Result<Self, FabricError> {
        limit_hosts(u64::from(leaves) * u64::from(hosts_per_leaf))?;
        limit_switches(u64::from(leaves) + u64::from(spines))?;
        let hosts = numbered("h", leaves * hosts_per_leaf);
        let leaves = numbered("leaf", leaves);
        let spines = numbered("spine", spines);
        let mut links = Vec::new();
        for (number, host) in hosts.iter().enumerate() {
            let leaf = &leaves[number / hosts_per_leaf as usize];
            links.push(link(host, leaf, host_link.0, host_link.1));
        }
        for leaf in &leaves {
            for spine in &spines {
                links.push(link(leaf, spine, fabric_link.0, fabric_link.1));
            }
        }
        Ok(Self { hosts, switches: [leaves, spines].concat(), links })
    }
}

impl Plan {
    /// Two switches `s0` and `s1`, joined by one link, with `left` hosts on `s0` and `right` hosts
    /// on `s1`.
    ///
    /// Hosts are numbered from the left; a switch's ports are its hosts, then the bottleneck.
    pub fn dumbbell(
        left: u32,
        right: u32,
        host_link: (BitsPerSecond, Picos),
        bottleneck: (BitsPerSecond, Picos),
    ) -> Result<Self, FabricError> {
        limit_hosts(u64::from(left) + u64::from(right))?;
        let hosts = numbered("h", left + right);
        let mut links = Vec::new();
        for (number, host) in (0..).zip(&hosts) {
            let switch = if number < left { "s0" } else { "s1" };
            links.push(link(host, switch, host_link.0, host_link.1));
        }
        links.push(link("s0", "s1", bottleneck.0, bottleneck.1));
        Ok(Self { hosts, switches: vec!["s0".into(), "s1".into()], links })
    }

    /// A fat tree of `k` pods (Al-Fares et al., SIGCOMM 2008), `k` even.
    ///
    /// Pod `p` has the edge switches `edge{p k/2}..` and the aggregation switches `agg{p k/2}..`,
    /// `k/2` of each, every one linked with every other; the `i`-th aggregation switch of each pod
    /// has links to the core switches `core{i k/2}..`, `k/2` of them. Host `n` is on edge switch
    /// `n / hosts_per_edge`: `k/2` hosts make the tree non-blocking, more oversubscribe it. Ports
    /// are numbered downlinks first. Links are a pair (rate, delay).
    pub fn fat_tree(
        k: u32,
        hosts_per_edge: u32,
        host_link: (BitsPerSecond, Picos),
        aggregation_link: (BitsPerSecond, Picos),
        core_link: (BitsPerSecond, Picos),
    ) -> Result<Self, FabricError> {
        let half = u64::from(k / 2);
        limit_hosts((u64::from(k) * half).saturating_mul(u64::from(hosts_per_edge)))?;
        limit_switches((2 * u64::from(k) + half).saturating_mul(half))?;
        let half = k / 2;
        let hosts = numbered("h", k * half * hosts_per_edge);
        let edges = numbered("edge", k * half);
        let aggregations = numbered("agg", k * half);
        let cores = numbered("core", half * half);
        let mut links = Vec::new();
        for (number, host) in hosts.iter().enumerate() {
            let edge = &edges[number / hosts_per_edge as usize];
            links.push(link(host, edge, host_link.0, host_link.1));
        }
        let half = half as usize;
        for (number, edge) in edges.iter().enumerate() {
            let pod = number / half * half;
            for aggregation in &aggregations[pod..pod + half] {
                links.push(link(edge, aggregation, aggregation_link.0, aggregation_link.1));
            }
        }
        for (number, aggregation) in aggregations.iter().enumerate() {
            let first = number % half * half;
            for core in &cores[first..first + half] {
                links.push(link(aggregation, core, core_link.0, core_link.1));
            }
        }
        Ok(Self { hosts, switches: [edges, aggregations, cores].concat(), links })
    }

    /// Pods under common spines: a Clos network of three tiers.
    ///
    /// Pod `p` has the switches `tor{p tors_per_pod}..` with hosts and `leaf{p leaves_per_pod}..` above them, every one
    /// linked with every other; each leaf of each pod has a link to each of the switches `spine0..`. Host `n` is on
    /// ToR `n / hosts_per_tor`. Ports are numbered downlinks first. Links are a pair (rate, delay).
    pub fn pods(
        counts: PodCounts,
        host_link: (BitsPerSecond, Picos),
        leaf_link: (BitsPerSecond, Picos),
        spine_link: (BitsPerSecond, Picos),
    ) -> Result<Self, FabricError> {
        let PodCounts { pods, spines, leaves_per_pod, tors_per_pod, hosts_per_tor } = counts;
        let of_pods = |count: u32| u64::from(pods) * u64::from(count);
        limit_hosts(of_pods(tors_per_pod).saturating_mul(u64::from(hosts_per_tor)))?;
        let in_pods = of_pods(tors_per_pod).saturating_add(of_pods(leaves_per_pod));
        limit_switches(in_pods.saturating_add(u64::from(spines)))?;
        let hosts = numbered("h", pods * tors_per_pod * hosts_per_tor);
        let tors = numbered("tor", pods * tors_per_pod);
        let leaves = numbered("leaf", pods * leaves_per_pod);
        let spines = numbered("spine", spines);
        let mut links = Vec::new();
        for (number, host) in hosts.iter().enumerate() {
            let tor = &tors[number / hosts_per_tor as usize];
            links.push(link(host, tor, host_link.0, host_link.1));
        }
        let pods = tors.chunks(tors_per_pod as usize).zip(leaves.chunks(leaves_per_pod as usize));
        for (tors, leaves) in pods {
            for (tor, leaf) in
                tors.iter().flat_map(|tor| leaves.iter().map(move |leaf| (tor, leaf)))
            {
                links.push(link(tor, leaf, leaf_link.0, leaf_link.1));
            }
        }
        for leaf in &leaves {
            for spine in &spines {
                links.push(link(leaf, spine, spine_link.0, spine_link.1));
            }
        }
        Ok(Self { hosts, switches: [tors, leaves, spines].concat(), links })
    }

    /// Takes links out, each named by its two ends in any order; of several links between the two, the last
    /// one, so that the wires of the others keep their names. What is left is numbered as if they had never
    /// been there.
    pub fn fail_links(&mut self, failed: &[[String; 2]]) -> Result<(), FailedLinkError> {
        for (number, [a, b]) in failed.iter().enumerate() {
            for (end, name) in [a, b].into_iter().enumerate() {
                if !self.hosts.contains(name) && !self.switches.contains(name) {
                    return Err(FailedLinkError::UnknownNode { number, end, name: name.clone() });
                }
            }
            if let Some(end) = [a, b].into_iter().position(|name| self.hosts.contains(name)) {
                let name = failed[number][end].clone();
                return Err(FailedLinkError::Host { number, end, name });
            }
            let joins =
                |link: &PlannedLink| (&link.a, &link.b) == (a, b) || (&link.a, &link.b) == (b, a);
            let Some(place) = self.links.iter().rposition(joins) else {
                let (a, b) = (a.clone(), b.clone());
                return Err(FailedLinkError::NoLink { number, a, b });
            };
            self.links.remove(place);
            if let Some(end) = [a, b].into_iter().position(|name| !self.has_links(name)) {
                let name = failed[number][end].clone();
                return Err(FailedLinkError::LastLink { number, name });
            }
        }
        Ok(())
    }

    fn has_links(&self, name: &str) -> bool {
        self.links.iter().any(|link| link.a == name || link.b == name)
    }
}

pub(super) fn limit_hosts(count: u64) -> Result<(), FabricError> {
    if count > MAX_HOSTS as u64 { Err(FabricError::TooManyHosts { count }) } else { Ok(()) }
}

pub(super) fn limit_switches(count: u64) -> Result<(), FabricError> {
    if count > MAX_SWITCHES as u64 { Err(FabricError::TooManySwitches { count }) } else { Ok(()) }
}

fn numbered(prefix: &str, count: u32) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}")).collect()
}

fn link(a: &str, b: &str, rate: BitsPerSecond, delay: Picos) -> PlannedLink {
    PlannedLink { a: a.into(), b: b.into(), rate, delay }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: (BitsPerSecond, Picos) = (BitsPerSecond(100), Picos(0));

    fn pairs(plan: &Plan, from: &str) -> Vec<String> {
        let links = plan.links.iter().filter(|link| link.a == from || link.b == from);
        links.map(|link| format!("{}-{}", link.a, link.b)).collect()
    }

    #[test]
    fn a_fat_tree_is_wired_as_published() {
        let plan = Plan::fat_tree(4, 2, LINK, LINK, LINK).unwrap();
        assert_eq!((plan.hosts.len(), plan.switches.len(), plan.links.len()), (16, 20, 48));
        assert_eq!(pairs(&plan, "edge3"), ["h6-edge3", "h7-edge3", "edge3-agg2", "edge3-agg3"]);
        assert_eq!(pairs(&plan, "agg3"), ["edge2-agg3", "edge3-agg3", "agg3-core2", "agg3-core3"]);
        let pods = ["agg0-core1", "agg2-core1", "agg4-core1", "agg6-core1"];
        assert_eq!(pairs(&plan, "core1"), pods);
        let crowded = Plan::fat_tree(4, 8, LINK, LINK, LINK).unwrap();
        assert_eq!((crowded.hosts.len(), crowded.switches.len()), (64, 20));
    }

    #[test]
    fn pods_are_joined_by_spines_only() {
        let counts =
            PodCounts { pods: 2, spines: 3, leaves_per_pod: 2, tors_per_pod: 4, hosts_per_tor: 2 };
        let plan = Plan::pods(counts, LINK, (BitsPerSecond(4), Picos(2)), LINK).unwrap();
        assert_eq!((plan.hosts.len(), plan.switches.len(), plan.links.len()), (16, 15, 44));
        assert_eq!(pairs(&plan, "tor5"), ["h10-tor5", "h11-tor5", "tor5-leaf2", "tor5-leaf3"]);
        let below = ["tor0-leaf1", "tor1-leaf1", "tor2-leaf1", "tor3-leaf1"];
        let above = ["leaf1-spine0", "leaf1-spine1", "leaf1-spine2"];
        assert_eq!(pairs(&plan, "leaf1"), [&below[..], &above].concat());
        let pods = ["leaf0-spine2", "leaf1-spine2", "leaf2-spine2", "leaf3-spine2"];
        assert_eq!(pairs(&plan, "spine2"), pods);
        let rates: Vec<u64> = plan.links.iter().map(|link| link.rate.0).collect();
        assert_eq!(rates, [vec![100; 16], vec![4; 16], vec![100; 12]].concat());
        let many =
            PodCounts { pods: u32::MAX, tors_per_pod: u32::MAX, hosts_per_tor: u32::MAX, ..counts };
        let error = Plan::pods(many, LINK, LINK, LINK).unwrap_err();
        assert_eq!(error, FabricError::TooManyHosts { count: u64::MAX });
        let many = PodCounts { leaves_per_pod: 600, ..counts };
        let error = Plan::pods(many, LINK, LINK, LINK).unwrap_err();
        assert_eq!(error, FabricError::TooManySwitches { count: 1211 });
    }

    #[test]
    fn a_dumbbell_has_its_hosts_left_and_right() {
        let plan = Plan::dumbbell(2, 1, LINK, (BitsPerSecond(10), Picos(5))).unwrap();
        assert_eq!(pairs(&plan, "s0"), ["h0-s0", "h1-s0", "s0-s1"]);
        assert_eq!(pairs(&plan, "s1"), ["h2-s1", "s0-s1"]);
        assert_eq!(plan.links[3].rate, BitsPerSecond(10));
    }

    #[test]
    fn only_links_that_exist_fail() {
        let plan = Plan::leaf_spine(2, 2, 1, LINK, LINK).unwrap();
        let fail = |links: &[(&str, &str)]| {
            let links: Vec<[String; 2]> =
                links.iter().map(|(a, b)| [(*a).into(), (*b).into()]).collect();
            let mut plan = plan.clone();
            plan.fail_links(&links).map(|()| plan.links.len())
        };
        let (zero, leaf) = ("spine0".to_owned(), "leaf0".to_owned());
        assert_eq!(fail(&[("spine0", "leaf1")]), Ok(5));
        assert_eq!(
            fail(&[("spine0", "leaf1"), ("leaf1", "spine0")]),
            Err(FailedLinkError::NoLink { number: 1, a: "leaf1".into(), b: zero.clone() })
        );
        assert_eq!(
            fail(&[("spine0", "leaf1"), ("spine0", "leaf0")]),
            Err(FailedLinkError::LastLink { number: 1, name: zero })
        );
        assert_eq!(
            fail(&[("leaf0", "h0")]),
            Err(FailedLinkError::Host { number: 0, end: 1, name: "h0".into() })
        );
        assert_eq!(
            fail(&[("leaf0", "leaf9")]),
            Err(FailedLinkError::UnknownNode { number: 0, end: 1, name: "leaf9".into() })
        );
        assert_eq!(
            fail(&[("leaf0", "leaf1")]),
            Err(FailedLinkError::NoLink { number: 0, a: leaf, b: "leaf1".into() })
        );
    }
}
