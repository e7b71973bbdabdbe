//! Incasts that come again and again: at each event one receiver, and a number of senders that all
//! start at once.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use topology::{Fabric, HostId, Racks, in_32_bits};
use units::Picos;

use super::arrivals::{GAP_BITS, PayloadRate, whole};
use super::demand::Demand;
use super::flow::{Flow, SizeChoice, Stamp, Window};
use super::random::RandomStream;
use super::variate::Gaps;

/// Repeated incasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncastRecipe {
    /// Label, priority and random streams.
    pub stamp: Stamp,
    /// When events happen. Even gaps start with an event at the window's start, others with a gap.
    pub window: Window,
    /// How gaps between events are distributed.
    pub gaps: Gaps,
    /// The mean gap between events, as [`super::mean_gap`] gives it.
    pub mean_gap: u128,
    /// Senders of an event.
    pub degree: Degree,
    /// Flows of an event, dealt to its senders in turn; `None` is one for each.
    pub flows: Option<u32>,
    /// Bytes of each flow.
    pub sizes: SizeChoice,
    /// Who sends to whom.
    pub parties: IncastParties,
    /// What all events offer together.
    pub rate: PayloadRate,
}

/// How many senders an event has: each number between these with equal probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degree {
    /// At least one.
    pub least: u32,
    /// At least `least`, and at most as many as are [eligible](IncastParties::eligible).
    pub most: u32,
}

impl Degree {
    fn draw(self, random: &mut RandomStream) -> u32 {
        let numbers = u64::from(self.most - self.least) + 1;
        if numbers == 1 {
            self.least
        } else {
            self.least + u32::try_from(random.below(numbers)).expect("a count")
        }
    }
}

impl IncastRecipe {
    /// The mean of an event's bytes, with 16 fractional bits.
    pub fn event_q16(sizes: &SizeChoice, degree: Degree, flows: Option<u32>) -> u128 {
        let twice = flows
            .map_or(u64::from(degree.least) + u64::from(degree.most), |flows| 2 * u64::from(flows));
        sizes.mean_q16() * u128::from(twice) / 2
    }

    /// How many flows are expected.
    pub fn expected_flows(&self) -> u64 {
        let span = u128::from(self.window.stop.since(self.window.start).0) << GAP_BITS;
        let events = span.div_ceil(self.mean_gap);
        let Degree { least, most } = self.degree;
        let flows = self.flows.map_or_else(
            || (events * (u128::from(least) + u128::from(most))).div_ceil(2),
            |flows| events * u128::from(flows),
        );
        u64::try_from(flows).unwrap_or(u64::MAX)
    }
}

/// Who may send to whom in an incast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncastParties {
    /// Who may send, rack by rack.
    senders: Vec<HostId>,
    /// Who may receive, ascending; each event draws one.
    receivers: Vec<HostId>,
    /// Of which racks senders are.
    reach: IncastReach,
    /// The racks of the fabric.
    racks: Arc<Racks>,
}

/// Of which racks the senders of an incast are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncastReach {
    /// Of all but the receiver's.
    OtherRacks,
    /// Of all.
    AllRacks,
    /// Of the rack after the receiver's, after the last one the first; of at least two.
    NextRack,
}

impl IncastParties {
    /// Groups of hosts, each host once. In a fabric of one rack its hosts send in any case.
    ///
    /// # Panics
    /// If the next rack of the only one is asked for.
    pub fn new(
        mut senders: Vec<HostId>,
        mut receivers: Vec<HostId>,
        reach: IncastReach,
        racks: Arc<Racks>,
    ) -> Self {
        senders.sort_by_key(|&host| (racks.of_host(host), host));
        receivers.sort();
        let reach = match reach {
            IncastReach::OtherRacks if racks.len() == 1 => IncastReach::AllRacks,
            IncastReach::NextRack => {
                assert!(racks.len() > 1, "no rack comes after the only one");
                reach
            }
            reach => reach,
        };
        Self { senders, receivers, reach, racks }
    }

    /// Whether a flow may go from one host to another.
    pub fn may_send(&self, from: HostId, to: HostId) -> bool {
        let place = |host: HostId| (self.racks.of_host(host), host);
        let sends = self.senders.binary_search_by_key(&place(from), |&host| place(host)).is_ok();
        let [sending, receiving] = [from, to].map(|host| self.racks.of_host(host));
        let in_reach = match self.reach {
            IncastReach::OtherRacks => sending != receiving,
            IncastReach::AllRacks => true,
            IncastReach::NextRack => sending == next_rack(&self.racks, receiving),
        };
        from != to && sends && self.receivers.binary_search(&to).is_ok() && in_reach
    }

    /// Who may receive, ascending.
    pub fn receivers(&self) -> &[HostId] {
        &self.receivers
    }

    /// Who may send, rack by rack.
    pub fn senders(&self) -> &[HostId] {
        &self.senders
    }

    /// Of which racks senders are.
    pub fn reach(&self) -> IncastReach {
        self.reach
    }

