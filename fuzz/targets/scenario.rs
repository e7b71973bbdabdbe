//! Runs `xoff_fuzz::scenario`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xoff_fuzz::{scenario, seeds};

fuzz_target!(init: seeds::write_if_asked(scenario::seeds), |input: &[u8]| scenario::check(input));
