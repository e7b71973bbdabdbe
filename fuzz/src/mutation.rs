//! Custom mutations, which libFuzzer calls to change an input.

use libfuzzer_sys::fuzzer_mutate;

use crate::words;

/// Changes the text that is the first `size` bytes of `data`, which has room for `max_size`, and returns the new
/// size: bytes as libFuzzer does, or words and lines, as often.
pub fn mutate_text(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let text = std::str::from_utf8(&data[..size]).ok();
    let changed =
        text.filter(|_| seed.is_multiple_of(2)).and_then(|text| words::mutate(text, seed));
    match changed {
        Some(text) if text.len() <= max_size => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
}
