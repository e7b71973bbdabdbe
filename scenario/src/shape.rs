//! `[topology]`: a generated or listed fabric, from which a [`topology::Fabric`] is built.
//!
//! # Adding a topology
//!
//! A kind of `Shape` here, which makes its `topology::Plan`. The
//! crate `topology` routes any plan and does not change. Not checked by the compiler: a test in `tests/shapes.rs`, and
//! the kinds in docs/topologies.md.

mod errors;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use topology::{Fabric, FabricError, Plan, PlannedLink, PodCounts};
use units::quantity::Propagation;
use units::{BitsPerSecond, Picos};

use super::document::Document;
use super::kind::by_kind;
use super::ratio::Ratio;
use super::report::ScenarioError;
use errors::explain_failed;

/// Shape of the fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "TopologyKeys")]
pub enum Shape {
    /// Hosts `h0..` on the ports of one switch, `s0`.
    Star {
        /// Number of hosts, 1 to 256.
        #[schemars(range(min = 1, max = 256))]
        hosts: u32,
        /// Rate and delay of every link.
        host_link: LinkSpeed,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("default" = []))]
        failed_links: Vec<[String; 2]>,
    },
    /// Hosts on two switches, `s0` and `s1`, and one link between the switches. Hosts on `s0` have the lower numbers.
    Dumbbell {
        /// Number of hosts on `s0`, 1 to 255.
        #[schemars(range(min = 1, max = 255))]
        left: u32,
        /// Number of hosts on `s1`, 1 to 255.
        #[schemars(range(min = 1, max = 255))]
        right: u32,
        /// Rate and delay of links between hosts and switches.
        host_link: LinkSpeed,
        /// Rate and delay of the link between the switches.
        bottleneck: LinkSpeed,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("default" = []))]
        failed_links: Vec<[String; 2]>,
    },
    /// Leaves `leaf0..`, each with hosts and with a link to each of the spines `spine0..`. Host
    /// `h0` is the first one on `leaf0`; a leaf's hosts and spines together are at most 256.
    LeafSpine {
        /// Number of leaves, 1 to 256.
        #[schemars(range(min = 1, max = 256))]
        leaves: u32,
        /// Number of spines, from 1 up.
        #[schemars(range(min = 1, max = 255))]
        spines: u32,
        /// Number of hosts on each leaf, from 1 up.
        #[schemars(range(min = 1, max = 255))]
        hosts_per_leaf: u32,
        /// Rate and delay of links between hosts and leaves.
        host_link: LinkSpeed,
        /// Rate and delay of links between leaves and spines.
        fabric_link: LinkSpeed,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("default" = []))]
        failed_links: Vec<[String; 2]>,
    },
    /// A fat tree: `k` pods, each of `k/2` switches `edge0..` with hosts and `k/2` switches `agg0..`
    /// above them, and `k^2/4` switches `core0..` between the pods.
    FatTree {
        /// Ports of a switch in the non-blocking tree; even, from 2 up.
        #[schemars(range(min = 2, max = 28))]
        k: u32,
        /// Number of hosts for each uplink of an edge switch: "1" is non-blocking at equal rates. A ratio that gives
        /// `k/2` uplinks a whole number of hosts. Default "1".
        #[serde(default = "non_blocking")]
        oversubscription: Ratio,
        /// Rate and delay of links between hosts and edge switches.
        host_link: LinkSpeed,
        /// Rate and delay of links between edge and aggregation switches. Default: as `host_link`.
        aggregation_link: Option<LinkSpeed>,
        /// Rate and delay of links between aggregation and core switches. Default: as `aggregation_link`.
        core_link: Option<LinkSpeed>,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("default" = []))]
        failed_links: Vec<[String; 2]>,
    },
    /// Pods of switches `tor0..` with hosts and `leaf0..` above them, and switches `spine0..` above all pods. Every ToR
    /// has a link to every leaf of its pod, and every leaf to every spine. Host `h0` is the first one on `tor0`.
    Pods {
        /// Number of pods, from 1 up; pods and leaves per pod multiplied are at most 256.
        #[schemars(range(min = 1, max = 256))]
        pods: u32,
        /// Number of spines, from 1 up; with the ToRs of a pod at most 256.
        #[schemars(range(min = 1, max = 255))]
        spines: u32,
        /// Number of leaves in each pod, from 1 up.
        #[schemars(range(min = 1, max = 255))]
        leaves_per_pod: u32,
        /// Number of ToRs in each pod, from 1 up.
        #[schemars(range(min = 1, max = 255))]
        tors_per_pod: u32,
        /// Number of hosts on each ToR, from 1 up; with the leaves of a pod at most 256.
        #[schemars(range(min = 1, max = 255))]
        hosts_per_tor: u32,
        /// Rate and delay of links between hosts and ToRs.
        host_link: LinkSpeed,
        /// Rate and delay of links between ToRs and leaves. Default: as `host_link`.
        leaf_link: Option<LinkSpeed>,
        /// Rate and delay of links between leaves and spines. Default: as `leaf_link`.
        spine_link: Option<LinkSpeed>,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("default" = []))]
        failed_links: Vec<[String; 2]>,
    },
    /// Nodes and links listed one by one. Names are unique, have 1 to 15 characters (letters, digits, `-`, `_`, `.`)
    /// and start with a letter. Linux reserves `lo`, `all` and `default`.
    Custom {
        /// Switch names, up to 1024.
        switches: Vec<String>,
        /// Host names, up to 4096. Each host has exactly one link, to a switch.
        hosts: Vec<String>,
        /// Links. A node's ports are numbered in the order of its links; a switch has up to 256. Several links may join
        /// two switches: the wires of the first are `a->b` and `b->a`, the wires of the second `a->b#2` and `b->a#2`,
        /// and so on.
        links: Vec<Link>,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`. Of several links
        /// between two switches, the last fails first. Default: none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("default" = []))]
        failed_links: Vec<[String; 2]>,
    },
}

by_kind!(Shape);

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkSpeedKeys")]
pub struct LinkSpeed {
    /// Rate in each direction, above zero.
    pub rate: BitsPerSecond,
    /// Propagation delay, or the length of the cable, such as "40m", at 5 ns per metre.
    #[serde(deserialize_with = "propagation")]
    #[schemars(with = "Propagation")]
    pub delay: Picos,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkKeys")]
pub struct Link {
    /// The node at one end.
    pub a: String,
    /// The node at the other end.
    pub b: String,
    /// Rate in each direction, above zero.
    pub rate: BitsPerSecond,
    /// Propagation delay, or the length of the cable, such as "40m", at 5 ns per metre.
    #[serde(deserialize_with = "propagation")]
    #[schemars(with = "Propagation")]
    pub delay: Picos,
}

fn propagation<'de, D: Deserializer<'de>>(input: D) -> Result<Picos, D::Error> {
    Propagation::deserialize(input).map(|Propagation(delay)| delay)
}

const fn non_blocking() -> Ratio {
    Ratio::new(1, 1)
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Star { .. } => write!(f, "star"),
            Self::Dumbbell { left, right, .. } => write!(f, "dumbbell {left} + {right}"),
            Self::LeafSpine { leaves, spines, .. } => {
                write!(f, "leaf-spine {leaves} x {spines}")
            }
            Self::FatTree { k, oversubscription, .. } => {
                write!(f, "fat-tree k = {k}")?;
                let blocking = oversubscription.numerator > oversubscription.denominator;
                if blocking { write!(f, ", {oversubscription} to 1") } else { Ok(()) }
            }
            Self::Pods { pods, tors_per_pod, leaves_per_pod, spines, .. } => write!(
                f,
                "{pods} pods of {tors_per_pod} ToRs and {leaves_per_pod} leaves under {spines} spines"
            ),
            Self::Custom { .. } => write!(f, "custom"),
        }?;
        match self.failed_links().len() {
            0 => Ok(()),
            1 => write!(f, ", 1 failed link"),
            count => write!(f, ", {count} failed links"),
        }
    }
}

impl LinkSpeed {
    const fn pair(self) -> (BitsPerSecond, Picos) {
        (self.rate, self.delay)
    }
}

impl Shape {
    /// Returns the links that are down, each by the names of its two ends.
    pub fn failed_links(&self) -> &[[String; 2]] {
        match self {
            Self::Star { failed_links, .. }
            | Self::Dumbbell { failed_links, .. }
            | Self::LeafSpine { failed_links, .. }
            | Self::FatTree { failed_links, .. }
            | Self::Pods { failed_links, .. }
            | Self::Custom { failed_links, .. } => failed_links,
        }
    }

    /// Adds defaults, checks the keys, and returns the fabric.
    pub(super) fn complete(&mut self, document: &Document<'_>) -> Result<Fabric, ScenarioError> {
        match self {
            Self::FatTree {
                k, oversubscription, host_link, aggregation_link, core_link, ..
            } => {
                check_fat_tree(*k, *oversubscription, document)?;
                core_link.get_or_insert(*aggregation_link.get_or_insert(*host_link));
            }
            Self::Pods { host_link, leaf_link, spine_link, .. } => {
                spine_link.get_or_insert(*leaf_link.get_or_insert(*host_link));
            }
            Self::Star { .. }
            | Self::Dumbbell { .. }
            | Self::LeafSpine { .. }
            | Self::Custom { .. } => {}
        }
        above_zero(&self.counts(), document)?;
        let mut plan = self.plan().map_err(|error| self.explain(&error, document))?;
        if !self.failed_links().is_empty() {
            // Reports errors of the shape itself before errors of failed links.
            Fabric::build(&plan).map_err(|error| self.explain(&error, document))?;
            plan.fail_links(self.failed_links())
                .map_err(|error| explain_failed(&error, &plan, document))?;
        }
        Fabric::build(&plan).map_err(|error| self.explain(&error, document))
    }

    /// Returns the keys with a number of nodes, apart from `k`.
    fn counts(&self) -> Vec<(&'static str, u32)> {
        match *self {
            Self::Star { hosts, .. } => vec![("hosts", hosts)],
            Self::Dumbbell { left, right, .. } => vec![("left", left), ("right", right)],
            Self::LeafSpine { leaves, spines, hosts_per_leaf, .. } => {
                vec![("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts_per_leaf)]
            }
            Self::Pods { pods, spines, leaves_per_pod, tors_per_pod, hosts_per_tor, .. } => vec![
                ("pods", pods),
                ("spines", spines),
                ("leaves_per_pod", leaves_per_pod),
                ("tors_per_pod", tors_per_pod),
                ("hosts_per_tor", hosts_per_tor),
            ],
            Self::FatTree { .. } | Self::Custom { .. } => Vec::new(),
        }
    }

    /// Returns the number of links between two nodes, including failed ones.
    pub(super) fn links_between(&self, a: &str, b: &str) -> usize {
        let plan = self.plan().expect("the shape is a fabric");
        let ends = |link: &&PlannedLink| [(a, b), (b, a)].contains(&(&link.a, &link.b));
        plan.links.iter().filter(ends).count()
    }

    /// Returns the rates of all links, including failed ones.
    pub(super) fn rates(&self) -> BTreeSet<BitsPerSecond> {
        let plan = self.plan().expect("the shape is a fabric");
        plan.links.iter().map(|link| link.rate).collect()
    }

    /// Returns nodes and links, including links that are down.
    ///
    /// # Errors
    /// If the shape is not a valid fabric. For a [`Scenario`](crate::Scenario) this cannot happen.
    pub fn plan(&self) -> Result<Plan, FabricError> {
        match self {
            Self::Star { hosts, host_link, .. } => {
                Plan::star(*hosts, host_link.rate, host_link.delay)
            }
            Self::Dumbbell { left, right, host_link, bottleneck, .. } => {
                Plan::dumbbell(*left, *right, host_link.pair(), bottleneck.pair())
            }
            Self::LeafSpine { leaves, spines, hosts_per_leaf, host_link, fabric_link, .. } => {
                let (host_link, fabric_link) = (host_link.pair(), fabric_link.pair());
                Plan::leaf_spine(*leaves, *spines, *hosts_per_leaf, host_link, fabric_link)
            }
            Self::FatTree {
                k, oversubscription, host_link, aggregation_link, core_link, ..
            } => {
                let aggregation_link = aggregation_link.unwrap_or(*host_link);
                let core_link = core_link.unwrap_or(aggregation_link);
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
            Self::Pods {
                pods,
                spines,
                leaves_per_pod,
                tors_per_pod,
                hosts_per_tor,
                host_link,
                leaf_link,
                spine_link,
                ..
            } => {
                let counts = PodCounts {
                    pods: *pods,
                    spines: *spines,
                    leaves_per_pod: *leaves_per_pod,
                    tors_per_pod: *tors_per_pod,
                    hosts_per_tor: *hosts_per_tor,
                };
                let leaf_link = leaf_link.unwrap_or(*host_link);
                let spine_link = spine_link.unwrap_or(leaf_link);
                Plan::pods(counts, host_link.pair(), leaf_link.pair(), spine_link.pair())
            }
            Self::Custom { switches, hosts, links, .. } => Ok(Plan {
                hosts: hosts.clone(),
                switches: switches.clone(),
                links: links
                    .iter()
                    .map(|link| PlannedLink {
                        a: link.a.clone(),
                        b: link.b.clone(),
                        rate: link.rate,
                        delay: link.delay,
                    })
                    .collect(),
            }),
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
        let title = format!("{oversubscription} x {uplinks} is not a whole number of hosts");
        let help = "each edge switch has that many hosts for its k/2 uplinks: write a ratio such \
                    as \"1\" or \"3\"";
        return Err(document.error("topology.oversubscription", &title, help));
    }
    Ok(())
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
