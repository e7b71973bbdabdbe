//! What a descriptor keeps of a packet.

use super::Options;
use crate::queue::QueueId;

/// The queue of the neighbour whose pause counter counts the packet, and the entry of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note(u32);

const ENTRY_AT: u32 = 8;
const _: () = assert!(Options::MOST_ENTRIES < 1 << (u32::BITS - ENTRY_AT));

impl Note {
    /// Of a packet that counts for this queue of the neighbour, if for one, and whose flow has entry `entry` of the flow
    /// table.
    #[inline(always)]
    pub const fn new(counted: Option<QueueId>, entry: u32) -> Self {
        let place = match counted {
            Some(queue) => queue.place() as u32,
            None => 0,
        };
        Self(place | entry << ENTRY_AT)
    }

    /// As a descriptor has it.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`to_bits`](Self::to_bits).
    #[inline(always)]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The entry of its flow.
    #[inline(always)]
    pub const fn entry(self) -> u32 {
        self.0 >> ENTRY_AT
    }

    /// The queue of the neighbour whose pause counter counts it, if one does.
    #[inline(always)]
    pub const fn counted(self) -> Option<QueueId> {
        match self.0 & 0xff {
            0 => None,
            place => Some(QueueId::of_place(place as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_what_it_was_made_of() {
        for counted in [None, Some(QueueId::data(0)), Some(QueueId::data(127))] {
            for entry in [0, 1, Options::MOST_ENTRIES] {
                let note = Note::of_bits(Note::new(counted, entry).to_bits());
                assert_eq!((note.counted(), note.entry()), (counted, entry));
            }
        }
    }
}
