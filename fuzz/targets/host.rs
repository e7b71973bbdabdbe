//! Runs `xoff_fuzz::host`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xoff_fuzz::{host, seeds};

fuzz_target!(init: seeds::write_if_asked(host::seeds), |input: &[u8]| host::check(input));
