//! BFC's note about a packet in its descriptor.

use super::Options;
use crate::queue::QueueId;

/// The neighbour's queue whose pause counter counts the packet, and the entry of the flow table that counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note(u32);

/// Lowest bit of the entry's number plus 1; 0 means no entry.
const ENTRY_AT: u32 = 8;
const _: () = assert!(Options::MAX_ENTRIES < 1 << (u32::BITS - ENTRY_AT));

impl Note {
    /// Creates the note of a packet. `None` means that no pause counter or no entry counts the packet.
    #[inline(always)]
    pub const fn new(counted: Option<QueueId>, entry: Option<u32>) -> Self {
        let place = match counted {
            Some(queue) => queue.place() as u32,
            None => 0,
        };
        let entry = match entry {
            Some(number) => number + 1,
            None => 0,
        };
        Self(place | entry << ENTRY_AT)
    }

    /// Encodes the note for a descriptor.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Decodes the output of [`to_bits`](Self::to_bits).
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the entry that counts the packet, if any.
    #[inline(always)]
    pub const fn entry(self) -> Option<u32> {
        match self.0 >> ENTRY_AT {
            0 => None,
            entry => Some(entry - 1),
        }
    }

    /// Returns the neighbour's queue whose pause counter counts the packet, if any.
    #[inline(always)]
    pub const fn counted(self) -> Option<QueueId> {
        match self.0 & 0xff {
            0 => None,
            place => Some(QueueId::from_place(place as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_what_it_was_made_of() {
        for counted in [None, Some(QueueId::data(0)), Some(QueueId::data(127))] {
            for entry in [None, Some(0), Some(1), Some(Options::MAX_ENTRIES - 1)] {
                let note = Note::from_bits(Note::new(counted, entry).to_bits());
                assert_eq!((note.counted(), note.entry()), (counted, entry));
            }
        }
    }
}
