//! A part of the fabric: its nodes, and the state that they need to run on their own through a window.

use std::ops::Range;

use scenario::{CaptureFilter, Scenario};
use switch_user::tables::SwitchTables;
use topology::WireId;
use units::Picos;

use super::core::Core;
use super::host_node::HostNode;
use super::in_order::InOrder;
use super::link_tally::LinkTally;
use super::switch_node::SwitchNode;
use super::transmitter::Receiver;
use super::wire_logger::WireLogger;
use crate::datapath::{DatapathError, Wires};
use crate::host_settings::HostSettings;
#[cfg(feature = "kernel")]
use crate::live::lateness::Punctuality;
use crate::partition::{Members, Partition};

/// Tasks of nodes at the beginning of a window, before their other events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a task of its own")]
pub struct Opening {
    /// Priorities whose queues are sampled, one bit each; `None` takes no samples.
    pub samples: Option<u8>,
    /// Switches compute their thresholds.
    pub computes: bool,
    /// Buffer managements count congested queues.
    pub counts: bool,
    /// Switches measure their links.
    pub measures: bool,
    /// Switches announce their pauses; hosts forget pauses of flows that were not repeated.
    pub announces: bool,
}

/// A span of time in which no node can affect another: `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub start: Picos,
    /// Its end, which is not in it.
    pub end: Picos,
    /// Tasks at its beginning.
    pub opening: Opening,
}

/// See the module.
pub struct Part<W: Wires> {
    /// Hosts, ascending.
    pub hosts: Vec<HostNode>,
    /// Switches, ascending.
    pub switches: Vec<SwitchNode>,
    /// State that the nodes share.
    pub core: Core<W>,
    /// Nodes and ports whose links have changed before the next window, in no order.
    pub relinked: Vec<(u32, u16)>,
    /// True if the nodes of the last window ran in descending order.
    pub is_backwards: bool,
    /// Driver of all nodes, if their events run in the order of insertion.
    pub in_order: Option<Box<InOrder>>,
    /// Punctuality of a live fabric's nodes.
    #[cfg(feature = "kernel")]
    pub punctuality: Option<Box<Punctuality>>,
}

impl<W: Wires> Part<W> {
    /// Part `number` of a partition, which has these members, tables of switches, wires and store of frames.
    pub fn new(
        scenario: &Scenario,
        partition: &Partition,
        number: usize,
        tables: Vec<SwitchTables>,
        (medium, frames): (W, W::Frames),
        captured: &[(WireId, CaptureFilter)],
        settings: &HostSettings<'_>,
    ) -> Self {
        let Members { hosts, switches } = &partition.members()[number];
        let nodes = hosts.len() + switches.len();
        let hosts =
            hosts.iter().map(|&host| HostNode::new(settings, scenario, host, partition, captured));
        let switches = switches.iter().zip(tables).map(|(&switch, tables)| {
            SwitchNode::new(scenario, switch, tables, partition, captured)
        });
        let mut core = Core::new(number as u32, partition.parts(), nodes, medium, frames);
        core.measured = scenario.results.distributions.then(Box::default);
        core.wire_logger = scenario
            .results
            .explain
            .then(|| Box::new(WireLogger::new(scenario.switch.pause_lasts)));
        let wires = scenario.fabric().wires().len();
        core.link_tally = scenario.results.link_priorities.then(|| Box::new(LinkTally::new(wires)));
        let in_order = InOrder::new(scenario).map(|(order, queue)| {
            core.set_queue(queue);
            order
        });
        Self {
            hosts: hosts.collect(),
            switches: switches.collect(),
            core,
            relinked: Vec::new(),
            is_backwards: true,
            in_order,
            #[cfg(feature = "kernel")]
            punctuality: None,
        }
    }

