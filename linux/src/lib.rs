//! System calls and shared memory: the unsafe code of xoff's user space.
//!
//! A crate uses `nix` and the standard library where they have a safe function. Code that they lack is here, behind a
//! safe interface, so that other crates forbid unsafe code.
//!
//! - [`interface`]: addresses, MTUs and offloads of interfaces.
//! - [`interrupt`]: signals that ask a process to end.
//! - [`process`], [`heap`]: start, descriptors, end and memory of a process.
//! - [`socket`]: sockets of any kind.
//!
//! The crate uses no crate of ours. A function returns the system's error and adds no advice: its caller knows the
//! user's purpose. Modules that a build without the datapath of the kernel uses are for any Unix.

pub mod heap;
#[cfg(target_os = "linux")]
pub mod interface;
pub mod interrupt;
pub mod process;
#[cfg(target_os = "linux")]
pub mod socket;
