//! `[topology]`: generated or listed; it becomes a [`Fabric`].

use fabric_core::units::{BitsPerSecond, Picos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::{Document, suggestion};
use super::quantity::{self, Rate, Time};
use super::report::ScenarioError;
use crate::topology::{
    Fabric, FabricError, HostId, LinkEnd, MAX_HOSTS, MAX_NAME_LENGTH, MAX_PORTS, MAX_SWITCHES,
    NodeKind, Plan, PlannedLink, SwitchId,
};

/// The shape of the fabric, as the file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Topology {
    /// Hosts `h0..` on one switch `s0`.
    Star {
        /// How many hosts.
        hosts: u32,
        /// Every link.
        host_link: LinkSpeed,
    },
    /// Leaves `leaf0..`, each with hosts and with a link to each of the spines `spine0..`.
    LeafSpine {
        /// How many leaves.
        leaves: u32,
        /// How many spines.
        spines: u32,
        /// How many hosts on each leaf; host `n` is on leaf `n / hosts_per_leaf`.
        hosts_per_leaf: u32,
        /// Between host and leaf.
        host_link: LinkSpeed,
        /// Between leaf and spine.
        fabric_link: LinkSpeed,
    },
    /// Nodes and links one by one.
    Custom {
        /// Switch names.
        switches: Vec<String>,
        /// Host names.
        hosts: Vec<String>,
        /// Links; a node's ports are numbered in this order.
        links: Vec<Link>,
    },
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkSpeed {
    /// In each direction.
    #[serde(serialize_with = "quantity::serialize")]
    pub rate: BitsPerSecond,
    /// Propagation delay.
    #[serde(serialize_with = "quantity::serialize")]
    pub delay: Picos,
}

/// A link between two named nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate and delay.
    #[serde(flatten)]
    pub speed: LinkSpeed,
}

/// The shape of the fabric.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum TopologyKeys {
    /// Hosts `h0..` on the ports of one switch, `s0`.
    Star {
        /// How many hosts, 1 to 64.
        #[schemars(range(min = 1, max = 64))]
        hosts: u32,
        /// Every link.
        host_link: LinkSpeedKeys,
    },
    /// Leaves `leaf0..`, each with hosts and with a link to each of the spines `spine0..`. Host
    /// `h0` is the first one on `leaf0`; a leaf's hosts and spines together are at most 64.
    LeafSpine {
        /// How many leaves, 1 to 64.
        #[schemars(range(min = 1, max = 64))]
        leaves: u32,
        /// How many spines, from 1 up.
        #[schemars(range(min = 1, max = 63))]
        spines: u32,
        /// How many hosts on each leaf, from 1 up.
        #[schemars(range(min = 1, max = 63))]
        hosts_per_leaf: u32,
        /// Between host and leaf.
        host_link: LinkSpeedKeys,
        /// Between leaf and spine.
        fabric_link: LinkSpeedKeys,
    },
    /// Nodes and links one by one. Names are unique, have 1 to 15 characters (letters, digits, `-`,
    /// `_`, `.`) and start with a letter.
    Custom {
        /// Switch names, up to 1024.
        switches: Vec<String>,
        /// Host names, up to 4096. Each host has exactly one link, to a switch.
        hosts: Vec<String>,
        /// Links. A node's ports are numbered in the order of its links; a switch has up to 64.
        links: Vec<LinkKeys>,
    },
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkSpeedKeys {
    /// In each direction, above zero.
    rate: Rate,
    /// Propagation delay.
    delay: Time,
}

/// A link between two nodes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkKeys {
    /// The node at one end.
    a: String,
    /// The node at the other end.
    b: String,
    /// In each direction, above zero.
    rate: Rate,
    /// Propagation delay.
    delay: Time,
}

impl From<LinkSpeedKeys> for LinkSpeed {
    fn from(keys: LinkSpeedKeys) -> Self {
        Self { rate: keys.rate.0, delay: keys.delay.0 }
    }
}

