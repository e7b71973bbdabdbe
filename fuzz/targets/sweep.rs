//! Runs `xoff_fuzz::sweep`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xoff_fuzz::{seeds, sweep};

fuzz_target!(init: seeds::write_if_asked(sweep::seeds), |input: &[u8]| sweep::check(input));
