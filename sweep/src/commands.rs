//! `xoff sweep`, and the progress of runs and sweeps.

pub mod run_progress;
pub mod sweep;
pub mod sweep_progress;

use terminal::{
    Exit, answer, json_errors, prepare, print_document, refuse, say, tables, warn, with_causes,
};
