//! Runs `xoff_fuzz::named_files`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use xoff_fuzz::{mutation, named_files, seeds};

fuzz_target!(init: seeds::write_if_asked(named_files::seeds), |input: &[u8]| named_files::check(input));
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate_text(data, size, max_size, seed)
});
