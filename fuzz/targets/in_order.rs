//! Runs `xoff_fuzz::in_order`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xoff_fuzz::{in_order, seeds};

fuzz_target!(init: seeds::write_if_asked(in_order::seeds), |input: &[u8]| in_order::check(input));
