//! Rows of the routing tables `ROUTES`, `NEXT_HOPS` and `POLICY_ROUTES`.

/// The ports towards one host. Eight bytes, so that the routes of a large fabric stay in a cache.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct Route {
    /// Number of ports in the ECMP group; 0 means no route.
    pub members: u32,
    /// The port, if `members` is 1; otherwise the index of the group's first member in `NEXT_HOPS`.
    pub first: u32,
}

/// Flag: some flows have policy routes. Their keys contain ports and protocol.
pub const POLICY_FLOWS: u8 = 1;

/// Flag: some pairs of hosts have policy routes. Their keys contain neither ports nor protocol.
pub const POLICY_PAIRS: u8 = 2;

/// The five-tuple of a flow's packets, in host order. In the key of a pair of hosts, ports and protocol are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, zerocopy::FromBytes)]
pub struct FlowKey {
    /// Source address.
    pub source: u32,
    /// Destination address; 0 in a row without a route.
    pub destination: u32,
    /// Source and destination port as one word.
    pub ports: u32,
    /// Protocol.
    pub protocol: u32,
}

/// A route that overrides the route to its destination.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct PolicyRoute {
    /// The flow or the pair of hosts.
    pub key: FlowKey,
    /// The route.
    pub route: Route,
}

/// One member of an ECMP group.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct NextHop {
    /// The port.
    pub port: u64,
}
