//! Errors of a fabric, at the keys that caused them.

use std::collections::BTreeSet;

use topology::{
    FabricError, FailedLinkError, HostId, LinkEnd, MAX_HOSTS, MAX_NAME_LENGTH, MAX_PORTS,
    MAX_SWITCHES, NodeKind, Plan, SwitchId,
};

use super::Shape;
use crate::document::{Document, suggestion};
use crate::report::{ScenarioError, listed};

impl Shape {
    /// Returns an error at the key that caused it, with advice.
    pub(super) fn explain(&self, error: &FabricError, document: &Document<'_>) -> ScenarioError {
        let (path, help) = match error {
            FabricError::Name { node, .. } => (
                node_path(*node),
                format!(
                    "write 1 to {MAX_NAME_LENGTH} letters, digits, `-`, `_` or `.`, a letter first"
                ),
            ),
            FabricError::DuplicateName { node, .. } => {
                (node_path(*node), "hosts and switches share one set of names".into())
            }
            FabricError::UnknownNode { link, end, name } => {
                let end = if *end == LinkEnd::A { "a" } else { "b" };
                let help = suggestion(name, "the nodes are", self.node_names());
                (format!("links.{link}.{end}"), help)
            }
            FabricError::SelfLink { link, .. } => {
                (format!("links.{link}.b"), "write the name of another node".into())
            }
            FabricError::InterfaceName { link, .. } => (
                format!("links.{link}"),
                "give the node a shorter name: `#` and the link's number follow it".into(),
            ),
            FabricError::HostToHost { link, .. } => {
                (format!("links.{link}"), "put a switch between them".into())
            }
            FabricError::HostPorts { host: HostId(host), .. } => {
                (format!("hosts.{host}"), "give it one link, to a switch".into())
            }
            FabricError::IdleSwitch { switch: SwitchId(switch), .. } => {
                (format!("switches.{switch}"), "give it a link, or leave it out".into())
            }
            FabricError::TooManyPorts { switch, .. } => (
                self.port_count_path(*switch),
                format!("give it {MAX_PORTS} at most, or use more switches"),
            ),
            FabricError::TooManyHosts { .. } => {
                (self.keys().hosts.into(), format!("write a fabric of {MAX_HOSTS} hosts at most"))
            }
            FabricError::TooManySwitches { .. } => {
                let help = format!("write a fabric of {MAX_SWITCHES} switches at most");
                (self.keys().switches.into(), help)
            }
        };
        document.error(&format!("topology.{path}"), &error.to_string(), &help)
    }

    fn node_names(&self) -> impl Iterator<Item = &str> + Clone {
        let lists: [&[String]; 2] = match self {
            Self::Custom { switches, hosts, .. } => [hosts, switches],
            _ => [&[], &[]],
        };
        lists.into_iter().flatten().map(String::as_str)
    }

    /// Returns the key that decides a switch's number of ports.
    fn port_count_path(&self, switch: SwitchId) -> String {
        match self {
            Self::Star { .. } => "hosts".into(),
            Self::Dumbbell { .. } => if switch.0 == 0 { "left" } else { "right" }.into(),
            Self::LeafSpine { leaves, .. } if switch.0 < *leaves => "hosts_per_leaf".into(),
            Self::LeafSpine { .. } => "leaves".into(),
            Self::FatTree { k, .. } if switch.0 < k * k / 2 => "oversubscription".into(),
            Self::FatTree { .. } => "k".into(),
            Self::Pods { pods, spines, leaves_per_pod, tors_per_pod, .. } => {
                let (tors, leaves) = (pods * tors_per_pod, pods * leaves_per_pod);
                match switch.0 {
                    tor if tor < tors => "hosts_per_tor".into(),
                    leaf if leaf < tors + leaves && spines > tors_per_pod => "spines".into(),
                    leaf if leaf < tors + leaves => "tors_per_pod".into(),
                    _ => "pods".into(),
                }
            }
            Self::Custom { .. } => format!("switches.{}", switch.0),
        }
    }

    /// Returns the keys that decide the number of nodes; of several, the key with the largest value.
    fn keys(&self) -> CountPaths {
        let largest = |keys: &[(&'static str, u32)]| {
            keys.iter().max_by_key(|(_, count)| *count).expect("each shape has keys").0
        };
        match self {
            Self::Star { .. } | Self::Custom { .. } => {
                CountPaths { hosts: "hosts", switches: "switches" }
            }
            Self::Dumbbell { left, right, .. } => CountPaths {
                hosts: largest(&[("right", *right), ("left", *left)]),
                switches: "kind",
            },
            Self::LeafSpine { leaves, spines, hosts_per_leaf, .. } => CountPaths {
                hosts: largest(&[("leaves", *leaves), ("hosts_per_leaf", *hosts_per_leaf)]),
                switches: largest(&[("spines", *spines), ("leaves", *leaves)]),
            },
            Self::FatTree { .. } => CountPaths { hosts: "k", switches: "k" },
            Self::Pods { pods, spines, leaves_per_pod, tors_per_pod, hosts_per_tor, .. } => {
                let (pods, tors) = (("pods", *pods), ("tors_per_pod", *tors_per_pod));
                let leaves = ("leaves_per_pod", *leaves_per_pod);
                let hosts = ("hosts_per_tor", *hosts_per_tor);
                CountPaths {
                    hosts: largest(&[pods, tors, hosts]),
                    switches: largest(&[("spines", *spines), leaves, tors, pods]),
                }
            }
        }
    }
}

/// Keys that decide the numbers of hosts and switches.
struct CountPaths {
    hosts: &'static str,
    switches: &'static str,
}

fn node_path(node: NodeKind) -> String {
    match node {
        NodeKind::Host(host) => format!("hosts.{}", host.0),
        NodeKind::Switch(switch) => format!("switches.{}", switch.0),
    }
}

/// Returns an error at a failed link, with advice.
pub(super) fn explain_failed(
    error: &FailedLinkError,
    plan: &Plan,
    document: &Document<'_>,
) -> ScenarioError {
    let (path, help) = match error {
        FailedLinkError::UnknownNode { number, end, name } => {
            let names = plan.switches.iter().map(String::as_str);
            (format!("{number}.{end}"), suggestion(name, "the switches are", names))
        }
        FailedLinkError::Host { number, end, .. } => {
            (format!("{number}.{end}"), "name a link between two switches".into())
        }
        FailedLinkError::NoLink { number, a, .. } => {
            let ends = plan.links.iter().filter_map(|link| match (&link.a, &link.b) {
                (here, there) if here == a => Some(there),
                (there, here) if here == a => Some(there),
                _ => None,
            });
            let ends = ends.filter(|name| plan.switches.contains(name)).map(String::as_str);
            let mut seen = BTreeSet::new();
            let list = listed(ends.filter(|&name| seen.insert(name)).collect::<Vec<_>>());
            (number.to_string(), format!("what is left of `{a}`'s links leads to {list}"))
        }
        FailedLinkError::LastLink { number, .. } => {
            (number.to_string(), "leave it a link; a fabric without it has another shape".into())
        }
    };
    document.error(&format!("topology.failed_links.{path}"), &error.to_string(), &help)
}
