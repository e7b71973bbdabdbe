//! Repeated incasts: each event has one receiver, and several senders that start at once.

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
    /// Time span of the events. With even gaps the first event is at its start, otherwise one gap
    /// later.
    pub window: Window,
    /// Distribution of gaps between events.
    pub gaps: Gaps,
    /// Mean gap between events, as [`super::mean_gap`] returns it.
    pub mean_gap: u128,
    /// Number of senders of an event.
    pub degree: Degree,
    /// Number of flows of an event, dealt to its senders in turn; `None`: one for each sender.
    pub flows: Option<u32>,
    /// Bytes of each flow.
    pub sizes: SizeChoice,
    /// Possible senders and receivers.
    pub parties: IncastParties,
    /// Rate of payload of all events together.
    pub rate: PayloadRate,
}

/// Number of senders of an event, uniform in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degree {
    /// Minimum number; at least one.
    pub least: u32,
    /// Maximum number; at least `least`, and at most the number of
    /// [eligible](IncastParties::eligible) hosts.
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
    /// Returns the mean of an event's bytes, with 16 fractional bits.
    pub fn event_q16(sizes: &SizeChoice, degree: Degree, flows: Option<u32>) -> u128 {
        let twice = flows
            .map_or(u64::from(degree.least) + u64::from(degree.most), |flows| 2 * u64::from(flows));
        sizes.mean_q16() * u128::from(twice) / 2
    }

    /// Returns the expected number of flows.
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

/// Possible senders and receivers of incasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncastParties {
    /// Possible senders, rack by rack.
    senders: Vec<HostId>,
    /// Possible receivers, ascending; each event draws one.
    receivers: Vec<HostId>,
    /// Racks of the senders.
    reach: IncastReach,
    /// Racks of the fabric.
    racks: Arc<Racks>,
}

/// Racks of an incast's senders, relative to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncastReach {
    /// All racks except the receiver's.
    OtherRacks,
    /// All racks.
    AllRacks,
    /// The rack after the receiver's, cyclic; needs at least two racks.
    NextRack,
}

impl IncastParties {
    /// Returns the parties from groups of hosts, each host once. In a fabric of one rack its hosts
    /// send in any case.
    ///
    /// # Panics
    /// If `reach` is `NextRack` and there is only one rack.
    pub fn new(
        mut senders: Vec<HostId>,
        mut receivers: Vec<HostId>,
        reach: IncastReach,
        racks: Arc<Racks>,
    ) -> Self {
        senders.sort_by_key(|&host| (racks.rack_of(host), host));
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

    /// Returns true if a flow may go from one host to another.
    pub fn may_send(&self, from: HostId, to: HostId) -> bool {
        let place = |host: HostId| (self.racks.rack_of(host), host);
        let sends = self.senders.binary_search_by_key(&place(from), |&host| place(host)).is_ok();
        let [sending, receiving] = [from, to].map(|host| self.racks.rack_of(host));
        let in_reach = match self.reach {
            IncastReach::OtherRacks => sending != receiving,
            IncastReach::AllRacks => true,
            IncastReach::NextRack => sending == next_rack(&self.racks, receiving),
        };
        from != to && sends && self.receivers.binary_search(&to).is_ok() && in_reach
    }

    /// Returns possible receivers, ascending.
    pub fn receivers(&self) -> &[HostId] {
        &self.receivers
    }

    /// Returns possible senders, rack by rack.
    pub fn senders(&self) -> &[HostId] {
        &self.senders
    }

    /// Returns the racks of the senders.
    pub fn reach(&self) -> IncastReach {
        self.reach
    }

    /// Returns the number of hosts that can send to a receiver.
    pub fn eligible(&self, receiver: HostId) -> u32 {
        in_32_bits(self.eligible_places(receiver).iter().map(ExactSizeIterator::len).sum())
    }

    /// Returns the indexes of hosts that can send to a receiver, ascending.
    fn eligible_places(&self, receiver: HostId) -> [Range<usize>; 2] {
        let rack = self.racks.rack_of(receiver);
        let place = |&host: &HostId| (self.racks.rack_of(host), host);
        let of_rack = |rack| {
            let first = self.senders.partition_point(|host| self.racks.rack_of(*host) < rack);
            first..self.senders.partition_point(|host| self.racks.rack_of(*host) <= rack)
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

    /// Returns the expected traffic of incasts, in proportion, between groups of hosts.
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
    /// stores them in `senders`, ascending.
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

/// Returns the rack after another one, cyclic.
pub fn next_rack(racks: &Racks, rack: usize) -> usize {
    (rack + 1) % racks.len()
}

/// Generator of a recipe's flows.
#[derive(Debug)]
pub struct Incasts {
    recipe: Arc<IncastRecipe>,
    random: RandomStream,
    /// Time of the next event, with [`GAP_BITS`] fractional bits.
    due: u128,
    /// The last event: its senders, receiver, time, and remaining flows.
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

    /// Draws the next event; returns `false` after the last.
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
