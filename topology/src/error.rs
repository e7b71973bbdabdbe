//! Errors in a topology plan.

use super::{HostId, MAX_HOSTS, MAX_NAME_LENGTH, MAX_PORTS, MAX_SWITCHES, NodeKind, SwitchId};

/// An end of a planned link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// [`super::PlannedLink::a`].
    A,
    /// [`super::PlannedLink::b`].
    B,
}

/// An error in a plan; numbers count from 0 in the plan's lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricError {
    /// The name cannot be an interface's.
    #[error("`{name}` cannot name a node: {reason}")]
    Name {
        /// Host or switch, by its number.
        node: NodeKind,
        /// The name as given.
        name: String,
        /// The rule that the name breaks.
        reason: &'static str,
    },
    /// Two nodes have one name.
    #[error("two nodes are called `{name}`")]
    DuplicateName {
        /// The later of the two.
        node: NodeKind,
        /// The name.
        name: String,
    },
    /// A link ends at a node that is not in the plan.
    #[error("no node is called `{name}`")]
    UnknownNode {
        /// The link's number.
        link: usize,
        /// The end with the unknown name.
        end: LinkEnd,
        /// The name as given.
        name: String,
    },
    /// A link has both ends at one node.
    #[error("a link from `{name}` to itself")]
    SelfLink {
        /// The link's number.
        link: usize,
        /// The node.
        name: String,
    },
    /// A link beside others of its two nodes would give an interface a name that is too long.
    #[error(
        "an interface of link {number} between `{a}` and `{b}` would be called `{interface}`; the limit is \
         {MAX_NAME_LENGTH} characters"
    )]
    InterfaceName {
        /// The link's number.
        link: usize,
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// Its number among the links of the two, from 1.
        number: u32,
        /// The name.
        interface: String,
    },
    /// A link joins two hosts.
    #[error("a link between two hosts, `{a}` and `{b}`")]
    HostToHost {
        /// The link's number.
        link: usize,
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// A host has no link, or more than one.
    #[error("host `{name}` has {links} links; a host has exactly one port")]
    HostPorts {
        /// The host.
        host: HostId,
        /// Its name.
        name: String,
        /// Number of links that end at the host.
        links: usize,
    },
    /// A switch has no link.
    #[error("switch `{name}` has no link")]
    IdleSwitch {
        /// The switch.
        switch: SwitchId,
        /// Its name.
        name: String,
    },
    /// A switch has more than [`MAX_PORTS`] links.
    #[error("switch `{name}` has {links} ports; the limit is {MAX_PORTS}")]
    TooManyPorts {
        /// The switch.
        switch: SwitchId,
        /// Its name.
        name: String,
        /// Number of links that end at the switch.
        links: usize,
    },
    /// The plan has more than [`super::MAX_HOSTS`] hosts.
    #[error("{count} hosts; the limit is {MAX_HOSTS}")]
    TooManyHosts {
        /// Number of hosts in the plan.
        count: u64,
    },
    /// The plan has more than [`super::MAX_SWITCHES`] switches.
    #[error("{count} switches; the limit is {MAX_SWITCHES}")]
    TooManySwitches {
        /// Number of switches in the plan.
        count: u64,
    },
}

/// Reason why a link cannot be removed from a plan. Numbers count from 0 in the list of failed links.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailedLinkError {
    /// An end is not in the plan.
    #[error("no node is called `{name}`")]
    UnknownNode {
        /// The failed link's number.
        number: usize,
        /// 0 or 1, which of its ends.
        end: usize,
        /// The name as given.
        name: String,
    },
    /// An end is a host.
    #[error("`{name}` is a host, and its only link cannot fail")]
    Host {
        /// The failed link's number.
        number: usize,
        /// 0 or 1, which of its ends.
        end: usize,
        /// The host.
        name: String,
    },
    /// The two ends are not joined, or their link has failed already.
    #[error("no link joins `{a}` and `{b}`")]
    NoLink {
        /// The failed link's number.
        number: usize,
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// A switch would be left without any link.
    #[error("no link of switch `{name}` is left")]
    LastLink {
        /// The failed link's number.
        number: usize,
        /// The switch.
        name: String,
    },
}