    /// Runs all events of a window, one node after the other: no node affects another one within a window.
    ///
    /// Every other window runs the nodes in descending order. If a fabric does not fit into the processor's cache,
    /// the cache then holds the data of the nodes that run first.
    pub fn run(&mut self, window: Window) -> Result<(), DatapathError> {
        if let Some(mut order) = self.in_order.take() {
            let result = self.run_in_order(window, &mut order);
            self.in_order = Some(order);
            return result;
        }
        self.core.begin(window);
        self.is_backwards = !self.is_backwards;
        let backwards = self.is_backwards;
        let turn = |place, range: &Range<usize>| {
            if backwards { range.start + range.end - 1 - place } else { place }
        };
        let first_to_open = match window.opening {
            Opening { announces: true, .. } => 0,
            _ if !self.relinked.is_empty() => 0,
            opening if opening == Opening::default() => usize::MAX,
            _ => self.hosts.len(),
        };
        let blocks = 0..self.core.upcoming.blocks();
        for place in blocks.clone() {
            let block = turn(place, &blocks);
            let nodes = self.core.upcoming.nodes_of(block);
            let opens = nodes.end > first_to_open;
            if !opens && self.core.upcoming.first_of(block) >= window.end {
                continue;
            }
            for place in nodes.clone() {
                let index = turn(place, &nodes);
                if index >= first_to_open {
                    self.open(index, window);
                }
                self.run_node(index, window.end)?;
            }
            self.core.upcoming.settle(nodes);
        }
        self.relinked.clear();
        self.core.journal.sort();
        Ok(())
    }

    /// Instant of the next event.
    pub fn next(&self) -> Picos {
        self.core.next()
    }

    /// Frames on their way to nodes of this part, as pairs of node and port.
    pub fn on_their_way(&self) -> impl Iterator<Item = (u32, u16)> {
        self.core.on_their_way()
    }

    #[inline(always)]
    fn run_node(&mut self, index: usize, end: Picos) -> Result<(), DatapathError> {
        let due = self.core.upcoming.at(index);
        if due >= end {
            return Ok(());
        }
        let next = |index: usize| {
            if self.is_backwards { index.wrapping_sub(1) } else { index + 1 }
        };
        self.core.prefetch_inboxes(next(index), next(next(index)));
        let (number, hosts) = (index as u32, self.hosts.len());
        let next = if index < hosts {
            self.hosts[index].run(&mut self.core, number, end)?
        } else {
            self.switches[index - hosts].run(&mut self.core, number, end)?
        };
        self.core.upcoming.set(index, next);
        #[cfg(feature = "kernel")]
        if let Some(punctuality) = &mut self.punctuality {
            punctuality.met(index, due);
        }
        Ok(())
    }

    /// Opens the window at a switch, or at a host if pauses are announced or its link has changed. Runs just before
    /// the node, because both load the same rows.
    #[inline(never)]
    pub(super) fn open(&mut self, index: usize, window: Window) {
        let Window { start, opening, .. } = window;
        let of_node = |(node, port): &(u32, u16)| (*node == index as u32).then_some(*port);
        let relinked: Vec<u16> = self.relinked.iter().filter_map(of_node).collect();
        let next = match index.checked_sub(self.hosts.len()) {
            None => {
                let node = &mut self.hosts[index];
                if !relinked.is_empty() {
                    node.relinked(start, &mut self.core);
                }
                if opening.announces {
                    node.forget_flow_pauses(start, &mut self.core);
                }
                node.next()
            }
            Some(switch) => {
                let node = &mut self.switches[switch];
                for port in relinked {
                    node.relinked(start, port, &mut self.core);
                }
                if let Some(classes) = opening.samples {
                    node.sample(start, classes, &mut self.core.journal);
                }
                if opening.computes {
                    node.switch.observe(start);
                }
                if opening.counts {
                    node.switch.update_lossy(start);
                }
                if opening.measures {
                    node.measure_links(start, &mut self.core);
                }
                if opening.announces {
                    node.announce(start, &mut self.core);
                }
                node.next()
            }
        };
        self.core.upcoming.wake(index as u32, next);
    }

    /// The wire that comes in at a port of a node, by its index.
    pub fn inward(&self, index: u32, port: u16) -> &Receiver {
        let index = index as usize;
        match index.checked_sub(self.hosts.len()) {
            None => self.hosts[index].wires().1,
            Some(switch) => self.switches[switch].wires(port).1,
        }
    }
}
