//! `LINK_DOWN`: a link that goes down.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use scenario::ScenarioError;
use units::Nanos;

use super::config::Config;
use super::control::Control;
use super::flows::{FlowLine, Flows};
use super::instant::seconds;
use super::simulator::Simulator;
use super::topology::Topology;
use super::translation::Translation;

/// Base of `LINK_DOWN` times in HPCC's simulator, and in `ConWeave`'s without `FLOWGEN_START_TIME`.
const LINK_DOWN_BASE: Nanos = Nanos(2_000_000_000);
/// Links of the longest path through two tiers of switches.
const TWO_TIERS: u32 = 4;

impl Translation {
    /// Takes over a link that goes down.
    pub fn link_down(
        &mut self,
        config: &Config,
        topology: &Topology,
        flows: &Flows,
    ) -> Result<(), ScenarioError> {
        if config.simulator == Simulator::Ns3Datacenter {
            return Ok(());
        }
        let words = config.words("LINK_DOWN");
        let &[time, a, b] = words.as_slice() else { return Ok(()) };
        let source = config.source();
        let number = |word| source.number(word, "LINK_DOWN", u32::MAX);
        let (micros, from, to) = (number(time)?, number(a)?, number(b)?);
        if micros == 0 {
            return Ok(());
        }
        let error =
            |title: &str, help| Err(source.error(a.span().start..b.span().end, title, help));
        if topology.links_between(from, to) == 0 {
            let title = format!("no link joins the nodes {from} and {to}");
            return error(&title, "name the two ends of a link; 0 0 0 takes none down");
        }
        let place = config.place("LINK_DOWN");
        let base = match config.words("FLOWGEN_START_TIME").first() {
            Some(&word) => seconds(source, word, config.simulator.traits().rounding)?,
            None => LINK_DOWN_BASE,
        };
        let at = Nanos(base.0 + u64::from(micros) * 1000);
        let stop = self.time_offset.0 + self.duration.0;
        let first = flows.list[0].start;
        if at.0 >= stop {
            self.remarks.note(&place, "the simulator stops before that");
        } else if config.has_dialect && config.simulator == Simulator::Hpcc {
            let islands = islands(topology, [from, to]);
            let mut of_run = flows.list.iter().filter(|flow| flow.start.0 < stop);
            let is_cut =
                |flow: &&FlowLine| islands.get(&flow.source) != islands.get(&flow.destination);
            if let Some(flow) = of_run.find(is_cut) {
                let title = format!(
                    "without this link flows have no way from node {} to {}",
                    flow.source, flow.destination
                );
                let help = "the simulator's course is undefined then: it chooses the port of a queue pair from an empty list";
                return error(&title, help);
            }
            self.fail_link(topology, [from, to], at);
            self.remarks.note(
                &place,
                "follows the simulator's source; no run with a link that goes down has been compared",
            );
        } else if at < first && topology.is_switch(from) && topology.is_switch(to) {
            self.failed_link = Some((from, to));
            self.remarks.note(&place, "before the first flow: the link is down from the start");
        } else {
            self.remarks.asked(&place, "the link goes down while flows run", "it stays up");
        }
        Ok(())
    }

    /// Writes down the link that goes down: of parallel ones the last, which is the one that the simulator knows.
    fn fail_link(&mut self, topology: &Topology, [from, to]: [u32; 2], at: Nanos) {
        let joins = |ends: [u32; 2]| ends == [from, to] || ends == [to, from];
        let mut links = topology.links.iter().filter(|link| joins([link.a, link.b]));
        let [wire, _] =
            links.next_back().map(|link| topology.wire_names(link)).expect("one joins them");
        self.link_failure =
            Some((wire.replacen("->", "-", 1), Nanos(at.0.saturating_sub(self.time_offset.0))));
        let hpcc = matches!(self.transport.control, Control::Hpcc(_));
        if hpcc && self.paths.longest_links > TWO_TIERS {
            let there = "an ACK with more than 5 hops changes no rate";
            self.remarks.inherent("HPCC: ways around the link", there, "the first five count");
        }
    }
}

/// Island of each node without a link: nodes of one island reach each other. A host has one link, so that no packet passes
/// through it.
fn islands(topology: &Topology, down: [u32; 2]) -> BTreeMap<u32, u32> {
    let mut neighbours: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for link in &topology.links {
        let is_down = down == [link.a, link.b] || down == [link.b, link.a];
        for (node, other) in [(link.a, link.b), (link.b, link.a)] {
            let known = neighbours.entry(node).or_default();
            known.extend((!is_down).then_some(other));
        }
    }
    let mut islands = BTreeMap::new();
    for &first in neighbours.keys() {
        let mut open = vec![first];
        while let Some(node) = open.pop() {
            if let Entry::Vacant(place) = islands.entry(node) {
                place.insert(first);
                open.extend(&neighbours[&node]);
            }
        }
    }
    islands
}
