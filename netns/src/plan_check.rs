//! Checks of a plan that need no kernel.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::fabric::FabricId;
use crate::plan::{EndSpec, FIRST_INDEX, Plan, RouteSpec, StackSpec};

/// Maximum length of an interface name in the kernel: `IFNAMSIZ` less the terminating zero.
const INTERFACE_NAME_MAX: usize = 15;
/// Maximum length of a node name: a file name in `/run/netns` has at most 255 bytes, including the
/// fabric's prefix.
const NODE_NAME_MAX: usize = 255 - FabricId::PREFIX_LEN;
/// Names that an interface cannot have: the loopback, and two directories under `net/ipv4/conf`.
const RESERVED_INTERFACES: [&str; 3] = ["lo", "all", "default"];
/// Smallest and largest MTU of a veth interface or tap device: `ETH_MIN_MTU` and `ETH_MAX_MTU`.
const MTU_MIN: u32 = 68;
const MTU_MAX: u32 = 65535;

/// Reason why a plan cannot be deployed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A node's name is empty or has a character that is unsafe in a file name or a shell.
    #[error(
        "namespace {name:?}: a node's name consists of letters, digits, `-`, `_` and `.`, and does \
         not start with `.` or `-`; rename the node"
    )]
    NodeName {
        /// Name of the node.
        name: String,
    },
    /// A node's name does not fit into `/run/netns` behind the fabric's prefix.
    #[error(
        "namespace {name:?}: the name has {len} bytes, at most {NODE_NAME_MAX} fit; shorten it"
    )]
    NodeNameLength {
        /// Name of the node.
        name: String,
        /// Length of the name in bytes.
        len: usize,
    },
    /// Two nodes have equal names.
    #[error("namespace {name:?} is planned twice; give each node a name of its own")]
    DuplicateNode {
        /// Name of the node.
        name: String,
    },
    /// The interface of a stack has no index.
    #[error("interface {interface:?}: an interface of a stack needs an index; choose one")]
    NoIndex {
        /// Name of the interface.
        interface: String,
    },
    /// An interface names a namespace that the plan does not have.
    #[error(
        "interface {interface:?}: it lies in namespace number {namespace}, but the plan has {namespaces}, \
         counted from 0"
    )]
    NamespaceOutOfRange {
        /// Name of the interface.
        interface: String,
        /// Given position.
        namespace: usize,
        /// Number of namespaces in the plan.
        namespaces: usize,
    },
    /// The kernel refuses the interface name.
    #[error(
        "interface {interface:?} in namespace {namespace:?}: a name has 1 to {INTERFACE_NAME_MAX} \
         printable ASCII characters without `/`, `:` and `%`, and is not `lo`, `all`, \
         `default`, `.` or `..`; rename the interface"
    )]
    InterfaceName {
        /// Name of the node.
        namespace: String,
        /// Name of the interface.
        interface: String,
    },
    /// Two interfaces of one namespace have equal names.
    #[error("interface {interface:?} is planned twice in namespace {namespace:?}; rename one")]
    DuplicateInterface {
        /// Name of the node.
        namespace: String,
        /// Name of the interface.
        interface: String,
    },
    /// An interface index is below 2 or above the kernel's maximum.
    #[error(
        "interface {interface:?} in namespace {namespace:?}: index {index} is not in 2 to \
         2147483647 (1 is the loopback); choose another or none"
    )]
    IndexOutOfRange {
        /// Name of the node.
        namespace: String,
        /// Name of the interface.
        interface: String,
        /// Given index.
        index: u32,
    },
    /// Two interfaces of one namespace have equal indexes.
    #[error(
        "interface {interface:?} in namespace {namespace:?}: index {index} is taken by another \
         interface of the plan; choose another or none"
    )]
    DuplicateIndex {
        /// Name of the node.
        namespace: String,
        /// Name of the interface.
        interface: String,
        /// Given index.
        index: u32,
    },
    /// A MAC address is zero or a group address.
    #[error(
        "interface {interface:?} in namespace {namespace:?}: {mac:02x?} is not a station's address; \
         use one that is not zero and whose first byte is even, such as 02:00:00:00:00:01"
    )]
    InvalidMacAddress {
        /// Name of the node.
        namespace: String,
        /// Name of the interface.
        interface: String,
        /// Given address.
        mac: [u8; 6],
    },
    /// No link supports the MTU.
    #[error(
        "interface {interface:?} in namespace {namespace:?}: MTU {mtu} is not in {MTU_MIN} to \
         {MTU_MAX}"
    )]
    Mtu {
        /// Name of the node.
        namespace: String,
        /// Name of the interface.
        interface: String,
        /// Given MTU in bytes.
        mtu: u32,
    },
    /// A prefix length is above 32, or a route has bits set behind its prefix.
    #[error(
        "interface {interface:?} in namespace {namespace:?}: {address}/{prefix_len} is not an \
         IPv4 network; write a prefix of at most 32 bits, and zeros behind it in a route's destination"
    )]
    Prefix {
        /// Name of the node.
        namespace: String,
        /// Name of the interface.
        interface: String,
        /// Given address.
        address: Ipv4Addr,
        /// Given prefix length.
        prefix_len: u8,
    },
}