    /// How many hosts can send to a receiver.
    pub fn eligible(&self, receiver: HostId) -> u32 {
        in_32_bits(self.eligible_places(receiver).iter().map(ExactSizeIterator::len).sum())
    }

    /// The places of those that can send to a receiver, ascending.
    fn eligible_places(&self, receiver: HostId) -> [Range<usize>; 2] {
        let rack = self.racks.of_host(receiver);
        let place = |&host: &HostId| (self.racks.of_host(host), host);
        let of_rack = |rack| {
            let first = self.senders.partition_point(|host| self.racks.of_host(*host) < rack);
            first..self.senders.partition_point(|host| self.racks.of_host(*host) <= rack)
        };
        let excluded = match self.reach {
            IncastReach::OtherRacks => of_rack(rack),
            IncastReach::AllRacks => {
                let own = self.senders.binary_search_by_key(&(rack, receiver), place);
                own.map_or(0..0, |own| own..own + 1)
            }
            IncastReach::NextRack => return [of_rack(next_rack(&self.racks, rack)), 0..0],
        };
        [0..excluded.start, excluded.end..self.senders.len()]
    }

    /// The expected traffic of incasts, in proportion, between groups of hosts.
    pub fn demand(&self, fabric: &Fabric, groups: &Racks) -> Demand {
        const UNIT: u128 = 1 << 32;
        let mut demand = Demand::none(fabric, groups);
        for &receiver in &self.receivers {
            let each = UNIT / u128::from(self.eligible(receiver).max(1));
            for place in self.eligible_places(receiver).into_iter().flatten() {
                demand.send(self.senders[place], receiver, each, groups);
            }
        }
        demand
    }

    fn draw_receiver(&self, random: &mut RandomStream) -> HostId {
        match self.receivers[..] {
            [only] => only,
            _ => *random.pick(&self.receivers),
        }
    }

    /// Draws `degree` different senders by Floyd's algorithm, each set with equal probability, and
    /// puts them into `senders`, ascending.
    fn draw_senders(
        &self,
        receiver: HostId,
        degree: u32,
        random: &mut RandomStream,
        senders: &mut Vec<HostId>,
    ) {
        let [before, after] = self.eligible_places(receiver);
        let eligible = before.len() + after.len();
        let mut places = BTreeSet::new();
        for last in eligible - degree as usize..eligible {
            let place = random.index(last + 1);
            if !places.insert(place) {
                places.insert(last);
            }
        }
        let host = |&place: &usize| {
            let later = place.checked_sub(before.len());
            self.senders[later.map_or(before.start + place, |later| after.start + later)]
        };
        senders.clear();
        senders.extend(places.iter().map(host));
        senders.sort();
    }
}

/// The rack after another one; after the last one comes the first.
pub fn next_rack(racks: &Racks, rack: usize) -> usize {
    (rack + 1) % racks.len()
}

/// A recipe at work.
#[derive(Debug)]
pub struct Incasts {
    recipe: Arc<IncastRecipe>,
    random: RandomStream,
    /// When the next event is, with [`GAP_BITS`] fractional bits.
    due: u128,
    /// The last event: its senders, receiver and time, and which of its flows are still to come.
    senders: Vec<HostId>,
    receiver: HostId,
    now: Picos,
    flows: Range<u32>,
}

impl Incasts {
    /// Starts the process of events.
    pub fn new(recipe: Arc<IncastRecipe>, seed: u64) -> Self {
        let mut random = recipe.stamp.random(seed, 0);
        let start = u128::from(recipe.window.start.0) << GAP_BITS;
        let first = match recipe.gaps {
            Gaps::Even => 0,
            gaps => gaps.draw(recipe.mean_gap, &mut random),
        };
        let senders = Vec::with_capacity(recipe.degree.most as usize);
        let due = start.saturating_add(first);
        Self { recipe, random, due, senders, receiver: HostId(0), now: Picos::ZERO, flows: 0..0 }
    }

    /// Draws the next event; `false` if there is none.
    fn next_event(&mut self) -> bool {
        let recipe = &self.recipe;
        if self.due >> GAP_BITS >= u128::from(recipe.window.stop.0) {
            return false;
        }
        self.now = whole(self.due);
        let (parties, random) = (&recipe.parties, &mut self.random);
        self.receiver = parties.draw_receiver(random);
        let degree = recipe.degree.draw(random);
        parties.draw_senders(self.receiver, degree, random, &mut self.senders);
        self.flows = 0..recipe.flows.unwrap_or(degree);
        let gap = recipe.gaps.draw(recipe.mean_gap, random);
        self.due = self.due.saturating_add(gap);
        true
    }
}

impl Iterator for Incasts {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        if self.flows.is_empty() && !self.next_event() {
            return None;
        }
        let turn = self.flows.next()? as usize;
        let pair = (self.senders[turn % self.senders.len()], self.receiver);
        let bytes = self.recipe.sizes.draw(&mut self.random);
        Some(self.recipe.stamp.flow(pair, (bytes, false), self.now, &mut self.random))
    }
}
