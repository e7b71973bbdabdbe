//! Runs `xoff_fuzz::hpcc`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use xoff_fuzz::{hpcc, mutation, seeds};

fuzz_target!(init: seeds::write_if_asked(hpcc::seeds), |input: &[u8]| hpcc::check(input));
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::of_text(data, size, max_size, seed)
});
