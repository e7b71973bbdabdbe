//! Spread of traffic between groups of hosts over wires, when every switch splits it evenly over the ports of its
//! ECMP groups.

use super::{Fabric, FlowClass, NodeKind, Racks, Reach, SwitchId, WireId};

/// One unit of demand on a wire: shares have 32 fractional bits.
pub const SHARE_UNIT: u128 = 1 << 32;

/// Demand between groups of hosts and the share of it on each wire between switches.
///
/// Hash-based ECMP splits flows, not bytes: these are expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    shares: Vec<u128>,
}

impl Spread {
    /// Spreads demands (below 2^80 in sum) between groups of hosts, `demand[source * groups + destination]`, of the
    /// flows of `class` if there is one. What cannot reach its destination is on no wire.
    ///
    /// `groups` are [`Racks::by_routes`].
    pub fn new(fabric: &Fabric, groups: &Racks, class: Option<FlowClass>, demand: &[u128]) -> Self {
        let mut shares = vec![0; fabric.wires().len()];
        for destination in 0..groups.len() {
            for reach in Reach::to_group(fabric, groups, destination, class) {
                let mut waiting = vec![0u128; fabric.switch_count() as usize];
                for &source in &reach.sources {
                    let demand = demand[source * groups.len() + destination];
                    waiting[groups.switch(source).0 as usize] += demand * SHARE_UNIT;
                }
                for &switch in &reach.switches {
                    let amount = waiting[switch.0 as usize];
                    let members = fabric.ports(switch, reach.traffic).len();
                    let part = amount / members as u128;
                    for wire in fabric.onward(switch, reach.traffic) {
                        if let NodeKind::Switch(SwitchId(next)) = fabric.ends(wire).to {
                            shares[wire.0 as usize] += part;
                            waiting[next as usize] += part;
                        }
                    }
                }
            }
        }
        Self { shares }
    }

    /// The share of a wire, in [`SHARE_UNIT`]s of demand; zero on wires of hosts.
    pub fn on(&self, wire: WireId) -> u128 {
        self.shares[wire.0 as usize]
    }
}

impl Fabric {
    /// The wires of the core: those between switches whose upper end is farthest from hosts, in
    /// both directions. A star has none.
    pub fn core_wires(&self) -> Vec<WireId> {
        let levels = self.levels();
        let level = |wire: &super::Wire| {
            let ends = [levels[wire.from.0 as usize], levels[wire.to.0 as usize]];
            if ends.contains(&0) || ends.contains(&u32::MAX) { 0 } else { ends[0].max(ends[1]) }
        };
        let top = self.wires().iter().map(level).max().unwrap_or(0);
        (0..)
            .map(WireId)
            .zip(self.wires())
            .filter(|(_, wire)| top > 0 && level(wire) == top)
            .map(|(id, _)| id)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use units::{BitsPerSecond, Picos};

    use super::super::Plan;
    use super::*;

    const LINK: (BitsPerSecond, Picos) = (BitsPerSecond(1_000_000_000), Picos(0));

    fn shares(plan: &Plan) -> Vec<(String, u128)> {
        let fabric = Fabric::build(plan).unwrap();
        let racks = Racks::new(&fabric);
        let mut demand = vec![0; racks.len() * racks.len()];
        demand[racks.len() - 1] = 12;
        let spread = Spread::new(&fabric, &racks, None, &demand);
        let shares = (0..).map(WireId).zip(fabric.wires());
        shares
            .filter(|(id, _)| spread.on(*id) > 0)
            .map(|(id, wire)| (wire.name.clone(), spread.on(id) / SHARE_UNIT))
            .collect()
    }

    #[test]
    fn a_pod_uses_all_its_ways_up_and_all_ways_down() {
        let shares = shares(&Plan::fat_tree(4, 2, LINK, LINK, LINK).unwrap());
        let with = |part: &str| shares.iter().filter(|(name, _)| name.contains(part)).count();
        assert_eq!((shares.len(), with("core")), (12, 8));
        assert!(
            shares.iter().all(|(name, share)| *share == if name.contains("core") { 3 } else { 6 })
        );
    }

    #[test]
    fn bounces_weigh_on_the_leaves_in_between() {
        let mut plan = Plan::leaf_spine(4, 2, 1, LINK, LINK).unwrap();
        let failed = [["spine0", "leaf3"], ["spine1", "leaf0"]];
        plan.fail_links(&failed.map(|ends| ends.map(String::from))).unwrap();
        let shares = shares(&plan);
        let expected = [
            ("leaf0->spine0", 12),
            ("spine0->leaf1", 6),
            ("leaf1->spine1", 6),
            ("spine0->leaf2", 6),
            ("leaf2->spine1", 6),
            ("spine1->leaf3", 12),
        ];
        assert_eq!(shares, expected.map(|(name, share)| (name.to_owned(), share)));
    }

    #[test]
    fn the_core_is_the_highest_tier() {
        let core = |plan: Plan| {
            let fabric = Fabric::build(&plan).unwrap();
            let wires = fabric.core_wires();
            wires.first().map(|id| (wires.len(), fabric.wire(*id).name.clone()))
        };
        let fat_tree = core(Plan::fat_tree(4, 2, LINK, LINK, LINK).unwrap());
        assert_eq!(fat_tree, Some((32, "agg0->core0".into())));
        assert_eq!(core(Plan::dumbbell(1, 1, LINK, LINK).unwrap()), Some((2, "s0->s1".into())));
        assert_eq!(core(Plan::star(3, LINK.0, LINK.1).unwrap()), None);
    }
}
