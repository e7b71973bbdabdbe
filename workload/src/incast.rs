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
    /// Whether hosts of the receiver's rack send as well.
    own_rack: bool,
    /// The racks of the fabric.
    racks: Arc<Racks>,
}

impl IncastParties {
    /// Groups of hosts, each host once. In a fabric of one rack its hosts send in any case.
    pub fn new(
        mut senders: Vec<HostId>,
        mut receivers: Vec<HostId>,
        own_rack: bool,
        racks: Arc<Racks>,
    ) -> Self {
        senders.sort_by_key(|&host| (racks.of_host(host), host));
        receivers.sort();
        let own_rack = own_rack || racks.len() == 1;
        Self { senders, receivers, own_rack, racks }
    }

    /// Whether a flow may go from one host to another.
    pub fn may_send(&self, from: HostId, to: HostId) -> bool {
        let place = |host: HostId| (self.racks.of_host(host), host);
        let sends = self.senders.binary_search_by_key(&place(from), |&host| place(host)).is_ok();
        let in_reach = self.own_rack || self.racks.of_host(from) != self.racks.of_host(to);
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

    /// How many hosts can send to a receiver.
    pub fn eligible(&self, receiver: HostId) -> u32 {
        in_32_bits(self.senders.len() - self.excluded(receiver).len())
    }

    /// The places of those that do not send to a receiver.
    fn excluded(&self, receiver: HostId) -> Range<usize> {
        let rack = self.racks.of_host(receiver);
        let place = |&host: &HostId| (self.racks.of_host(host), host);
        if self.own_rack {
            let own = self.senders.binary_search_by_key(&(rack, receiver), place);
            own.map_or(0..0, |own| own..own + 1)
        } else {
            let first = self.senders.partition_point(|host| self.racks.of_host(*host) < rack);
            first..self.senders.partition_point(|host| self.racks.of_host(*host) <= rack)
        }
    }

    /// The expected traffic of incasts, in proportion, between groups of hosts.
    pub fn demand(&self, fabric: &Fabric, groups: &Racks) -> Demand {
        const UNIT: u128 = 1 << 32;
        let mut demand = Demand::none(fabric, groups);
        for &receiver in &self.receivers {
            let excluded = self.excluded(receiver);
            let eligible = (self.senders.len() - excluded.len()).max(1);
            let senders = self.senders.iter().enumerate();
            for (_, &sender) in senders.filter(|(place, _)| !excluded.contains(place)) {
                demand.send(sender, receiver, UNIT / eligible as u128, groups);
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
        let excluded = self.excluded(receiver);
        let eligible = self.senders.len() - excluded.len();
        let mut places = BTreeSet::new();
        for last in eligible - degree as usize..eligible {
            let place = random.index(last + 1);
            if !places.insert(place) {
                places.insert(last);
            }
        }
        let host = |&place: &usize| {
            self.senders[place + if place >= excluded.start { excluded.len() } else { 0 }]
        };
        senders.clear();
        senders.extend(places.iter().map(host));
        senders.sort();
    }
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
