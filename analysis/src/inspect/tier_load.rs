//! Expected load by tier: payload that workloads offer, spread evenly over equal-cost paths.

use topology::{Racks, SHARE_UNIT, WireId};

use scenario::{Scenario, Source};

use super::links::tier_names;

/// All wires from one tier to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierLoad {
    /// Tiers of the ends: `leaf -> spine`.
    pub direction: String,
    /// Number of wires.
    pub wires: u32,
    /// Expected payload as a share of the wires' total rate, in millionths.
    pub mean_millionths: u64,
    /// Max expected payload of a wire, in millionths of its rate.
    pub largest_millionths: u64,
    /// First wire with this load.
    pub largest: String,
}

/// Returns the loads by tier, in the order of the first wire of each.
pub(super) fn tier_loads(scenario: &Scenario, groups: &Racks) -> Vec<TierLoad> {
    let fabric = scenario.fabric();
    // Payload on each wire, in 2^-8 bit/s.
    let mut offered = vec![0u128; fabric.wires().len()];
    let mut has_rate = false;
    for (workload, source) in scenario.sources().iter().enumerate() {
        let (demand, rate) = match source {
            Source::Arrivals(recipe) => (recipe.pairs.demand(fabric, groups), recipe.rate),
            Source::Incasts(recipe) => (recipe.parties.demand(fabric, groups), recipe.rate),
            Source::Listed(_) | Source::Permutation(_) | Source::AllToAll(_) | Source::Split(_) => {
                continue;
            }
        };
        has_rate = true;
        let shares = demand.shares(fabric, groups, scenario.class_of_workload(workload));
        for (sum, share) in offered.iter_mut().zip(shares) {
            *sum += rate.0 * share / SHARE_UNIT;
        }
    }
    if !has_rate {
        return Vec::new();
    }
    let names = tier_names(fabric);
    let mut tiers: Vec<(TierLoad, u128, u128)> = Vec::new();
    for (id, wire) in (0..).map(WireId).zip(fabric.wires()) {
        let name = |node: topology::NodeId| &names[node.0 as usize];
        let direction = format!("{} -> {}", name(wire.from), name(wire.to));
        let payload = offered[id.0 as usize];
        let rate = u128::from(wire.rate.0) << 8;
        let millionths = share(payload, rate);
        let known = tiers.iter().position(|(tier, ..)| tier.direction == direction);
        let place = known.unwrap_or(tiers.len());
        if known.is_none() {
            let (wires, mean_millionths, largest_millionths) = (0, 0, 0);
            let largest = wire.name.clone();
            let tier = TierLoad { direction, wires, mean_millionths, largest_millionths, largest };
            tiers.push((tier, 0, 0));
        }
        let (tier, sum, capacity) = &mut tiers[place];
        tier.wires += 1;
        *sum += payload;
        *capacity += rate;
        tier.mean_millionths = share(*sum, *capacity);
        if millionths > tier.largest_millionths {
            tier.largest_millionths = millionths;
            tier.largest.clone_from(&wire.name);
        }
    }
    tiers.into_iter().map(|(tier, ..)| tier).collect()
}

/// Returns `part` of `whole` in millionths.
fn share(part: u128, whole: u128) -> u64 {
    (part * 1_000_000 / whole).try_into().unwrap_or(u64::MAX)
}
