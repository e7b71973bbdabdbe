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
//!
//! # Names from the DSH paper
//!
//! Shan et al., *Efficient Headroom Allocation With Two-Level Flow Control for Lossless Datacenter Networks*, 2025;
//! "Eq." and "Algorithm" without a paper are its numbers.
//!
//! | name | meaning |
//! | --- | --- |
//! | SIH | static and independent headroom (Eq. 3): one reserve for each queue |
//! | DSH | dynamic and shared headroom (Section IV) |
//! | ON, OFF | an ingress queue, or under DSH a port, is OFF from its PAUSE to its RESUME |
//! | insurance | DSH's reserve for each port (Eq. 9), used when the port may take no more of the shared pool |
//! | T | alpha times the free shared buffer (Eq. 2) |
//! | tau | estimate of the headroom that a queue needs (Algorithm 4) |
//! | `X_off`, `X_on` | PAUSE above `X_off`, RESUME at or below `X_on`; `X_qoff`, `X_qon` of a queue (Eq. 10), `X_poff`, `X_pon` of a port (Eq. 11) |
//!
//! # Adding a map
//!
//! 1. Its row in [`map_abi`] and in the table there, its name in `map_abi/names.rs`, an accessor in [`tables`].
//! 2. `switch-ebpf/src/maps.rs`, `switch-user/src/tables.rs`, and its number of entries in
//!    `switch-user/src/program.rs`.
//! 3. Its rows in `tests/src/switch/row.rs` and `tests/src/switch/state.rs`: otherwise the tests do not compare the two
//!    worlds.
//!
//! A scheme needs no map and no change of the eBPF programs: all schemes share `SCHEME_LINES`, cache lines of cells to
//! which a scheme gives types, and `SCHEME_BLOCKS`, look-up tables. A scheme's state of a packet in the switch is the
//! descriptor's `note`, which `Scheme::enqueued` writes and `Scheme::dequeued` gets back.
//!
//! # Adding a protocol of xoff's own
//!
//! 1. A file beside `wire/link_delay.rs` with a number in `wire/experimental.rs`, and an arm of `parse_experimental` in
//!    `frame.rs`.
//! 2. `HostArrival::parse` in `emulation/src/datapath.rs`.
//! 3. A document in `docs/`, `dissectors/xoff.lua`, `fuzz/src/frame.rs`.
//!
//! [`scheme`], [`lossy`] and [`hop_control`] have recipes of their subjects.
//!
//! # Adding a rule of the PFC family
//!
//! 1. A variant of `Rule` and of `Settings` in `scheme/pfc_family/settings.rs`, and arms of `early_limit` and `xon` in
//!    `scheme/pfc_family.rs`.
//! 2. A kind of `switch.scheme`: its keys in `scenario/src/scheme/pause_rule.rs`, and the list in `scenario/src/scheme.rs`.
//! 3. `drawn` in `tests/src/switch/case/rule.rs`, `pause_rule` in `tests/src/fabric/drawn.rs`, and docs/pfc-family.md.
#![cfg_attr(not(any(test, feature = "serde")), no_std)]
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
pub mod port_state;
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
