//! System calls and shared memory: the unsafe code of xoff's user space.
//!
//! A crate uses `nix` and the standard library where they have a safe function. Code that they lack is here, behind a
//! safe interface, so that other crates forbid unsafe code.
//!
//! - [`af_xdp`], [`packet_socket`]: sockets for whole frames.
//! - [`bpf`]: programs of a few instructions.
//! - [`region`]: arrays in memory that a BPF array may share.
//! - [`interface`], [`tap`]: addresses, MTUs and offloads of interfaces; tap devices.
//! - [`scheduling`]: real-time threads.
//! - [`interrupt`]: signals that ask a process to end.
//! - [`process`], [`heap`]: start, descriptors, end and memory of a process.
//! - [`socket`]: sockets of any kind.
//!
//! The crate uses no crate of ours. Functions return the system's errors; those of sockets and tap devices add the
//! capability or kernel option that the system lacks. Modules that a build without the datapath of the kernel uses are for any Unix.

#[cfg(target_os = "linux")]
pub mod af_xdp;
#[cfg(target_os = "linux")]
pub mod bpf;
pub mod heap;
#[cfg(target_os = "linux")]
pub mod interface;
pub mod interrupt;
#[cfg(target_os = "linux")]
pub mod packet_socket;
pub mod process;
pub mod region;
#[cfg(target_os = "linux")]
pub mod scheduling;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
pub mod tap;
