//! Workloads: from what hosts send to each other, in the large, to flows one by one.
//!
//! A [`Source`] is the recipe of one workload, complete and checked; a [`FlowStream`] runs all
//! sources of a scenario and merges their flows in order of time, so that memory grows with hosts
//! and workloads and never with flows.
//!
//! Everything is an integer: uniform numbers from [`random`], logarithms and powers from
//! [`logarithm`], gaps between arrivals from [`variate`], sizes from a [`SizeDistribution`]. A seed
//! gives the same flows on every machine. Each workload, and in it each sender, has its own stream
//! of random numbers, named by the workload's label: adding or changing one workload leaves the
//! flows of the others as they were.
//!
//! # Load
//! Load counts payload, as the traffic generator of the HPCC simulator does: at a load of 0.5 of the
//! host links, every sender starts flows of 0.5 x its link's rate in bits of payload per second.
//! Headers, ACKs and CNPs come on top of it. A load of the core links is the expected payload on
//! the wires between the two highest tiers of switches (each byte counts once for each such wire
//! that it crosses) over the rate of those that the workload can use.
//!
//! This crate knows fabrics, but no scenario's keys and no host: it says who sends how many bytes to
//! whom and when, and not how.

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
pub mod random;
mod split;
mod stream;
pub mod variate;

#[cfg(test)]
mod tests;

pub use arrivals::{ArrivalRecipe, GAP_BITS, PayloadRate, batch_gap, exact_gap, mean_gap};
pub use demand::Demand;
pub use distribution::{CERTAIN, FileFault, LARGEST_SIZE, SizeDistribution};
pub use exchange::{AllToAllRecipe, PermutationRecipe};
pub use flow::{Flow, Length, PriorityChoice, SizeChoice, Stamp, Window};
pub use incast::{Degree, IncastParties, IncastReach, IncastRecipe};
pub use matrix::PairMatrix;
pub use pairs::Pairs;
pub use split::{SplitGroup, SplitRecipe};
pub use stream::{FlowStream, MaterialisedFlows, Source};
