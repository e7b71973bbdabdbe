//! Runs `xoff_fuzz::scenario`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use xoff_fuzz::{mutation, scenario, seeds};

fuzz_target!(init: seeds::write_if_asked(scenario::seeds), |input: &[u8]| scenario::check(input));
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate_text(data, size, max_size, seed)
});