impl Plan {
    /// Checks the plan without creating anything.
    pub fn check(&self) -> Result<(), PlanError> {
        let mut nodes = BTreeSet::new();
        for namespace in &self.namespaces {
            check_node_name(&namespace.name)?;
            if !nodes.insert(namespace.name.as_str()) {
                return Err(PlanError::DuplicateNode { name: namespace.name.clone() });
            }
        }
        let mut interfaces = BTreeSet::new();
        let mut indexes = BTreeSet::new();
        let of_links = self.links.iter().flat_map(|link| link.ends().map(|end| (end, link.mtu)));
        let of_stacks = self.stacks.iter().map(|stack| (&stack.end, stack.mtu));
        for (end, mtu) in of_links.chain(of_stacks) {
            let Some(namespace) = self.namespaces.get(end.namespace) else {
                return Err(PlanError::NamespaceOutOfRange {
                    interface: end.interface.clone(),
                    namespace: end.namespace,
                    namespaces: self.namespaces.len(),
                });
            };
            let (namespace, interface) = (namespace.name.clone(), end.interface.clone());
            check_end(end, &namespace)?;
            if !(MTU_MIN..=MTU_MAX).contains(&mtu) {
                return Err(PlanError::Mtu { namespace, interface, mtu });
            }
            if !interfaces.insert((end.namespace, end.interface.as_str())) {
                return Err(PlanError::DuplicateInterface { namespace, interface });
            }
            if let Some(index) = end.index
                && !indexes.insert((end.namespace, index))
            {
                return Err(PlanError::DuplicateIndex { namespace, interface, index });
            }
        }
        if let Some(StackSpec { end, .. }) =
            self.stacks.iter().find(|stack| stack.end.index.is_none())
        {
            return Err(PlanError::NoIndex { interface: end.interface.clone() });
        }
        Ok(())
    }
}

fn check_node_name(name: &str) -> Result<(), PlanError> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.starts_with(['.', '-']) || !name.bytes().all(good) {
        return Err(PlanError::NodeName { name: name.to_owned() });
    }
    if name.len() > NODE_NAME_MAX {
        return Err(PlanError::NodeNameLength { name: name.to_owned(), len: name.len() });
    }
    Ok(())
}

fn check_end(end: &EndSpec, namespace: &str) -> Result<(), PlanError> {
    let (namespace, interface) = (namespace.to_owned(), end.interface.clone());
    if !is_interface_name(&end.interface) {
        return Err(PlanError::InterfaceName { namespace, interface });
    }
    if let Some(index) = end.index
        && !(FIRST_INDEX..=i32::MAX as u32).contains(&index)
    {
        return Err(PlanError::IndexOutOfRange { namespace, interface, index });
    }
    if end.mac[0] & 1 != 0 || end.mac == [0; 6] {
        return Err(PlanError::InvalidMacAddress { namespace, interface, mac: end.mac });
    }
    if let Some((address, prefix_len)) = end.address
        && prefix_len > 32
    {
        return Err(PlanError::Prefix { namespace, interface, address, prefix_len });
    }
    for &RouteSpec { destination: address, prefix_len, .. } in &end.routes {
        let host_bits = u32::MAX.checked_shr(prefix_len.into()).unwrap_or(0);
        if prefix_len > 32 || address.to_bits() & host_bits != 0 {
            return Err(PlanError::Prefix { namespace, interface, address, prefix_len });
        }
    }
    Ok(())
}

