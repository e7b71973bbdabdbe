//! Flows that start at once and are divided among groups at random.

use std::collections::BTreeSet;
use std::sync::Arc;

use topology::HostId;
use units::{Bytes, Picos};

use super::flow::{Flow, Stamp};
use super::random::RandomStream;

/// A number of flows, each between hosts of one group. All divisions among groups are equally probable, including ones
/// with empty groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitRecipe {
    /// Label, priority and random streams.
    pub stamp: Stamp,
    /// Number of flows of all groups together.
    pub flows: u32,
    /// Bytes of each flow.
    pub bytes: Bytes,
    /// Start time of all flows.
    pub start: Picos,
    /// Groups; at least one.
    pub groups: Vec<SplitGroup>,
}

/// Senders and receivers of a group; each flow draws one of both. Neither list is empty, and no host is in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitGroup {
    /// Sending hosts.
    pub from: Vec<HostId>,
    /// Receiving hosts.
    pub to: Vec<HostId>,
}

impl SplitRecipe {
    /// Returns the number of flows of each group. With g groups, g - 1 of `flows` + g - 1 places are drawn, each set
    /// with equal probability (Floyd's algorithm), and the places between two of them are the flows of a group.
    pub fn counts(&self, seed: u64) -> Vec<u32> {
        let mut random = self.stamp.random(seed, u64::MAX);
        let bars = self.groups.len() as u64 - 1;
        let places = u64::from(self.flows) + bars;
        let mut drawn = BTreeSet::new();
        for last in places - bars..places {
            let place = random.below(last + 1);
            if !drawn.insert(place) {
                drawn.insert(last);
            }
        }
        let mut next = 0;
        let ends = drawn.into_iter().chain([places]);
        let counts = ends.map(|end| {
            let count = end - next;
            next = end + 1;
            u32::try_from(count).expect("at most as many as there are flows")
        });
        counts.collect()
    }

    /// Returns the flows, one of each group in turn until the groups have none left.
    pub fn flows(self: Arc<Self>, seed: u64) -> Split {
        let left = self.counts(seed);
        let random = self.stamp.random(seed, 0);
        Split { recipe: self, left, random, next: 0 }
    }
}

/// Generator of a recipe's flows.
#[derive(Debug)]
pub struct Split {
    recipe: Arc<SplitRecipe>,
    /// Number of flows that each group has left.
    left: Vec<u32>,
    random: RandomStream,
    next: usize,
}

impl Iterator for Split {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let groups = self.left.len();
        let mut in_turn = (0..groups).map(|step| (self.next + step) % groups);
        let group = in_turn.find(|&group| self.left[group] > 0)?;
        self.left[group] -= 1;
        self.next = (group + 1) % groups;
        let recipe = &self.recipe;
        let SplitGroup { from, to } = &recipe.groups[group];
        let pair = (*self.random.pick(from), *self.random.pick(to));
        Some(recipe.stamp.flow(pair, (recipe.bytes, false), recipe.start, &mut self.random))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::flow::PriorityChoice;

    fn recipe(flows: u32, groups: u32) -> SplitRecipe {
        let group = |number| SplitGroup {
            from: vec![HostId(2 * number)],
            to: vec![HostId(2 * number + 1)],
        };
        SplitRecipe {
            stamp: Stamp { label: "split".into(), priority: PriorityChoice::Fixed(3), key: 5 },
            flows,
            bytes: Bytes(10),
            start: Picos(7),
            groups: (0..groups).map(group).collect(),
        }
    }

    /// Three flows and three groups have ten divisions; chi-squared with nine degrees of freedom is below 27.9 in 999
    /// of 1000 cases.
    #[test]
    fn every_division_is_equally_probable() {
        let recipe = recipe(3, 3);
        let mut seen: BTreeMap<Vec<u32>, i64> = BTreeMap::new();
        for seed in 0..10_000 {
            *seen.entry(recipe.counts(seed)).or_default() += 1;
        }
        assert_eq!(seen.len(), 10);
        assert!(seen.keys().all(|counts| counts.iter().sum::<u32>() == 3));
        let squares: i64 = seen.values().map(|count| (count - 1000).pow(2)).sum();
        assert!(squares < 27_900, "{seen:?}");
    }

    #[test]
    fn groups_have_their_counts_and_take_turns() {
        let recipe = Arc::new(recipe(40, 4));
        let flows: Vec<Flow> = recipe.clone().flows(2).collect();
        let counts = recipe.counts(2);
        assert_eq!(flows.len(), 40);
        for (group, count) in (0..).zip(counts) {
            let of_group = flows.iter().filter(|flow| flow.source == HostId(2 * group));
            assert_eq!(of_group.count(), count as usize);
        }
        assert!(
            flows
                .iter()
                .all(|flow| flow.destination.0 == flow.source.0 + 1 && flow.start == Picos(7))
        );
        assert_ne!(flows[0].source, flows[1].source);
        assert_eq!(Arc::new(super::tests::recipe(2, 1)).flows(1).count(), 2);
    }
}
