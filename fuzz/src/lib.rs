//! What must hold for any bytes and any text that xoff reads.
//!
//! A module is a target: `seeds` are inputs to start from, `check` panics if its sentence does not hold of an
//! input. `cargo xtask fuzz` builds the targets with libFuzzer and runs them.
//!
//! Nothing here reads or writes a file because of an input: scenarios that name files get the texts that the
//! target has. So an input does the same on every machine.

pub mod frame;
pub mod host;
pub mod mutation;
pub mod named_files;
pub mod ns3;
mod packets;
pub mod scenario;
pub mod seeds;
pub mod sweep;
mod words;
