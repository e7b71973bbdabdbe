//! `xoff selftest`: a catalogue of tests of the kernel features that fabrics use, for kernel developers.
//!
//! A [`catalogue::Test`] has a name such as `xdp.native`, and a function that adds steps to a [`bench::Bench`]. A step
//! is a sentence that holds or not: its [`verdict::Verdict`] is a pass, a failure (expected value, found value, place)
//! or a skip with a reason. A test passes if it has steps and all of them pass; it is skipped if a step is skipped and
//! none fails.
//!
//! There are two kinds of tests.
//! - [`fabric`]: scenarios with `[[expect]]`, embedded in the binary, on the kernel datapath. Before and after the run
//!   the test queries the kernel for the programs attached to each port. A user's own files are tests of this kind,
//!   too.
//! - `rig`: two or three namespaces, a program, sockets, and numbered frames whose every byte is derived from the seed.
//!   `numbered` reports received frames that are missing, duplicated, out of order or damaged.
//!
//! A test of a path proves that the path was used. It queries the kernel for the attachment of programs (rtnetlink:
//! native or generic XDP; BPF links: XDP or TCX; TCX and clsact: the program), reads the sockets' own counters, and
//! reads mapped tables. The set-up must be unchanged after the traffic. Changes (`surroundings`) are in the message of
//! each failure, because they are the most frequent cause: an MTU, a queueing discipline, a program attached by
//! somebody else.
//!
//! - `report` writes the results as KTAP, the TAP of the kernel's own runner, `JUnit` or JSON.
//! - `runner` selects tests, limits their time, repeats them, and runs copies in parallel.
//! - `evidence` collects material for a bug report.
//! - `linux::bpf` makes BPF programs of a few instructions, where the shipped object has no suitable program.
//!
//! No test injects faults. Tools that inject faults use `--pause`, which stops each test between its set-up and its
//! traffic and prints its namespaces; people use it to attach tracers.

#![forbid(unsafe_code)]

pub mod bench;
pub mod catalogue;
pub mod commands;
pub mod evidence;
pub mod fabric;
mod features;
mod hooks;
mod live_program;
mod numbered;
mod redirect;
pub mod report;
mod rig;
mod ring;
pub mod runner;
mod surroundings;
mod turmoil;
pub mod verdict;
mod xsk;
