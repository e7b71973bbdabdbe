//! `[topology]`: a generated or listed fabric, from which a [`topology::Fabric`] is built.
//!
//! # Adding a topology
//!
//! A kind of `TopologyKeys` in `topology_keys.rs` and of `ShapeKind` here, which makes its `topology::Plan`. The
//! crate `topology` routes any plan and does not change. Not checked by the compiler: a test in `tests/shapes.rs`, and
//! the kinds in README.md.

use std::collections::BTreeSet;

use serde::Serialize;
use topology::{
    FabricError, FailedLinkError, HostId, LinkEnd, MAX_HOSTS, MAX_NAME_LENGTH, MAX_PORTS,
    MAX_SWITCHES, NodeKind, Plan, PlannedLink, PodCounts, SwitchId,
};
use units::{BitsPerSecond, Picos};

use super::document::{Document, suggestion};
use super::ratio::Ratio;
use super::report::{ScenarioError, listed};

/// Shape of the fabric, as the file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Shape without failed links.
    #[serde(flatten)]
    pub kind: ShapeKind,
    /// Links that are down, each by the names of its two ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_links: Vec<[String; 2]>,
}

/// A generator of fabrics, or a list of nodes and links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ShapeKind {
    /// Hosts `h0..` on one switch `s0`.
    Star {
        /// Number of hosts.
        hosts: u32,
        /// Rate and delay of every link.
        host_link: LinkSpeed,
    },
    /// Hosts on two switches, `s0` and `s1`, and one link between the switches.
    Dumbbell {
        /// Number of hosts on `s0`.
        left: u32,
        /// Number of hosts on `s1`, numbered after the hosts on `s0`.
        right: u32,
        /// Rate and delay of links between hosts and switches.
        host_link: LinkSpeed,
        /// Rate and delay of the link between the switches.
        bottleneck: LinkSpeed,
    },
    /// Leaves `leaf0..`, each with hosts and with a link to each of the spines `spine0..`.
    LeafSpine {
        /// Number of leaves.
        leaves: u32,
        /// Number of spines.
        spines: u32,
        /// Number of hosts on each leaf; host `n` is on leaf `n / hosts_per_leaf`.
        hosts_per_leaf: u32,
        /// Rate and delay of links between hosts and leaves.
        host_link: LinkSpeed,
        /// Rate and delay of links between leaves and spines.
        fabric_link: LinkSpeed,
    },
    /// `k` pods of `k/2` switches `edge0..` and `k/2` switches `agg0..`, and `k^2/4` switches
    /// `core0..`.
    FatTree {
        /// Ports of a switch in the non-blocking tree; even.
        k: u32,
        /// Number of hosts for each uplink of an edge switch.
        oversubscription: Ratio,
        /// Rate and delay of links between hosts and edge switches.
        host_link: LinkSpeed,
        /// Rate and delay of links between edge and aggregation switches.
        aggregation_link: LinkSpeed,
        /// Rate and delay of links between aggregation and core switches.
        core_link: LinkSpeed,
    },
    /// Pods of switches `tor0..` and `leaf0..`, and switches `spine0..` above all.
    Pods {
        /// Numbers of pods, switches and hosts.
        #[serde(flatten, with = "PodCountKeys")]
        counts: PodCounts,
        /// Rate and delay of links between hosts and ToRs.
        host_link: LinkSpeed,
        /// Rate and delay of links between ToRs and leaves.
        leaf_link: LinkSpeed,
        /// Rate and delay of links between leaves and spines.
        spine_link: LinkSpeed,
    },
    /// Nodes and links listed one by one.
    Custom {
        /// Switch names.
        switches: Vec<String>,
        /// Host names.
        hosts: Vec<String>,
        /// Links; a node's ports are numbered in this order.
        links: Vec<Link>,
    },
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
            ShapeKind::Pods { counts, .. } => write!(
                f,
                "{} pods of {} ToRs and {} leaves under {} spines",
                counts.pods, counts.tors_per_pod, counts.leaves_per_pod, counts.spines
            ),
            ShapeKind::Custom { .. } => write!(f, "custom"),
        }?;
        match self.failed_links.len() {
            0 => Ok(()),
            1 => write!(f, ", 1 failed link"),
            count => write!(f, ", {count} failed links"),
        }
    }
}

