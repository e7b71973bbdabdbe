//! What a fabric is built from: names and links, listed or generated.

use fabric_core::units::{BitsPerSecond, Picos};

use super::{FabricError, MAX_HOSTS, MAX_SWITCHES};

/// Names and links in order; [`super::Fabric::build`] turns it into a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Host names; a name's place is the host's number.
    pub hosts: Vec<String>,
    /// Switch names; a name's place is the switch's number.
    pub switches: Vec<String>,
    /// Links; a node's ports are numbered in the order of its links.
    pub links: Vec<PlannedLink>,
}

/// A cable between two named nodes, the same in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLink {
    /// The one end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Bits per second in each direction.
    pub rate: BitsPerSecond,
    /// Propagation delay, `D_prop` in DSH.
    pub delay: Picos,
}

impl Plan {
    /// One switch `s0` with hosts `h0..` on its ports `0..`.
    pub fn star(hosts: u32, rate: BitsPerSecond, delay: Picos) -> Result<Self, FabricError> {
        limit_hosts(u64::from(hosts))?;
        let hosts = numbered("h", hosts);
        let links = hosts.iter().map(|host| link(host, "s0", rate, delay)).collect();
        Ok(Self { hosts, switches: vec!["s0".into()], links })
    }

    /// `leaves` leaves and `spines` spines, each leaf with `hosts_per_leaf` hosts and a link to
    /// each spine.
    ///
    /// Host `n` is on leaf `n / hosts_per_leaf`. A leaf's ports are its hosts, then the spines; a
    /// spine's ports are the leaves. Links are a pair (rate, delay).
    pub fn leaf_spine(
        leaves: u32,
        spines: u32,
        hosts_per_leaf: u32,
        host_link: (BitsPerSecond, Picos),
        fabric_link: (BitsPerSecond, Picos),
    ) -> Result<Self, FabricError> {
        limit_hosts(u64::from(leaves) * u64::from(hosts_per_leaf))?;
        limit_switches(u64::from(leaves) + u64::from(spines))?;
        let hosts = numbered("h", leaves * hosts_per_leaf);
        let leaves = numbered("leaf", leaves);
        let spines = numbered("spine", spines);
        let mut links = Vec::new();
        for (number, host) in hosts.iter().enumerate() {
            let leaf = &leaves[number / hosts_per_leaf as usize];
            links.push(link(host, leaf, host_link.0, host_link.1));
        }
        for leaf in &leaves {
            for spine in &spines {
                links.push(link(leaf, spine, fabric_link.0, fabric_link.1));
            }
        }
        Ok(Self { hosts, switches: [leaves, spines].concat(), links })
    }
}

pub(super) fn limit_hosts(count: u64) -> Result<(), FabricError> {
    if count > MAX_HOSTS as u64 { Err(FabricError::TooManyHosts { count }) } else { Ok(()) }
}

pub(super) fn limit_switches(count: u64) -> Result<(), FabricError> {
    if count > MAX_SWITCHES as u64 { Err(FabricError::TooManySwitches { count }) } else { Ok(()) }
}

fn numbered(prefix: &str, count: u32) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}")).collect()
}

fn link(a: &str, b: &str, rate: BitsPerSecond, delay: Picos) -> PlannedLink {
    PlannedLink { a: a.into(), b: b.into(), rate, delay }
}
