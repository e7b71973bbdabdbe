//! Keys of `[topology]`.

use schemars::JsonSchema;
use serde::Deserialize;
use topology::{Fabric, PodCounts};
use units::BitsPerSecond;
use units::quantity::Propagation;

use super::document::Document;
use super::ratio::Ratio;
use super::report::ScenarioError;
use super::shape::{Link, LinkSpeed, Shape, ShapeKind, explain_failed};

/// Shape of the fabric.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum TopologyKeys {
    /// Hosts `h0..` on the ports of one switch, `s0`.
    Star {
        /// Number of hosts, 1 to 256.
        #[schemars(range(min = 1, max = 256))]
        hosts: u32,
        /// Rate and delay of every link.
        host_link: LinkSpeedKeys,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default)]
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
        host_link: LinkSpeedKeys,
        /// Rate and delay of the link between the switches.
        bottleneck: LinkSpeedKeys,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default)]
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
        host_link: LinkSpeedKeys,
        /// Rate and delay of links between leaves and spines.
        fabric_link: LinkSpeedKeys,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default)]
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
        host_link: LinkSpeedKeys,
        /// Rate and delay of links between edge and aggregation switches. Default: as `host_link`.
        aggregation_link: Option<LinkSpeedKeys>,
        /// Rate and delay of links between aggregation and core switches. Default: as `aggregation_link`.
        core_link: Option<LinkSpeedKeys>,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default)]
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
        host_link: LinkSpeedKeys,
        /// Rate and delay of links between ToRs and leaves. Default: as `host_link`.
        leaf_link: Option<LinkSpeedKeys>,
        /// Rate and delay of links between leaves and spines. Default: as `leaf_link`.
        spine_link: Option<LinkSpeedKeys>,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`.
        /// Default: none.
        #[serde(default)]
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
        links: Vec<LinkKeys>,
        /// Links that are down, each by the names of its two ends, such as `[["spine0", "leaf3"]]`. Of several links
        /// between two switches, the last fails first. Default: none.
        #[serde(default)]
        failed_links: Vec<[String; 2]>,
    },
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkSpeedKeys {
    /// Rate in each direction, above zero.
    rate: BitsPerSecond,
    /// Propagation delay, or the length of the cable, such as "40m", at 5 ns per metre.
    delay: Propagation,
}

/// A link between two nodes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkKeys {
    /// The node at one end.
    pub(super) a: String,
    /// The node at the other end.
    pub(super) b: String,
    /// Rate in each direction, above zero.
    pub(super) rate: BitsPerSecond,
    /// Propagation delay, or the length of the cable, such as "40m", at 5 ns per metre.
    pub(super) delay: Propagation,
}

impl From<LinkSpeedKeys> for LinkSpeed {
    fn from(keys: LinkSpeedKeys) -> Self {
        Self { rate: keys.rate, delay: keys.delay.0 }
    }
}

const fn non_blocking() -> Ratio {
    Ratio::new(1, 1)
}

impl TopologyKeys {
    /// Returns the shape and its fabric.
    pub(super) fn resolve(self, document: &Document<'_>) -> Result<(Shape, Fabric), ScenarioError> {
        let (kind, failed_links) = self.kind(document)?;
        let shape = Shape { kind, failed_links };
        let mut plan = shape.kind.plan().map_err(|error| shape.kind.explain(&error, document))?;
        if !shape.failed_links.is_empty() {
            // Reports errors of the shape itself before errors of failed links.
            Fabric::build(&plan).map_err(|error| shape.kind.explain(&error, document))?;
            plan.fail_links(&shape.failed_links)
                .map_err(|error| explain_failed(&error, &plan, document))?;
        }
        let fabric = Fabric::build(&plan).map_err(|error| shape.kind.explain(&error, document))?;
        Ok((shape, fabric))
    }

    fn kind(self, document: &Document<'_>) -> Result<(ShapeKind, Vec<[String; 2]>), ScenarioError> {
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
                leaves,
                spines,
                hosts_per_leaf,
                host_link,
                fabric_link,
                failed_links,
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
                k,
                oversubscription,
                host_link,
                aggregation_link,
                core_link,
                failed_links,
            } => {
                check_fat_tree(k, oversubscription, document)?;
                let aggregation_link = aggregation_link.unwrap_or(host_link);
                let core_link = core_link.unwrap_or(aggregation_link).into();
                let (host_link, aggregation_link) = (host_link.into(), aggregation_link.into());
                let kind = ShapeKind::FatTree {
                    k,
                    oversubscription,
                    host_link,
                    aggregation_link,
                    core_link,
                };
                Ok((kind, failed_links))
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
                failed_links,
            } => {
                let counts = [
                    ("pods", pods),
                    ("spines", spines),
                    ("leaves_per_pod", leaves_per_pod),
                    ("tors_per_pod", tors_per_pod),
                    ("hosts_per_tor", hosts_per_tor),
                ];
                above_zero(&counts, document)?;
                let leaf_link = leaf_link.unwrap_or(host_link);
                let spine_link = spine_link.unwrap_or(leaf_link).into();
                let (host_link, leaf_link) = (host_link.into(), leaf_link.into());
                let counts =
                    PodCounts { pods, spines, leaves_per_pod, tors_per_pod, hosts_per_tor };
                let kind = ShapeKind::Pods { counts, host_link, leaf_link, spine_link };
                Ok((kind, failed_links))
            }
            Self::Custom { switches, hosts, links, failed_links } => {
                let link = |keys: LinkKeys| Link {
                    a: keys.a,
                    b: keys.b,
                    speed: LinkSpeed { rate: keys.rate, delay: keys.delay.0 },
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
