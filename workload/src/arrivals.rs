//! Open-loop arrivals: each sender starts flows by a renewal process of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use topology::{HostId, in_32_bits};
use units::Picos;

use super::flow::{Flow, SizeChoice, Stamp, Window};
use super::pairs::Pairs;
use super::random::RandomStream;
use super::variate::Gaps;

/// A rate of payload with 8 fractional bits of a bit per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PayloadRate(pub u128);

impl PayloadRate {
    /// The rate of `bytes_q16` bytes (16 fractional bits, below 2^64 bytes) in each `span`, which
    /// is above zero.
    pub const fn average(bytes_q16: u128, span: Picos) -> Self {
        Self((bytes_q16 * 8_000_000_000_000 / span.0 as u128) >> (16 - 8))
    }
}

/// Fractional bits of instants and gaps within a workload, in picoseconds: rounding a gap to whole
/// picoseconds would add up over a run.
pub const GAP_BITS: u32 = 20;

/// An instant of a process, cut to whole picoseconds.
pub fn whole(due: u128) -> Picos {
    Picos((due >> GAP_BITS).try_into().expect("flows start before their window ends"))
}
/// Gaps are cut at 2^57 ps, forty hours: longer than a run.
const LONGEST_GAP: u128 = 1 << (57 + GAP_BITS);

/// The mean gap between flows of `mean_q16` bytes (16 fractional bits, below 2^64 bytes) that make
/// up a rate of payload, in picoseconds with `GAP_BITS` fractional bits.
pub fn mean_gap(mean_q16: u128, rate: PayloadRate) -> u128 {
    const BIT_PICOS_PER_BYTE: u128 = 8_000_000_000_000;
    // Beyond 2^56 bytes at once the product would not fit: both sides lose what they can spare.
    let spared = if mean_q16 >> 72 == 0 { 0 } else { 16 };
    let bits = ((mean_q16 >> spared) * BIT_PICOS_PER_BYTE) << (GAP_BITS + 8 - 16);
    (bits / (rate.0 >> spared).max(1)).clamp(1, LONGEST_GAP)
}

/// The mean gap between batches of so many of these flows, cut likewise.
pub fn batch_gap(mean_q16: u128, rate: PayloadRate, batch: u32) -> u128 {
    (mean_gap(mean_q16, rate) * u128::from(batch)).min(LONGEST_GAP)
}

/// A given gap, in the unit of [`mean_gap`].
pub fn exact_gap(gap: Picos) -> u128 {
    u128::from(gap.0) << GAP_BITS
}

/// Flows at a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalRecipe {
    /// Label, priority and random streams.
    pub stamp: Stamp,
    /// When flows start.
    pub window: Window,
    /// How gaps are distributed.
    pub gaps: Gaps,
    /// Flow sizes.
    pub sizes: SizeChoice,
    /// Who sends to whom.
    pub pairs: Pairs,
    /// Flows that start at once, one or more.
    pub batch: u32,
    /// Each sender and its mean gap between batches, as [`mean_gap`] gives it.
    pub senders: Vec<(HostId, u128)>,
    /// What all senders offer together.
    pub rate: PayloadRate,
}

impl ArrivalRecipe {
    /// How many flows are expected.
    pub fn expected_flows(&self) -> u64 {
        let span = u128::from(self.window.stop.since(self.window.start).0) << GAP_BITS;
        let flows: u128 = self.senders.iter().map(|(_, gap)| span / gap).sum();
        let flows = flows.saturating_mul(u128::from(self.batch));
        u64::try_from(flows).unwrap_or(u64::MAX)
    }
}

/// A recipe at work.
#[derive(Debug)]
pub struct Arrivals {
    recipe: Arc<ArrivalRecipe>,
    /// By the sender's place in the recipe.
    random: Vec<RandomStream>,
    /// The next flow of each sender that has one: when (with [`GAP_BITS`]), and the sender's place.
    due: BinaryHeap<Reverse<(u128, u32)>>,
    /// The batch that is being handed out, as in `due`, and how many of its flows are left.
    batch: (u128, u32),
    left: u32,
}

impl Arrivals {
    /// Starts every sender's process: its first flow comes a gap after the window's start.
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

    /// What it holds on the heap, in entries.
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
