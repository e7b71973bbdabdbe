//! Flows of all workloads of a scenario, one by one, in order of time.
//!
//! # Adding a workload
//!
//! 1. A recipe in a file here, and its variant of `Source` and `Generator`.
//! 2. A kind of `Workload` in `scenario/src/flow_keys.rs`.
//! 3. `scenario/src/tests/workloads.rs` and `fuzz/seeds/workloads.toml`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};

use topology::HostId;
use units::Picos;

use super::arrivals::{ArrivalRecipe, Arrivals};
use super::exchange::{AllToAll, AllToAllRecipe, Permutation, PermutationRecipe};
use super::flow::Flow;
use super::incast::{IncastRecipe, Incasts};
use super::port_counts::PortCounts;
use super::split::{Split, SplitGroup, SplitRecipe};

/// The recipe of one workload; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Flows that a file lists, in order of start.
    Listed(Arc<[Flow]>),
    /// Open-loop arrivals.
    Arrivals(Arc<ArrivalRecipe>),
    /// Repeated incasts.
    Incasts(Arc<IncastRecipe>),
    /// A permutation.
    Permutation(Arc<PermutationRecipe>),
    /// All to all.
    AllToAll(Arc<AllToAllRecipe>),
    /// Flows divided among groups.
    Split(Arc<SplitRecipe>),
}

impl Source {
    /// Returns the expected number of flows; exact unless it is random.
    pub fn expected_flows(&self) -> u64 {
        match self {
            Self::Listed(flows) => flows.len() as u64,
            Self::Arrivals(recipe) => recipe.expected_flows(),
            Self::Incasts(recipe) => recipe.expected_flows(),
            Self::Permutation(recipe) => recipe.rates.len() as u64,
            Self::AllToAll(recipe) => recipe.count(),
            Self::Split(recipe) => recipe.flows.into(),
        }
    }

    /// Returns the priorities of the source's flows, each once, lowest first.
    pub fn priorities(&self) -> impl Iterator<Item = u8> {
        let choice = match self {
            Self::Listed(flows) => {
                let used = |priority: &u8| flows.iter().any(|flow| flow.priority == *priority);
                return (0..8).filter(used).collect::<Vec<_>>().into_iter();
            }
            Self::Arrivals(recipe) => &recipe.stamp.priority,
            Self::Incasts(recipe) => &recipe.stamp.priority,
            Self::Permutation(recipe) => &recipe.stamp.priority,
            Self::AllToAll(recipe) => &recipe.stamp.priority,
            Self::Split(recipe) => &recipe.stamp.priority,
        };
        (0..8).filter(|priority| choice.includes(*priority)).collect::<Vec<_>>().into_iter()
    }

    /// Returns true if a flow may go from one host to another for some seed.
    pub fn may_send(&self, from: HostId, to: HostId) -> bool {
        let between_all = |hosts: usize| from != to && (from.0.max(to.0) as usize) < hosts;
        match self {
            Self::Listed(flows) => {
                flows.iter().any(|flow| (flow.source, flow.destination) == (from, to))
            }
            Self::Arrivals(recipe) => recipe.pairs.may_send(from, to),
            Self::Incasts(recipe) => recipe.parties.may_send(from, to),
            Self::Permutation(recipe) => between_all(recipe.rates.len()),
            Self::AllToAll(recipe) => between_all(recipe.rates.len()),
            Self::Split(recipe) => {
                let of = |group: &SplitGroup| group.from.contains(&from) && group.to.contains(&to);
                recipe.groups.iter().any(of)
            }
        }
    }

    fn generator(&self, seed: u64) -> Generator {
        match self {
            Self::Listed(flows) => Generator::Listed(flows.clone(), 0),
            Self::Arrivals(recipe) => Generator::Arrivals(Arrivals::new(recipe.clone(), seed)),
            Self::Incasts(recipe) => Generator::Incasts(Incasts::new(recipe.clone(), seed)),
            Self::Permutation(recipe) => Generator::Permutation(recipe.clone().flows(seed)),
            Self::AllToAll(recipe) => Generator::AllToAll(recipe.clone().flows(seed)),
            Self::Split(recipe) => Generator::Split(recipe.clone().flows(seed)),
        }
    }
}

/// Generator of a source's flows, in order of start time.
#[derive(Debug)]
enum Generator {
    Listed(Arc<[Flow]>, usize),
    Arrivals(Arrivals),
    Incasts(Incasts),
    Permutation(Permutation),
    AllToAll(AllToAll),
    Split(Split),
}

impl Iterator for Generator {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        match self {
            Self::Listed(flows, next) => {
                let flow = flows.get(*next).cloned();
                *next += 1;
                flow
            }
            Self::Arrivals(arrivals) => arrivals.next(),
            Self::Incasts(incasts) => incasts.next(),
            Self::Permutation(permutation) => permutation.next(),
            Self::AllToAll(all) => all.next(),
            Self::Split(split) => split.next(),
        }
    }
}

