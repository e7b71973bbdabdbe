//! Incasts that come again and again: at each event one receiver, and a number of senders from
//! other racks that all start at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use fabric_core::units::{Bytes, Picos};

use super::arrivals::{GAP_BITS, PayloadRate};
use super::demand::Demand;
use super::flow::{Flow, Stamp, Window};
use super::random::RandomStream;
use super::variate::Gaps;
use crate::topology::{Fabric, HostId, Racks};

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
    /// Senders of an event, at most as many as are [eligible](Self::eligible).
    pub degree: u32,
    /// Bytes of each flow.
    pub bytes: Bytes,
    /// The receiver; without one, each event draws its own.
    pub receiver: Option<HostId>,
    /// The racks of the fabric.
    pub racks: Arc<Racks>,
    /// What all events offer together.
    pub rate: PayloadRate,
}

impl IncastRecipe {
    /// How many hosts can send to a receiver: those of other racks, or in a fabric of one rack all
    /// other hosts.
    pub fn eligible(racks: &Racks, hosts: u32, receiver: HostId) -> u32 {
        let own = racks.hosts(racks.of_host(receiver)).len() as u32;
        if racks.len() == 1 { hosts - 1 } else { hosts - own }
    }

    /// How many flows are expected.
    pub fn expected_flows(&self) -> u64 {
        let span = u128::from(self.window.stop.since(self.window.start).0) << GAP_BITS;
        let events = span.div_ceil(self.mean_gap) * u128::from(self.degree);
        u64::try_from(events).unwrap_or(u64::MAX)
    }

    /// The expected traffic of incasts to one receiver, or to all, in proportion.
    pub fn demand(fabric: &Fabric, racks: &Racks, receiver: Option<HostId>) -> Demand {
        const UNIT: u128 = 1 << 32;
        let mut demand = Demand::none(fabric, racks);
        let all = (0..fabric.host_count()).map(HostId);
        for destination in all.clone().filter(|host| receiver.is_none_or(|only| only == *host)) {
            let own = racks.of_host(destination);
            let can_send = |host: &HostId| {
                *host != destination && (racks.len() == 1 || racks.of_host(*host) != own)
            };
            let senders = Self::eligible(racks, fabric.host_count(), destination);
            for source in all.clone().filter(can_send) {
                demand.send(source, destination, UNIT / u128::from(senders), racks);
            }
        }
        demand
    }
}

/// A recipe at work.
#[derive(Debug)]
pub struct Incasts {
    recipe: Arc<IncastRecipe>,
    random: RandomStream,
    /// All hosts, rack by rack.
    hosts: Vec<HostId>,
    /// When the next event is, with [`GAP_BITS`] fractional bits.
    due: u128,
    /// The last event's senders, receiver and time; senders are taken from the end.
    senders: Vec<HostId>,
    receiver: HostId,
    now: Picos,
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
        let racks = &recipe.racks;
        let hosts = (0..racks.len()).flat_map(|rack| racks.hosts(rack)).copied().collect();
        let senders = Vec::with_capacity(recipe.degree as usize);
        let due = start.saturating_add(first);
        Self { recipe, random, hosts, due, senders, receiver: HostId(0), now: Picos::ZERO }
    }

    /// Draws the next event; `false` if there is none.
    fn next_event(&mut self) -> bool {
        if self.due >> GAP_BITS >= u128::from(self.recipe.window.stop.0) {
            return false;
        }
        self.now = Picos((self.due >> GAP_BITS) as u64);
        let count = self.hosts.len() as u64;
        self.receiver =
            self.recipe.receiver.unwrap_or_else(|| HostId(self.random.below(count) as u32));
        self.draw_senders();
        let gap = self.recipe.gaps.draw(self.recipe.mean_gap, &mut self.random);
        self.due = self.due.saturating_add(gap);
        true
    }

    /// Draws `degree` different senders by Floyd's algorithm, each set with equal probability.
    fn draw_senders(&mut self) {
        let racks = &self.recipe.racks;
        let excluded = if racks.len() == 1 {
            // The hosts of a single rack are in ascending order from 0.
            self.receiver.0 as usize..self.receiver.0 as usize + 1
        } else {
            let own = racks.of_host(self.receiver);
            let before: usize = (0..own).map(|rack| racks.hosts(rack).len()).sum();
            before..before + racks.hosts(own).len()
        };
        let eligible = (self.hosts.len() - excluded.len()) as u64;
        let mut places = BTreeSet::new();
        for last in eligible - u64::from(self.recipe.degree)..eligible {
            let place = self.random.below(last + 1);
            if !places.insert(place) {
                places.insert(last);
            }
        }
        let host = |place: &u64| {
            let place = *place as usize;
            self.hosts[place + if place >= excluded.start { excluded.len() } else { 0 }]
        };
        self.senders.clear();
        self.senders.extend(places.iter().map(host));
        self.senders.sort_by_key(|host| std::cmp::Reverse(*host));
    }
}

impl Iterator for Incasts {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        if self.senders.is_empty() && !self.next_event() {
            return None;
        }
        let source = self.senders.pop()?;
        let recipe = &self.recipe;
        let pair = (source, self.receiver);
        Some(recipe.stamp.flow(pair, (recipe.bytes, false), self.now, &mut self.random))
    }
}
