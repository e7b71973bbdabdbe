//! Description of a fabric as plain values.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// First index of interfaces; index 1 is every namespace's loopback.
pub(crate) const FIRST_INDEX: u32 = 2;

/// Description of everything that [`crate::deploy`] creates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Namespaces; links and [`crate::Deployment::namespace`] refer to them by position.
    pub namespaces: Vec<NamespaceSpec>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// Kind of all links.
    pub link_kind: LinkKind,
    /// Interfaces for programs that run in the namespaces.
    pub stacks: Vec<StackSpec>,
}

/// Kind of links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkKind {
    /// A veth pair: each end receives the frames that the other end sends.
    #[default]
    Veth,
    /// Two tap devices. They receive frames that the owner of the deployment passes to [`crate::Tap::deliver`]; frames
    /// sent on them are discarded.
    Tap,
}

/// One network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceSpec {
    /// The node's name, such as `leaf0`: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// True if the kernel forwards IPv4 between this namespace's interfaces. False for a switch with an eBPF datapath,
    /// so that no packet bypasses it.
    pub forwarding: bool,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSpec {
    /// One end.
    pub a: EndSpec,
    /// The other end; it may lie in the same namespace.
    pub b: EndSpec,
    /// MTU of both ends in bytes, 68 to 65535. Native XDP on veth without multi-buffer support
    /// takes no more than about 3500.
    pub mtu: u32,
}

impl LinkSpec {
    /// Returns both ends, `a` first.
    pub fn ends(&self) -> [&EndSpec; 2] {
        [&self.a, &self.b]
    }
}

/// An interface between a namespace's network stack and the owner of the deployment: a tap device. The owner reads
/// frames that programs in the namespace send with [`crate::Tap::receive`], and sends frames to the programs with
/// [`crate::Tap::deliver`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackSpec {
    /// The interface; it needs an index.
    pub end: EndSpec,
    /// MTU in bytes, 68 to 65535.
    pub mtu: u32,
}

/// One end of a link, or an interface of a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndSpec {
    /// Position of the namespace in [`Plan::namespaces`].
    pub namespace: usize,
    /// Interface name: 1 to 15 printable ASCII characters without `/`, `:` and `%`.
    pub interface: String,
    /// Interface index (ifindex), at least 2; `None`: the lowest that is free in the namespace.
    pub index: Option<u32>,
    /// MAC address: unicast, not zero.
    pub mac: [u8; 6],
    /// IPv4 address and prefix length.
    pub address: Option<(Ipv4Addr, u8)>,
    /// Permanent neighbours. Ends do no ARP, so every next hop must be listed.
    pub neighbours: Vec<(Ipv4Addr, [u8; 6])>,
    /// Routes that leave through this end.
    pub routes: Vec<RouteSpec>,
}

/// One route of the main table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteSpec {
    /// Destination network, its host bits zero.
    pub destination: Ipv4Addr,
    /// Prefix length of the destination, 0 to 32.
    pub prefix_len: u8,
    /// Next hop, which counts as on the link whatever the end's address. `None`: the destinations themselves are on the
    /// link.
    pub gateway: Option<Ipv4Addr>,
}

impl Plan {
    /// Returns the indexes of both ends of every link. An end without an index gets the lowest that is free in the
    /// namespace, in the plan's order.
    pub(crate) fn interface_indexes(&self) -> Vec<[u32; 2]> {
        let ends = || self.links.iter().flat_map(LinkSpec::ends);
        let chosen: BTreeSet<(usize, u32)> =
            ends().filter_map(|end| Some((end.namespace, end.index?))).collect();
        let mut next = vec![FIRST_INDEX; self.namespaces.len()];
        let mut index_of = |end: &EndSpec| {
            end.index.unwrap_or_else(|| {
                let candidate = &mut next[end.namespace];
                while chosen.contains(&(end.namespace, *candidate)) {
                    *candidate += 1;
                }
                *candidate += 1;
                *candidate - 1
            })
        };
        self.links.iter().map(|link| link.ends().map(&mut index_of)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(namespace: usize, interface: &str) -> EndSpec {
        EndSpec {
            namespace,
            interface: interface.to_owned(),
            mac: [2, 0, 0, 0, 0, 1],
            ..EndSpec::default()
        }
    }

    fn plan() -> Plan {
        let node = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
        Plan {
            namespaces: vec![node("leaf0"), node("host0")],
            links: vec![LinkSpec { a: end(0, "p0"), b: end(1, "eth0"), mtu: 1500 }],
            ..Plan::default()
        }
    }

    #[test]
    fn open_indexes_take_the_lowest_that_is_free() {
        let mut plan = plan();
        let chosen = EndSpec { index: Some(3), ..end(0, "p3") };
        plan.links.push(LinkSpec { a: end(0, "p1"), b: chosen, mtu: 1500 });
        plan.links.push(LinkSpec { a: end(0, "p2"), b: end(1, "eth1"), mtu: 1500 });
        assert_eq!(plan.interface_indexes(), [[2, 2], [4, 3], [5, 3]]);
    }
}
