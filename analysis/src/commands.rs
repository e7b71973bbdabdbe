//! `xoff explain`, `xoff compare` and `xoff report`, and the scenarios that commands read.

pub mod compare;
pub mod explain;
pub mod report;

use terminal::{Exit, answer, json_errors, print, refuse, require_place};
