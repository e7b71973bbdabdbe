//! The pure core of xoff: wire formats and the switch's decisions.
//!
//! No I/O, no clock, no allocation, no float: time and state are arguments. One set of functions
//! runs as eBPF in the kernel, natively in memory, and under `BPF_PROG_TEST_RUN` in tests.
//!
//! Life of a frame: [`frame`] parses it, [`pause_state`] applies PFC frames, [`routing`] finds the port, the [`scheme`]
//! selects a [`queue`] and a pool, [`admission`] updates the pools' books, [`marking`] marks, [`slots`] keeps the
//! descriptor, and the scheme returns the [`hop_control`] frames due to the neighbour; [`arrival`] joins these steps.
//! [`departure`] lets the scheme decide about a packet whose turn it is, and reverts the counts of arrival. [`policy`]
//! selects the scheme. At a standalone switch [`reception`] selects the frames of the switch, and [`turn`] alternates
//! arrivals and departures. [`map_abi`] is their shared state, [`tables`] the access to it.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(target_arch = "bpf", feature(core_intrinsics))]
#![cfg_attr(target_arch = "bpf", allow(internal_features))]
#![expect(
    clippy::cast_possible_truncation,
    reason = "eBPF has no room for a check that cannot fail; each cast is next to its bound"
)]

pub mod admission;
pub mod arrival;
pub mod audit;
pub mod buffer;
pub mod cell;
pub mod departure;
pub mod drop_reason;
pub mod frame;
pub mod headroom;
pub mod hop_control;
pub mod lossy;
pub mod map_abi;
pub mod marking;
pub mod pause_state;
pub mod policy;
pub mod priority;
pub mod queue;
pub mod reception;
pub mod record;
pub mod routing;
pub mod scheme;
pub mod slots;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod threshold;
pub mod turn;
pub mod watchdog;
pub mod wire;
