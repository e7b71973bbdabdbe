//! Wire formats, one file each.

pub mod psn;
pub mod roce;