/// Generator of all flows in order of start time. Flows with equal start times are in the order of
/// the workloads, and within a workload in its order. Numbers are consecutive from 0.
#[derive(Debug)]
pub struct FlowStream {
    generators: Vec<Generator>,
    /// Next flow of each generator.
    heads: Vec<Option<Flow>>,
    /// Start time of each head, and its generator.
    order: BinaryHeap<Reverse<(Picos, usize)>>,
    next_id: u32,
    ports: Option<PortCounters>,
}

/// Numbering of flows' UDP ports.
#[derive(Clone, Copy, Debug)]
pub enum CountedPorts {
    /// Source ports count from a first one up for each pair of hosts.
    Pairs {
        /// The first.
        source: u16,
    },
    /// Source ports count for each sender, and destination ports for each receiver.
    Hosts {
        /// The first source port.
        source: u16,
        /// The first destination port.
        destination: u16,
    },
}

/// Next ports, by sender and receiver as far as they count by these.
#[derive(Debug)]
struct PortCounters {
    ports: CountedPorts,
    next: PortCounts<(Option<HostId>, Option<HostId>)>,
}

impl PortCounters {
    /// Gives a flow its ports, unless it has its own.
    fn number(&mut self, flow: &mut Flow) {
        let [from, to] = [flow.source, flow.destination].map(Some);
        match self.ports {
            CountedPorts::Pairs { source } => {
                let port = self.next.take((from, to), source);
                flow.source_port.get_or_insert(port);
            }
            CountedPorts::Hosts { source, destination } => {
                let ports = [((from, None), source), ((None, to), destination)];
                let ports = ports.map(|(ends, first)| self.next.take(ends, first));
                flow.source_port.get_or_insert(ports[0]);
                flow.destination_port.get_or_insert(ports[1]);
            }
        }
    }
}

impl FlowStream {
    /// Starts all sources.
    pub fn new(sources: &[Source], seed: u64) -> Self {
        let generators: Vec<Generator> =
            sources.iter().map(|source| source.generator(seed)).collect();
        let heads = generators.iter().map(|_| None).collect();
        let order = BinaryHeap::with_capacity(generators.len());
        let mut stream = Self { generators, heads, order, next_id: 0, ports: None };
        (0..stream.generators.len()).for_each(|number| stream.refill(number));
        stream
    }

    /// Gives flows ports that count up, if they have none of their own.
    #[must_use]
    pub fn with_counted_ports(self, ports: CountedPorts) -> Self {
        Self { ports: Some(PortCounters { ports, next: PortCounts::default() }), ..self }
    }

    fn refill(&mut self, number: usize) {
        let head = self.generators[number].next();
        if let Some(flow) = &head {
            self.order.push(Reverse((flow.start, number)));
        }
        self.heads[number] = head;
    }

    /// Returns the start time of the next flow.
    pub fn next_start(&self) -> Option<Picos> {
        self.order.peek().map(|Reverse((start, _))| *start)
    }

    /// Returns the next flow, and the index of its source.
    ///
    /// # Panics
    /// After 2^32 flows, 256 times the maximum of a scenario.
    pub fn next_from(&mut self) -> Option<(usize, Flow)> {
        let Reverse((_, number)) = self.order.pop()?;
        let mut flow = self.heads[number].take()?;
        self.refill(number);
        flow.id = self.take_number();
        flow.workload = number.try_into().expect("a scenario has few workloads");
        if let Some(ports) = &mut self.ports {
            ports.number(&mut flow);
        }
        Some((number, flow))
    }

    /// Returns the number of flow numbers that are taken.
    pub fn numbers_taken(&self) -> u32 {
        self.next_id
    }

    /// Takes the next flow number, for a flow that does not come from a source.
    ///
    /// # Panics
    /// As [`next_from`](Self::next_from).
    pub fn take_number(&mut self) -> u32 {
        let number = self.next_id;
        self.next_id = number.checked_add(1).expect("flows have 32-bit numbers");
        number
    }

    /// Returns the number of entries on the heap.
    #[cfg(test)]
    pub fn footprint(&self) -> usize {
        let generators = self.generators.iter().map(|generator| match generator {
            Generator::Arrivals(arrivals) => arrivals.footprint(),
            _ => 0,
        });
        generators.sum::<usize>() + self.heads.capacity() + self.order.capacity()
    }
}

impl Iterator for FlowStream {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        self.next_from().map(|(_, flow)| flow)
    }
}

/// List of a stream's flows, built on first use.
///
/// Always compares as equal, because the list follows from the sources and the seed.
#[derive(Clone, Debug, Default)]
pub struct MaterialisedFlows(OnceLock<Vec<Flow>>);

impl MaterialisedFlows {
    /// Returns the flows of a stream. Call it with equal streams each time.
    pub fn get(&self, stream: impl FnOnce() -> FlowStream) -> &[Flow] {
        self.0.get_or_init(|| stream().collect())
    }
}

impl PartialEq for MaterialisedFlows {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for MaterialisedFlows {}
