//! Patterns over all hosts that start at once: permutations and all-to-all.

use std::sync::Arc;

use topology::HostId;
use units::{BitsPerSecond, Picos};

use super::flow::{Flow, Length, Stamp};
use super::random::RandomStream;

/// Every host sends one flow and receives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermutationRecipe {
    /// Label, priority and random streams.
    pub stamp: Stamp,
    /// Bytes of each flow.
    pub length: Length,
    /// Start time of all flows.
    pub start: Picos,
    /// End of the run.
    pub end: Picos,
    /// Link rates by host; at least two hosts.
    pub rates: Arc<[BitsPerSecond]>,
}

impl PermutationRecipe {
    /// Returns the receiver of each host, by host: one cycle through all hosts (Sattolo's
    /// algorithm), each with equal probability, so that no host sends to itself.
    pub fn receivers(&self, seed: u64) -> Vec<HostId> {
        let mut random = self.stamp.random(seed, u64::MAX);
        let mut receivers: Vec<HostId> = (0..self.rates.len()).map(HostId::at).collect();
        for last in (1..receivers.len()).rev() {
            receivers.swap(last, random.index(last));
        }
        receivers
    }

    /// Returns the flows in order of sender.
    pub fn flows(self: Arc<Self>, seed: u64) -> Permutation {
        let receivers = self.receivers(seed);
        let random = self.stamp.random(seed, 0);
        Permutation { recipe: self, receivers, random, next: 0 }
    }
}

/// Generator of a permutation's flows.
#[derive(Debug)]
pub struct Permutation {
    recipe: Arc<PermutationRecipe>,
    receivers: Vec<HostId>,
    random: RandomStream,
    next: u32,
}

impl Iterator for Permutation {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let destination = *self.receivers.get(self.next as usize)?;
        let recipe = &self.recipe;
        let rate = recipe.rates[self.next as usize];
        let length = recipe.length.resolve(rate, recipe.end.since(recipe.start));
        let pair = (HostId(self.next), destination);
        self.next += 1;
        Some(recipe.stamp.flow(pair, length, recipe.start, &mut self.random))
    }
}

/// Every host sends one flow to every other host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllToAllRecipe {
    /// Label, priority and random streams.
    pub stamp: Stamp,
    /// Bytes of each flow.
    pub length: Length,
    /// Start time of all flows.
    pub start: Picos,
    /// End of the run.
    pub end: Picos,
    /// Link rates by host; at least two hosts.
    pub rates: Arc<[BitsPerSecond]>,
}

impl AllToAllRecipe {
    /// Returns the number of flows.
    pub fn count(&self) -> u64 {
        let hosts = self.rates.len() as u64;
        hosts * (hosts - 1)
    }

    /// Returns the flows in rounds: in round `r` = 1, 2, .. host `n` sends to host `n + r`, modulo
    /// the number of hosts.
    pub fn flows(self: Arc<Self>, seed: u64) -> AllToAll {
        let random = self.stamp.random(seed, 0);
        AllToAll { recipe: self, random, next: 0 }
    }
}

/// Generator of an all-to-all's flows.
#[derive(Debug)]
pub struct AllToAll {
    recipe: Arc<AllToAllRecipe>,
    random: RandomStream,
    next: u64,
}

impl Iterator for AllToAll {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let recipe = &self.recipe;
        if self.next >= recipe.count() {
            return None;
        }
        let hosts = recipe.rates.len() as u64;
        let host = |place: u64| usize::try_from(place).expect("less than there are hosts");
        let (source, round) = (host(self.next % hosts), self.next / hosts + 1);
        self.next += 1;
        let destination = host((source as u64 + round) % hosts);
        let rate = recipe.rates[source];
        let length = recipe.length.resolve(rate, recipe.end.since(recipe.start));
        let pair = (HostId::at(source), HostId::at(destination));
        Some(recipe.stamp.flow(pair, length, recipe.start, &mut self.random))
    }
}
