//! Links, grouped if alike.

use units::{BitsPerSecond, Picos};

use topology::{Fabric, NodeId, NodeKind};

/// Links between two tiers with equal rate and delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkGroup {
    /// Tiers of the ends, the lower one first: `host - leaf`.
    pub tiers: String,
    /// Rate in each direction.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Picos,
    /// Number of links.
    pub count: u32,
}

/// Returns the name of each node's tier: `host`, the common letters of its switches' names, or `level` with the
/// distance from hosts.
pub(super) fn tier_names(fabric: &Fabric) -> Vec<String> {
    let levels = fabric.levels();
    let letters = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let mut names: Vec<Option<String>> = Vec::new();
    for (node, &level) in fabric.nodes().iter().zip(&levels) {
        let NodeKind::Switch(_) = node.kind else { continue };
        let place = names.len().max(level.min(fabric.switch_count()) as usize + 1);
        names.resize(place, None);
        let name = &mut names[level.min(fabric.switch_count()) as usize];
        let own = letters(&node.name);
        match name {
            None => *name = Some(own),
            Some(known) if *known == own => {}
            Some(_) => *name = Some(format!("level {level}")),
        }
    }
    levels
        .iter()
        .map(|&level| match level {
            0 => "host".into(),
            level => {
                let name = names.get(level.min(fabric.switch_count()) as usize).cloned().flatten();
                name.unwrap_or_else(|| format!("level {level}"))
            }
        })
        .collect()
}

/// Returns the links of a fabric in the order of the first of each group.
pub(super) fn link_groups(fabric: &Fabric) -> Vec<LinkGroup> {
    let (names, levels) = (tier_names(fabric), fabric.levels());
    let mut groups: Vec<LinkGroup> = Vec::new();
    for wire in fabric.wires().iter().step_by(2) {
        let mut ends = [wire.from, wire.to];
        ends.sort_by_key(|NodeId(node)| levels[*node as usize]);
        let [low, high] = ends.map(|NodeId(node)| names[node as usize].as_str());
        let tiers = format!("{low} - {high}");
        let (rate, delay) = (wire.rate, wire.delay);
        let alike = |group: &&mut LinkGroup| {
            (&group.tiers, group.rate, group.delay) == (&tiers, rate, delay)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.count += 1,
            None => groups.push(LinkGroup { tiers, rate, delay, count: 1 }),
        }
    }
    groups
}
