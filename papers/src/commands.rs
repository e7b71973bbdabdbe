//! `xoff reproduce`.

pub mod reproduce;

use ::sweep::commands::{sweep, sweep_progress};
use terminal::{Exit, answer, json_errors, require_place, say};
