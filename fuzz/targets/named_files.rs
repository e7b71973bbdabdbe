//! Runs `xoff_fuzz::named_files`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xoff_fuzz::{named_files, seeds};

fuzz_target!(init: seeds::write_if_asked(named_files::seeds), |input: &[u8]| named_files::check(input));