/// Serialized form of [`PodCounts`].
#[derive(Serialize)]
#[serde(remote = "PodCounts")]
struct PodCountKeys {
    pods: u32,
    spines: u32,
    leaves_per_pod: u32,
    tors_per_pod: u32,
    hosts_per_tor: u32,
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkSpeed {
    /// Rate in each direction.
    pub rate: BitsPerSecond,
    /// Propagation delay.
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

impl LinkSpeed {
    const fn pair(self) -> (BitsPerSecond, Picos) {
        (self.rate, self.delay)
    }
}

impl Shape {
    /// Returns the number of links between two nodes, including failed ones.
    pub(super) fn links_between(&self, a: &str, b: &str) -> usize {
        let plan = self.kind.plan().expect("the shape is a fabric");
        let ends = |link: &&PlannedLink| [(a, b), (b, a)].contains(&(&link.a, &link.b));
        plan.links.iter().filter(ends).count()
    }

    /// Returns the rates of all links, including failed ones.
    pub(super) fn rates(&self) -> BTreeSet<BitsPerSecond> {
        let plan = self.kind.plan().expect("the shape is a fabric");
        plan.links.iter().map(|link| link.rate).collect()
    }
}

impl ShapeKind {
    /// Returns nodes and links, including links that are down.
    ///
    /// # Errors
    /// If the shape is not a valid fabric. For a [`Scenario`](crate::Scenario) this cannot happen.
    pub fn plan(&self) -> Result<Plan, FabricError> {
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
                // Numbers above the maximum of a switch's ports are refused later.
                let hosts = oversubscription.scale(u64::from(k / 2));
                Plan::fat_tree(
                    *k,
                    u32::try_from(hosts).unwrap_or(u32::MAX),
                    host_link.pair(),
                    aggregation_link.pair(),
                    core_link.pair(),
                )
            }
            Self::Pods { counts, host_link, leaf_link, spine_link } => {
                Plan::pods(*counts, host_link.pair(), leaf_link.pair(), spine_link.pair())
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
            Self::Pods { counts, .. } => {
                let tors = counts.pods * counts.tors_per_pod;
                let leaves = counts.pods * counts.leaves_per_pod;
                match switch.0 {
                    tor if tor < tors => "hosts_per_tor".into(),
                    leaf if leaf < tors + leaves && counts.spines > counts.tors_per_pod => {
                        "spines".into()
                    }
                    leaf if leaf < tors + leaves => "tors_per_pod".into(),
                    _ => "pods".into(),
                }
            }
            Self::Custom { .. } => format!("switches.{}", switch.0),
        }
    }

    /// Returns the keys that decide the number of nodes; of several, the key with the largest value.
    fn keys(&self) -> CountKeys {
        let largest = |keys: &[(&'static str, u32)]| {
            keys.iter().max_by_key(|(_, count)| *count).expect("each shape has keys").0
        };
        match self {
            Self::Star { .. } | Self::Custom { .. } => {
                CountKeys { hosts: "hosts", switches: "switches" }
            }
            Self::Dumbbell { left, right, .. } => CountKeys {
                hosts: largest(&[("right", *right), ("left", *left)]),
                switches: "kind",
            },
            Self::LeafSpine { leaves, spines, hosts_per_leaf, .. } => CountKeys {
                hosts: largest(&[("leaves", *leaves), ("hosts_per_leaf", *hosts_per_leaf)]),
                switches: largest(&[("spines", *spines), ("leaves", *leaves)]),
            },
            Self::FatTree { .. } => CountKeys { hosts: "k", switches: "k" },
            Self::Pods { counts, .. } => {
                let (pods, tors) = (("pods", counts.pods), ("tors_per_pod", counts.tors_per_pod));
                let leaves = ("leaves_per_pod", counts.leaves_per_pod);
                let hosts = ("hosts_per_tor", counts.hosts_per_tor);
                CountKeys {
                    hosts: largest(&[pods, tors, hosts]),
                    switches: largest(&[("spines", counts.spines), leaves, tors, pods]),
                }
            }
        }
    }
}

/// Keys that decide the numbers of hosts and switches.
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
