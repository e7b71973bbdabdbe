//! Runs `xoff_fuzz::ns3`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use xoff_fuzz::{mutation, ns3, seeds};

fuzz_target!(init: seeds::write_if_asked(ns3::seeds), |input: &[u8]| ns3::check(input));
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate_text(data, size, max_size, seed)
});
