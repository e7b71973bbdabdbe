//! Max buffer size of a switch, and the number of packets a buffer holds.

use units::Bytes;

use crate::map_abi::MAX_SLOTS;
use crate::wire::ethernet::MINIMUM_FRAME_LENGTH;

/// Largest buffer that has enough descriptors even if every frame has the minimum length.
pub const MAX_BUFFER: Bytes = Bytes((MAX_SLOTS * MINIMUM_FRAME_LENGTH) as u64);

const _: () = assert!(
    MAX_BUFFER.0.checked_mul(u32::MAX as u64).is_some(),
    "any alpha times the free bytes of a buffer fits into 64 bits"
);

/// Number of minimum-length frames that fill a buffer.
pub const fn frames_in(buffer: Bytes) -> u64 {
    buffer.0 / MINIMUM_FRAME_LENGTH as u64
}

/// Descriptors for a buffer of at most [`MAX_BUFFER`]: one for each packet it can hold, at least 1.
pub fn slots_for(buffer: Bytes) -> u32 {
    assert!(buffer <= MAX_BUFFER, "{buffer:?} is more than there are descriptors for");
    let slots = frames_in(buffer).max(1);
    slots.try_into().expect("the largest buffer has 2^24 slots")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_slot_for_every_frame_of_any_buffer() {
        for (buffer, slots) in [
            (0, 1),
            (59, 1),
            (60 * 4096, 4096),
            (60 * 4097 + 59, 4097),
            (16_000_000, 266_666),
            (MAX_BUFFER.0, 1 << 24),
        ] {
            assert_eq!(slots_for(Bytes(buffer)), slots, "{buffer}");
        }
    }
}
