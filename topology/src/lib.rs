//! The fabric as a graph: nodes, ports, links, wires and routes, numbered once and for all.
//!
//! Everything here is an integer or a name, and every number follows from the order in which a
//! [`Plan`] lists things, so that two runs of one scenario number their fabrics alike. This crate does not depend on
//! scenarios, flows or frames: other crates decide who sends what over a fabric, and when.

#![forbid(unsafe_code)]

mod backpressure;
mod cycle;
mod dependencies;
mod error;
mod fabric;
mod plan;
mod racks;
mod reach;
mod routing;
mod spread;
mod static_routes;
mod up_down;

pub use backpressure::{BackpressureGraph, Turn};
pub use cycle::shortest_cycle;
pub use dependencies::{Cycle, cycles};
pub use error::{FabricError, FailedLinkError, LinkEnd};
pub use fabric::{Fabric, Hop, Node, NodeKind, Peer, Wire, WireEnds, port_name, wire_name};
pub use plan::{Plan, PlannedLink, PodCounts};
pub use racks::Racks;
pub use reach::Reach;
pub use routing::Routes;
pub use spread::{SHARE_UNIT, Spread};
pub use static_routes::{FlowClass, RouteFault, RouteFaultKind, RouteMatch, StaticRoutes, Traffic};
pub use up_down::UpDown;

/// Max number of ports of a switch.
///
/// One byte of a port's MAC address numbers the port. A 51.2 Tbit/s chip has 64 ports of 800 Gbit/s, or 256 of 200
/// Gbit/s.
pub const MAX_PORTS: usize = 256;
/// Hosts a fabric may have: each is a network namespace, and 4096 of them are made in some ten
/// seconds.
pub const MAX_HOSTS: usize = 4096;
/// Switches a fabric may have: each is a namespace and a loaded program.
pub const MAX_SWITCHES: usize = 1024;
/// Longest node name: it becomes part of interface names, which Linux ends at 15 characters
/// (`IFNAMSIZ`).
pub const MAX_NAME_LENGTH: usize = 15;

/// A host's number, from 0, in the order of the plan; it gives the host its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A switch's number, from 0, in the order of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchId(pub u32);

/// A node's number: hosts first, then switches, each in the order of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A wire's number: link `n` is the wires `2n` (from its end `a` to `b`) and `2n + 1` (back).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireId(pub u32);

/// An index of nodes or wires, or how many there are.
///
/// # Panics
/// For 2^32 and more, which no fabric has.
pub fn in_32_bits(number: usize) -> u32 {
    number.try_into().expect("a fabric has fewer than 2^32 nodes and wires")
}

impl HostId {
    /// The host of an index.
    pub fn at(index: usize) -> Self {
        Self(in_32_bits(index))
    }
}

impl NodeId {
    /// The node of an index.
    pub fn at(index: usize) -> Self {
        Self(in_32_bits(index))
    }
}

impl WireId {
    /// The wire of an index.
    pub fn at(index: usize) -> Self {
        Self(in_32_bits(index))
    }

    /// The other direction of the same link.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}
