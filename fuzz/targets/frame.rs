//! Runs `xoff_fuzz::frame`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xoff_fuzz::{frame, seeds};

fuzz_target!(init: seeds::write_if_asked(frame::seeds), |input: &[u8]| frame::check(input));
