//! One switch, or one RoCEv2 host, on interfaces of this machine and on the real clock: what the binaries `xoff-switch`
//! and `xoff-host` are made of. docs/standalone.md has them from a user's side.
//!
//! [`switch`] and [`host`] drive the sans-I/O nodes of a fabric, `switch_user::switch::Switch` and `host_agent::Host`, with
//! the settings that a fabric would give them. Around them: [`clock`], [`interface`], [`neighbours`], [`wait`] for what comes
//! next, and [`lateness`], because a process is not a chip. Nothing here decides about a packet.

pub mod clock;
mod error;
pub mod host;
pub mod interface;
pub mod lateness;
pub mod neighbours;
pub mod switch;
pub mod wait;

pub use error::{Error, Node, exit, tell};
