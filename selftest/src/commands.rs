//! `xoff doctor` and `xoff selftest`.

pub mod doctor;
pub mod selftest;

use analysis::checked::load;
use terminal::{Exit, answer, json_errors, prepare, print, refuse, warn, with_causes};
