//! `xoff selftest`: a catalogue of tests of the kernel below a fabric, for those who change that kernel.
//!
//! A [`catalogue::Test`] has a name such as `xdp.native`, and a function that works on a [`bench::Bench`] step by step. A step is a
//! sentence that holds or not: its [`verdict::Verdict`] is a pass, a failure (what was expected, what was found, where) or a skip
//! with a reason. A test passes if it has steps and all of them pass; it is skipped if a step is, and none fails.
//!
//! There are two kinds of tests.
//! - [`fabric`]: scenarios with `[[expect]]`, embedded in the binary, on the kernel datapath. Before and after the run the test
//!   asks the kernel what is attached to each port. A user's own files are tests of this kind, too.
//! - On a `rig`: two or three namespaces, a program, sockets, and numbered frames whose every byte follows from the seed.
//!   `numbered` says of what came out which frames are missing, doubled, out of order or damaged.
//!
//! A test of a path proves that the path was there. It asks the kernel how a program is attached (rtnetlink: native or generic XDP;
//! BPF links: XDP or TCX; TCX and clsact: by which program), reads the sockets' own counters, and looks into mapped tables. What
//! was so when the test was set up must still be so after its traffic; what has changed (`surroundings`) is in the message of
//! each failure, because that is mostly its cause: an MTU, a queueing discipline, a program that somebody else attached.
//!
//! - `report` writes what happened: KTAP, the TAP of the kernel's own runner, `JUnit` or JSON.
//! - `runner` chooses tests, bounds their time, repeats them, and runs copies side by side.
//! - `evidence` collects what a bug report needs.
//! - [`bytecode`] makes BPF programs of a few instructions, for what the shipped object has no program for.
//!
//! Nothing here knows of faults. Those that inject them wait for `--pause`, which stops each test between its set-up and its
//! traffic, and names its namespaces; people use it to attach tracers.

pub mod bench;
pub mod bytecode;
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
mod tap;
mod turmoil;
pub mod verdict;
mod xsk;
