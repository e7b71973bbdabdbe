//! Where packets go: rows of `ROUTES`, `NEXT_HOPS` and `POLICY_ROUTES`.

/// The ports towards one host. A word, so that the routes of a large fabric stay in a cache.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct Route {
    /// Ports in the ECMP group; 0 means no route.
    pub members: u32,
    /// The port itself if there is one; of a larger group, where its members begin in `NEXT_HOPS`.
    pub first: u32,
}

/// Some flows have routes of their own: their keys have ports and a protocol.
pub const POLICY_FLOWS: u8 = 1;

/// Some pairs of hosts have: their keys have neither.
pub const POLICY_PAIRS: u8 = 2;

/// The five-tuple of a flow's packets, in host order. A pair of hosts has ports and protocol 0.
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

/// A route that goes before that of its destination.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct PolicyRoute {
    /// Whose.
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
