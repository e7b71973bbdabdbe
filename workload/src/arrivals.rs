//! Open-loop arrivals: each sender starts flows by a separate renewal process.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use topology::{HostId, in_32_bits};
use units::Picos;

use super::flow::{Flow, SizeChoice, Stamp, Window};
use super::pairs::Pairs;
use super::random::RandomStream;
use super::variate::Gaps;

/// Rate of payload in bits per second, with 8 fractional bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PayloadRate(pub u128);

impl PayloadRate {
    /// Returns the rate of `bytes_q16` bytes (16 fractional bits, below 2^64 bytes) per `span`,
    /// which must be above zero.
    pub const fn average(bytes_q16: u128, span: Picos) -> Self {
        Self((bytes_q16 * 8_000_000_000_000 / span.0 as u128) >> (16 - 8))
    }
}

/// Fractional bits of instants and gaps within a workload, in picoseconds. Without them, errors of
/// rounded gaps would add up over a run.
pub const GAP_BITS: u32 = 20;

/// Returns an instant of a process, rounded down to whole picoseconds.
pub fn whole(due: u128) -> Picos {
    Picos((due >> GAP_BITS).try_into().expect("flows start before their window ends"))
}
/// Maximum gap, 2^57 ps or forty hours: longer than a run.
const MAX_GAP: u128 = 1 << (57 + GAP_BITS);

/// Returns the mean gap between flows of `mean_q16` bytes (16 fractional bits, below 2^64 bytes) at
/// a rate of payload, in picoseconds with `GAP_BITS` fractional bits.
pub fn mean_gap(mean_q16: u128, rate: PayloadRate) -> u128 {
    const BIT_PICOS_PER_BYTE: u128 = 8_000_000_000_000;
    // Beyond 2^56 bytes the product would overflow, so both sides drop 16 fractional bits.
    let spared = if mean_q16 >> 72 == 0 { 0 } else { 16 };
    let bits = ((mean_q16 >> spared) * BIT_PICOS_PER_BYTE) << (GAP_BITS + 8 - 16);
    (bits / (rate.0 >> spared).max(1)).clamp(1, MAX_GAP)
}

/// Returns the mean gap between batches of `batch` flows, limited as in [`mean_gap`].
pub fn batch_gap(mean_q16: u128, rate: PayloadRate, batch: u32) -> u128 {
    (mean_gap(mean_q16, rate) * u128::from(batch)).min(MAX_GAP)
}

/// Returns a given gap in the unit of [`mean_gap`].
pub fn exact_gap(gap: Picos) -> u128 {
    u128::from(gap.0) << GAP_BITS
}

/// Flows at a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalRecipe {
    /// Label, priority and random streams.
    pub stamp: Stamp,
    /// Time span in which flows start.
    pub window: Window,
    /// Distribution of gaps.
    pub gaps: Gaps,
    /// Flow sizes.
    pub sizes: SizeChoice,
    /// Pairs of senders and receivers.
    pub pairs: Pairs,
    /// Number of flows that start at once, one or more.
    pub batch: u32,
    /// Senders with their mean gap between batches, as [`mean_gap`] returns it.
    pub senders: Vec<(HostId, u128)>,
    /// Rate of payload of all senders together.
    pub rate: PayloadRate,
}

impl ArrivalRecipe {
    /// Returns the expected number of flows.
    pub fn expected_flows(&self) -> u64 {
        let span = u128::from(self.window.stop.since(self.window.start).0) << GAP_BITS;
        let flows: u128 = self.senders.iter().map(|(_, gap)| span / gap).sum();
        let flows = flows.saturating_mul(u128::from(self.batch));
        u64::try_from(flows).unwrap_or(u64::MAX)
    }
}

/// Generator of a recipe's flows.
#[derive(Debug)]
pub struct Arrivals {
    recipe: Arc<ArrivalRecipe>,
    /// Random streams by the sender's index in the recipe.
    random: Vec<RandomStream>,
    /// Time (with [`GAP_BITS`]) of each sender's next flow, and the sender's index.
    due: BinaryHeap<Reverse<(u128, u32)>>,
    /// Current batch, as in `due`, and number of its flows that are left.
    batch: (u128, u32),
    left: u32,
}

impl Arrivals {
    /// Starts every sender's process; its first flow starts one gap after the window's start.
    pub fn new(recipe: Arc<ArrivalRecipe>, seed: u64) -> Self {
        let random =
            recipe.senders.iter().map(|(host, _)| recipe.stamp.random(seed, host.0.into()));
        let random = random.collect();
        let due = BinaryHeap::with_capacity(recipe.senders.len());
        let mut arrivals = Self { recipe, random, due, batch: (0, 0), left: 0 };
        let start = u128::from(arrivals.recipe.window.start.0) << GAP_BITS;
        for sender in 0..in_32_bits(arrivals.random.len()) {
            arrivals.schedule(sender, start);
        }
        arrivals
    }

    fn schedule(&mut self, sender: u32, last: u128) {
        let (_, mean) = self.recipe.senders[sender as usize];
        let gap = self.recipe.gaps.draw(mean, &mut self.random[sender as usize]);
        let due = last.saturating_add(gap);
        if due >> GAP_BITS < u128::from(self.recipe.window.stop.0) {
            self.due.push(Reverse((due, sender)));
        }
    }

    /// Returns the number of entries on the heap.
    #[cfg(test)]
    pub fn footprint(&self) -> usize {
        self.random.capacity() + self.due.capacity()
    }
}

impl Iterator for Arrivals {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        if self.left == 0 {
            Reverse(self.batch) = self.due.pop()?;
            self.left = self.recipe.batch;
        }
        self.left -= 1;
        let (due, sender) = self.batch;
        let random = &mut self.random[sender as usize];
        let recipe = &self.recipe;
        let (source, _) = recipe.senders[sender as usize];
        let destination = recipe.pairs.draw(source, random);
        let bytes = recipe.sizes.draw(random);
        let start = whole(due);
        let flow = recipe.stamp.flow((source, destination), (bytes, false), start, random);
        if self.left == 0 {
            self.schedule(sender, due);
        }
        Some(flow)
    }
}
