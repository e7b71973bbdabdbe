//! System calls and shared memory: the unsafe code of xoff's user space.
//!
//! A crate uses `nix` and the standard library where they have a safe function. Code that they lack is here, behind a
//! safe interface, so that other crates forbid unsafe code.
//!
//! - [`interface`]: addresses, MTUs and offloads of interfaces.
//!
//! The crate uses no crate of ours. A function returns the system's error and adds no advice: its caller knows the
//! user's purpose.

#[cfg(target_os = "linux")]
pub mod interface;
