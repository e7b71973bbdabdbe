//! The pure core.
#![cfg_attr(not(test), no_std)]

pub mod units;
pub mod wire;
