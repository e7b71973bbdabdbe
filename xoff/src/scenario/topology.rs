//! `[topology]`: generated or listed; it becomes a [`Fabric`].

use fabric_core::units::{BitsPerSecond, Picos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::{Document, suggestion};
use super::quantity::{self, Rate, Time};
use super::ratio::Ratio;
use super::report::{ScenarioError, listed};
use crate::topology::{
    Fabric, FabricError, FailedLinkError, HostId, LinkEnd, MAX_HOSTS, MAX_NAME_LENGTH, MAX_PORTS, MAX_SWITCHES,
    NodeKind, Plan, PlannedLink, SwitchId,
};

/// The shape of the fabric, as the file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// What the fabric would be without failures.
    #[serde(flatten)]
    pub kind: ShapeKind,
    /// Links that are down, each by its two ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_links: Vec<[String; 2]>,
}

/// A generator of fabrics, or a list of nodes and links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ShapeKind {
    /// Hosts `h0..` on one switch `s0`.
    Star {
        /// How many hosts.
        hosts: u32,
        /// Every link.
        host_link: LinkSpeed,
    },
    /// Hosts on two switches, `s0` and `s1`, and one link between these.
    Dumbbell {
        /// How many hosts on `s0`.
        left: u32,
        /// How many hosts on `s1`; they are numbered after those on the left.
        right: u32,
        /// Between host and switch.
        host_link: LinkSpeed,
        /// Between the switches.
        bottleneck: LinkSpeed,
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
    /// `k` pods of `k/2` switches `edge0..` and `k/2` switches `agg0..`, and `k^2/4` switches
    /// `core0..`.
    FatTree {
        /// Even.
        k: u32,
        /// Hosts for each uplink of an edge switch.
        oversubscription: Ratio,
        /// Between host and edge switch.
        host_link: LinkSpeed,
        /// Between edge and aggregation switch.
        aggregation_link: LinkSpeed,
        /// Between aggregation and core switch.
        core_link: LinkSpeed,
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

/// The shape of the fabric as far as it is a star or a leaf-spine fabric: [`Shape`] is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// [`ShapeKind::Star`].
    Star {},
    /// [`ShapeKind::LeafSpine`].
    LeafSpine {
        /// How many leaves.
        leaves: u32,
        /// How many spines.
        spines: u32,
    },
    /// Any other.
    Custom {},
}

impl From<&Shape> for Topology {
    fn from(shape: &Shape) -> Self {
        match shape.kind {
            ShapeKind::Star { .. } => Self::Star {},
            ShapeKind::LeafSpine { leaves, spines, .. } => Self::LeafSpine { leaves, spines },
            _ => Self::Custom {},
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            ShapeKind::Star { .. } => write!(f, "star"),
            ShapeKind::Dumbbell { left, right, .. } => write!(f, "dumbbell {left} + {right}"),
            ShapeKind::LeafSpine { leaves, spines, .. } => {
                write!(f, "leaf-spine {leaves} x {spines}")
            }
            ShapeKind::FatTree { k, oversubscription, .. } => {
                write!(f, "fat-tree k = {k}")?;
                let blocking = oversubscription.numerator > oversubscription.denominator;
                if blocking { write!(f, ", {oversubscription} to 1") } else { Ok(()) }
            }
            ShapeKind::Custom { .. } => write!(f, "custom"),
        }?;
        match self.failed_links.len() {
            0 => Ok(()),
            1 => write!(f, ", 1 failed link"),
            count => write!(f, ", {count} failed links"),
        }
    }
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
        /// Links that are down, each by its two ends: [["spine0", "leaf3"]]. Default: none.
        #[serde(default)]
        failed_links: Vec<[String; 2]>,
    },
    /// Hosts on two switches, `s0` and `s1`, and one link between these. Hosts are numbered from the
    /// left.
    Dumbbell {
        /// How many hosts on `s0`, 1 to 63.
        #[schemars(range(min = 1, max = 63))]
        left: u32,
        /// How many hosts on `s1`, 1 to 63.
        #[schemars(range(min = 1, max = 63))]
        right: u32,
        /// Between host and switch.
        host_link: LinkSpeedKeys,
        /// Between the switches.
        bottleneck: LinkSpeedKeys,
        /// Links that are down, each by its two ends: [["spine0", "leaf3"]]. Default: none.
        #[serde(default)]
        failed_links: Vec<[String; 2]>,
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
        /// Links that are down, each by its two ends: [["spine0", "leaf3"]]. Default: none.
        #[serde(default)]
        failed_links: Vec<[String; 2]>,
    },
    /// A fat tree: `k` pods, each of `k/2` switches `edge0..` with hosts and `k/2` switches `agg0..`
    /// above them, and `k^2/4` switches `core0..` between the pods.
    FatTree {
        /// Even, from 2 up: the ports of a switch of the non-blocking tree.
        #[schemars(range(min = 2, max = 28))]
        k: u32,
        /// Hosts for each uplink of an edge switch: "1" is non-blocking at equal rates. A ratio
        /// that makes a whole number of hosts of `k/2` uplinks. Default "1".
        #[serde(default = "non_blocking")]
        oversubscription: Ratio,
        /// Between host and edge switch.
        host_link: LinkSpeedKeys,
        /// Between edge and aggregation switch. Default: like `host_link`.
        aggregation_link: Option<LinkSpeedKeys>,
        /// Between aggregation and core switch. Default: like `aggregation_link`.
        core_link: Option<LinkSpeedKeys>,
        /// Links that are down, each by its two ends: [["spine0", "leaf3"]]. Default: none.
        #[serde(default)]
        failed_links: Vec<[String; 2]>,
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
        /// Links that are down, each by its two ends: [["spine0", "leaf3"]]. Default: none.
        #[serde(default)]
        failed_links: Vec<[String; 2]>,
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

impl LinkSpeed {
    const fn pair(self) -> (BitsPerSecond, Picos) {
        (self.rate, self.delay)
    }
}

impl From<LinkSpeedKeys> for LinkSpeed {
    fn from(keys: LinkSpeedKeys) -> Self {
        Self { rate: keys.rate.0, delay: keys.delay.0 }
    }
}

const fn non_blocking() -> Ratio {
    Ratio::new(1, 1)
}

impl TopologyKeys {
    /// The shape and the fabric that it describes.
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<(Shape, Fabric), ScenarioError> {
        let (kind, failed_links) = self.kind(document)?;
        let shape = Shape { kind, failed_links };
        let mut plan = shape.kind.plan().map_err(|error| shape.kind.explain(&error, document))?;
        if !shape.failed_links.is_empty() {
            // What is wrong without failures is not theirs to explain.
            Fabric::build(&plan).map_err(|error| shape.kind.explain(&error, document))?;
            plan.fail_links(&shape.failed_links)
                .map_err(|error| explain_failed(&error, &plan, document))?;
        }
        let fabric = Fabric::build(&plan).map_err(|error| shape.kind.explain(&error, document))?;
        Ok((shape, fabric))
    }

    fn kind(
        self,
        document: &Document<'_>,
    ) -> Result<(ShapeKind, Vec<[String; 2]>), ScenarioError> {
        match self {
            Self::Star { hosts, host_link, failed_links } => {
                above_zero(&[("hosts", hosts)], document)?;
                Ok((ShapeKind::Star { hosts, host_link: host_link.into() }, failed_links))
            }
            Self::Dumbbell { left, right, host_link, bottleneck, failed_links } => {
                above_zero(&[("left", left), ("right", right)], document)?;
                let (host_link, bottleneck) = (host_link.into(), bottleneck.into());
                Ok((ShapeKind::Dumbbell { left, right, host_link, bottleneck }, failed_links))
            }
            Self::LeafSpine {
                leaves, spines, hosts_per_leaf, host_link, fabric_link, failed_links,
            } => {
                let counts =
                    [("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts_per_leaf)];
                above_zero(&counts, document)?;
                let (host_link, fabric_link) = (host_link.into(), fabric_link.into());
                let kind =
                    ShapeKind::LeafSpine { leaves, spines, hosts_per_leaf, host_link, fabric_link };
                Ok((kind, failed_links))
            }
            Self::FatTree {
                k, oversubscription, host_link, aggregation_link, core_link, failed_links,
            } => {
                check_fat_tree(k, oversubscription, document)?;
                let aggregation_link = aggregation_link.unwrap_or(host_link);
                let core_link = core_link.unwrap_or(aggregation_link).into();
                let (host_link, aggregation_link) = (host_link.into(), aggregation_link.into());
                let kind = ShapeKind::FatTree {
                    k, oversubscription, host_link, aggregation_link, core_link,
                };
                Ok((kind, failed_links))
            }
            Self::Custom { switches, hosts, links, failed_links } => {
                let link = |keys: LinkKeys| Link {
                    a: keys.a,
                    b: keys.b,
                    speed: LinkSpeed { rate: keys.rate.0, delay: keys.delay.0 },
                };
                let links = links.into_iter().map(link).collect();
                Ok((ShapeKind::Custom { switches, hosts, links }, failed_links))
            }
        }
    }
}

fn check_fat_tree(
    k: u32,
    oversubscription: Ratio,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    if k == 0 || !k.is_multiple_of(2) {
        let help = "write an even number from 2 up: half of a switch's ports lead down, half up";
        return Err(document.error("topology.k", &format!("a fat tree of {k} pods"), help));
    }
    let Ratio { numerator, denominator } = oversubscription;
    let uplinks = u64::from(k / 2);
    if !(uplinks * u64::from(numerator)).is_multiple_of(u64::from(denominator)) {
        let title = format!("{oversubscription} x {uplinks} is no whole number of hosts");
        let help = "each edge switch has that many hosts for its k/2 uplinks: write a ratio such \
                    as \"1\" or \"3\"";
        return Err(document.error("topology.oversubscription", &title, help));
    }
    Ok(())
}

/// Where a failed link stands in the file, and what would be right.
fn explain_failed(
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
            let list = listed(ends);
            (number.to_string(), format!("what is left of `{a}`'s links leads to {list}"))
        }
        FailedLinkError::LastLink { number, .. } => {
            (number.to_string(), "leave it a link; a fabric without it has another shape".into())
        }
    };
    document.error(&format!("topology.failed_links.{path}"), &error.to_string(), &help)
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

impl ShapeKind {
    fn plan(&self) -> Result<Plan, FabricError> {
        match self {
            Self::Star { hosts, host_link } => Plan::star(*hosts, host_link.rate, host_link.delay),
            Self::Dumbbell { left, right, host_link, bottleneck } => {
                Plan::dumbbell(*left, *right, host_link.pair(), bottleneck.pair())
            }
            Self::LeafSpine { leaves, spines, hosts_per_leaf, host_link, fabric_link } => {
                let (host_link, fabric_link) = (host_link.pair(), fabric_link.pair());
                Plan::leaf_spine(*leaves, *spines, *hosts_per_leaf, host_link, fabric_link)
            }
            Self::FatTree { k, oversubscription, host_link, aggregation_link, core_link } => {
                // More than a switch's ports are refused later, by their number.
                let hosts = oversubscription.of(u64::from(k / 2));
                Plan::fat_tree(
                    *k,
                    u32::try_from(hosts).unwrap_or(u32::MAX),
                    host_link.pair(),
                    aggregation_link.pair(),
                    core_link.pair(),
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

    /// The key that gives a switch its many ports.
    fn port_count_path(&self, switch: SwitchId) -> String {
        match self {
            Self::Star { .. } => "hosts".into(),
            Self::Dumbbell { .. } => if switch.0 == 0 { "left" } else { "right" }.into(),
            Self::LeafSpine { leaves, .. } if switch.0 < *leaves => "hosts_per_leaf".into(),
            Self::LeafSpine { .. } => "leaves".into(),
            Self::FatTree { k, .. } if switch.0 < k * k / 2 => "oversubscription".into(),
            Self::FatTree { .. } => "k".into(),
            Self::Custom { .. } => format!("switches.{}", switch.0),
        }
    }

    /// The keys that give the fabric its many nodes.
    const fn keys(&self) -> CountKeys {
        match self {
            Self::Star { .. } | Self::Custom { .. } => {
                CountKeys { hosts: "hosts", switches: "switches" }
            }
            Self::Dumbbell { .. } => CountKeys { hosts: "left", switches: "kind" },
            Self::LeafSpine { .. } => CountKeys { hosts: "hosts_per_leaf", switches: "leaves" },
            Self::FatTree { .. } => CountKeys { hosts: "k", switches: "k" },
        }
    }
}

/// The keys that give a fabric its many hosts and switches.
struct CountKeys {
    hosts: &'static str,
    switches: &'static str,
}

fn node_path(node: NodeKind) -> String {
    match node {
        NodeKind::Host(host) => format!("hosts.{}", host.0),
        NodeKind::Switch(switch) => format!("switches.{}", switch.0),
    }
}