impl TopologyKeys {
    /// The topology and the fabric that it describes.
    pub(super) fn resolve(
        self,
        document: &Document<'_>,
    ) -> Result<(Topology, Fabric), ScenarioError> {
        let topology = match self {
            Self::Star { hosts, host_link } => {
                above_zero(&[("hosts", hosts)], document)?;
                Topology::Star { hosts, host_link: host_link.into() }
            }
            Self::LeafSpine { leaves, spines, hosts_per_leaf, host_link, fabric_link } => {
                let counts =
                    [("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts_per_leaf)];
                above_zero(&counts, document)?;
                let (host_link, fabric_link) = (host_link.into(), fabric_link.into());
                Topology::LeafSpine { leaves, spines, hosts_per_leaf, host_link, fabric_link }
            }
            Self::Custom { switches, hosts, links } => {
                let link = |keys: LinkKeys| Link {
                    a: keys.a,
                    b: keys.b,
                    speed: LinkSpeed { rate: keys.rate.0, delay: keys.delay.0 },
                };
                let links = links.into_iter().map(link).collect();
                Topology::Custom { switches, hosts, links }
            }
        };
        let fabric = topology.plan().and_then(|plan| Fabric::build(&plan));
        match fabric {
            Ok(fabric) => Ok((topology, fabric)),
            Err(error) => Err(topology.explain(&error, document)),
        }
    }
}

fn above_zero(counts: &[(&str, u32)], document: &Document<'_>) -> Result<(), ScenarioError> {
    match counts.iter().find(|(_, count)| *count == 0) {
        None => Ok(()),
        Some((key, _)) => {
            let title = format!("a fabric with 0 {}", key.replace('_', " "));
            Err(document.error(&format!("topology.{key}"), &title, "write a number from 1 up"))
        }
    }
}

impl Topology {
    fn plan(&self) -> Result<Plan, FabricError> {
        match self {
            Self::Star { hosts, host_link } => Plan::star(*hosts, host_link.rate, host_link.delay),
            Self::LeafSpine { leaves, spines, hosts_per_leaf, host_link, fabric_link } => {
                Plan::leaf_spine(
                    *leaves,
                    *spines,
                    *hosts_per_leaf,
                    (host_link.rate, host_link.delay),
                    (fabric_link.rate, fabric_link.delay),
                )
            }
            Self::Custom { switches, hosts, links } => Ok(Plan {
                hosts: hosts.clone(),
                switches: switches.clone(),
                links: links
                    .iter()
                    .map(|link| PlannedLink {
                        a: link.a.clone(),
                        b: link.b.clone(),
                        rate: link.speed.rate,
                        delay: link.speed.delay,
                    })
                    .collect(),
            }),
        }
    }

    /// Where in the file the cause of an error stands, and what would be right.
    fn explain(&self, error: &FabricError, document: &Document<'_>) -> ScenarioError {
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
            FabricError::DuplicateLink { link, .. } => {
                let help = "join them by one link of the rate of both".into();
                (format!("links.{link}"), help)
            }
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
                let key =
                    if matches!(self, Self::LeafSpine { .. }) { "hosts_per_leaf" } else { "hosts" };
                (key.into(), format!("write a fabric of {MAX_HOSTS} hosts at most"))
            }
            FabricError::TooManySwitches { .. } => {
                let key =
                    if matches!(self, Self::LeafSpine { .. }) { "leaves" } else { "switches" };
                (key.into(), format!("write a fabric of {MAX_SWITCHES} switches at most"))
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

    /// The key that gives a switch its many ports.
    fn port_count_path(&self, switch: SwitchId) -> String {
        match self {
            Self::Star { .. } => "hosts".into(),
            Self::LeafSpine { leaves, .. } if switch.0 < *leaves => "hosts_per_leaf".into(),
            Self::LeafSpine { .. } => "leaves".into(),
            Self::Custom { .. } => format!("switches.{}", switch.0),
        }
    }
}

fn node_path(node: NodeKind) -> String {
    match node {
        NodeKind::Host(host) => format!("hosts.{}", host.0),
        NodeKind::Switch(switch) => format!("switches.{}", switch.0),
    }
}
