//! Properties that must hold for any bytes and any text that xoff reads.
//!
//! Each module is a target: `seeds` are inputs to start from, `check` panics if an input violates the module's
//! property. `cargo xtask fuzz` builds the targets with libFuzzer and runs them.
//!
//! Inputs never cause files to be read or written: scenarios that name files get texts from the target. So the result
//! for an input does not depend on the machine.

pub mod frame;
pub mod host;
pub mod in_order;
pub mod mutation;
pub mod named_files;
pub mod ns3;
mod packets;
pub mod scenario;
pub mod seeds;
pub mod sweep;
mod words;
