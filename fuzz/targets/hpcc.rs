//! Runs `xoff_fuzz::hpcc`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xoff_fuzz::{hpcc, seeds};

fuzz_target!(init: seeds::write_if_asked(hpcc::seeds), |input: &[u8]| hpcc::check(input));
