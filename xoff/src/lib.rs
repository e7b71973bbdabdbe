//! The command line of the laboratory.
//!
//! [`commands`] parses it and starts each command. The commands of a product are in its crate: [`sweep`], [`papers`],
//! [`analysis`], `live`, `selftest`. Those that take a few lines, or several products, are here: [`init`] has scenarios to
//! begin with.

#![forbid(unsafe_code)]

pub mod commands;
pub mod init;
