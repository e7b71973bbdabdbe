//! One switch, or one RoCEv2 host, on interfaces of this machine and on the real clock: the library of the binaries
//! `xoff-switch` and `xoff-host`. docs/standalone.md is their user's guide.
//!
//! [`switch`] and [`host`] drive the sans-I/O nodes of a fabric, `switch_user::switch::Switch` and
//! `host_agent::Host`, with the settings that a fabric would give them. Around them are [`clock`], [`interface`]
//! and [`neighbours`]; [`wait`] waits for the next event; [`lateness`] measures the delays of a process. No code
//! here decides about a packet.

#![forbid(unsafe_code)]

pub mod clock;
mod error;
pub mod host;
pub mod interface;
pub mod lateness;
pub mod neighbours;
pub mod switch;
pub mod wait;

pub use error::{Error, Node, exit, print_line};