fn is_interface_name(name: &str) -> bool {
    (1..=INTERFACE_NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"/:%".contains(&byte))
        && !matches!(name, "." | "..")
        && !RESERVED_INTERFACES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{LinkSpec, NamespaceSpec};

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

    fn error(change: impl FnOnce(&mut Plan)) -> PlanError {
        let mut plan = plan();
        change(&mut plan);
        plan.check().expect_err("the plan is wrong")
    }

    #[test]
    fn good_plans_pass() {
        assert_eq!(plan().check(), Ok(()));
        let mut longest = plan();
        longest.namespaces[0].name = "n".repeat(NODE_NAME_MAX);
        longest.links[0].a.interface = "i".repeat(INTERFACE_NAME_MAX);
        longest.links[0].b.routes =
            vec![RouteSpec { destination: Ipv4Addr::UNSPECIFIED, prefix_len: 0, gateway: None }];
        assert_eq!(longest.check(), Ok(()));
    }

    #[test]
    fn node_names() {
        for name in ["", ".", "..", ".x", "-x", "a/b", "a b", "é", "a\n"] {
            let found = error(|plan| plan.namespaces[0].name = name.to_owned());
            assert_eq!(found, PlanError::NodeName { name: name.to_owned() });
        }
        let found = error(|plan| plan.namespaces[0].name = "n".repeat(NODE_NAME_MAX + 1));
        assert!(matches!(found, PlanError::NodeNameLength { len, .. } if len == NODE_NAME_MAX + 1));
        let found = error(|plan| plan.namespaces[1].name = "leaf0".to_owned());
        assert_eq!(found, PlanError::DuplicateNode { name: "leaf0".to_owned() });
    }

    #[test]
    fn interface_names() {
        for name in ["", ".", "..", "lo", "all", "a/b", "a:1", "v%d", "a b", "sixteen-letters-"] {
            let found = error(|plan| plan.links[0].a.interface = name.to_owned());
            assert!(matches!(found, PlanError::InterfaceName { .. }), "{name:?}: {found}");
        }
        let found = error(|plan| plan.links[0].b = end(0, "p0"));
        assert!(matches!(found, PlanError::DuplicateInterface { .. }));
    }

    #[test]
    fn numbers() {
        assert!(matches!(
            error(|plan| plan.links[0].b.namespace = 2),
            PlanError::NamespaceOutOfRange { namespace: 2, namespaces: 2, .. }
        ));
        for index in [0, 1, 1 << 31] {
            let found = error(|plan| plan.links[0].a.index = Some(index));
            assert!(matches!(found, PlanError::IndexOutOfRange { .. }), "{found}");
        }
        let twice = error(|plan| {
            plan.links[0].a.index = Some(5);
            plan.links[0].b = EndSpec { index: Some(5), ..end(0, "p1") };
        });
        assert!(matches!(twice, PlanError::DuplicateIndex { index: 5, .. }));
        assert!(matches!(error(|plan| plan.links[0].mtu = 67), PlanError::Mtu { mtu: 67, .. }));
    }

    #[test]
    fn addresses() {
        for mac in [[0; 6], [1, 0, 0, 0, 0, 0], [0xff; 6]] {
            let found = error(|plan| plan.links[0].a.mac = mac);
            assert!(matches!(found, PlanError::InvalidMacAddress { .. }), "{found}");
        }
        let found = error(|plan| plan.links[0].a.address = Some((Ipv4Addr::LOCALHOST, 33)));
        assert!(matches!(found, PlanError::Prefix { prefix_len: 33, .. }));
        for (destination, prefix_len) in
            [([10, 0, 0, 1], 8), ([10, 0, 0, 0], 33), ([0, 0, 0, 1], 0)]
        {
            let destination = Ipv4Addr::from(destination);
            let route = RouteSpec { destination, prefix_len, gateway: None };
            let found = error(|plan| plan.links[0].a.routes.push(route));
            assert!(matches!(found, PlanError::Prefix { .. }), "{found}");
        }
    }

    #[test]
    fn messages_say_where_and_what_to_do() {
        let message = error(|plan| plan.links[0].a.interface = "a/b".to_owned()).to_string();
        assert!(message.contains("\"leaf0\"") && message.contains("rename"), "{message}");
    }
}
