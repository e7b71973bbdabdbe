//! Workloads: from descriptions of traffic between hosts to single flows.
//!
//! A [`Source`] is the complete and checked recipe of one workload. A [`FlowStream`] runs all sources of a scenario and
//! merges their flows in order of time, so that memory grows with hosts and workloads but not with flows.
//!
//! All computations use integers: uniform numbers from [`random`], logarithms and powers from [`logarithm`], gaps
//! between arrivals from [`variate`], sizes from a [`SizeDistribution`]. A seed gives equal flows on every machine.
//! Each workload, and in it each sender, has a separate stream of random numbers, named by the workload's label: adding
//! or changing one workload does not change the flows of the others.
//!
//! # Load
//! Load counts payload, as the traffic generator of the HPCC simulator does: at a load of 0.5 of the host links, every
//! sender starts flows of 0.5 x its link's rate in bits of payload per second. Headers, ACKs and CNPs are additional. A
//! load of the core links is the expected payload on the wires between the two highest tiers of switches (each byte
//! counts once for each such wire that it crosses) over the rate of these wires, as far as the workload can use them.
//!
//! This crate knows fabrics, but neither the keys of scenarios nor host models. It decides senders, receivers, sizes
//! and start times of flows, not their transport.

#![forbid(unsafe_code)]

mod arrivals;
pub mod catalogue;
pub mod decimal;
mod demand;
mod distribution;
mod exchange;
mod flow;
mod incast;
pub mod load;
pub mod logarithm;
mod matrix;
mod pairs;
mod port_counts;
pub mod random;
mod split;
mod stream;
pub mod variate;

#[cfg(test)]
mod tests;

pub use arrivals::{ArrivalRecipe, GAP_BITS, PayloadRate, batch_gap, exact_gap, mean_gap};
pub use demand::Demand;
pub use distribution::{CERTAIN, FileFault, MAX_SIZE, SizeDistribution};
pub use exchange::{AllToAllRecipe, PermutationRecipe};
pub use flow::{Flow, Length, PriorityChoice, SizeChoice, Stamp, Window};
pub use incast::{Degree, IncastParties, IncastReach, IncastRecipe};
pub use matrix::PairMatrix;
pub use pairs::Pairs;
pub use port_counts::PortCounts;
pub use split::{SplitGroup, SplitRecipe};
pub use stream::{CountedPorts, FlowStream, MaterialisedFlows, Source};
