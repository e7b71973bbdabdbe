//! From the numbers of segments to sequence numbers, and back.

use units::Bytes;

use crate::segmentation::Segmentation;

/// The sequence numbers of one direction's data: SYN, the flow's bytes, FIN.
#[derive(Clone, Copy, Debug)]
pub struct SequenceSpace {
    segmentation: Segmentation,
    /// Sequence number of the SYN (ISS).
    initial: u32,
}

impl SequenceSpace {
    /// Sequence space of a flow of `bytes` in segments of at most `payload` bytes.
    pub fn new(initial: u32, bytes: u64, payload: u16) -> Self {
        Self { segmentation: Segmentation::new(bytes, payload.into()), initial }
    }

    /// Sequence number of the SYN (ISS).
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// Segments with data, at least 1; the last one has FIN.
    #[inline]
    pub fn segments(&self) -> u64 {
        self.segmentation.packets()
    }

    /// Payload bytes before segment `number`.
    #[inline]
    pub fn bytes_before(&self, number: u64) -> u64 {
        self.segmentation.bytes_before(number)
    }

    /// Payload bytes of segment `number`.
    #[inline]
    pub fn payload_of(&self, number: u64) -> Bytes {
        Bytes(self.segmentation.payload_of(number))
    }

    /// Payload bytes of a full segment, or of the only one.
    #[inline]
    pub fn full_payload(&self) -> Bytes {
        self.payload_of(0)
    }

    /// The sequence number that follows all segments before `number`: FIN counts as the byte behind the last.
    #[inline]
    pub fn start_of(&self, number: u64) -> u32 {
        self.at(self.bytes_before(number) + u64::from(number >= self.segments()))
    }

    /// The sequence number of byte `place` of the flow.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap")]
    fn at(&self, place: u64) -> u32 {
        self.initial.wrapping_add(1).wrapping_add(place as u32)
    }

    /// Byte offset in the flow of a sequence number, if within 2^31 of segment `near`. One past the flow's end is the
    /// offset of FIN.
    #[inline]
    pub fn place(&self, sequence: u32, near: u64) -> Option<u64> {
        let origin = self.bytes_before(near);
        let distance = sequence.wrapping_sub(self.at(origin)).cast_signed();
        origin.checked_add_signed(distance.into())
    }

    /// Whole segments before byte offset `place`. The last segment ends behind FIN.
    #[inline]
    pub fn segments_before(&self, place: u64) -> u64 {
        let last = self.segments() - 1;
        let end = self.bytes_before(self.segments());
        if place > end { last + 1 } else { (place / self.full_payload().0.max(1)).min(last) }
    }

    /// The segment that starts at `place`, if one does.
    #[inline]
    pub fn starting_at(&self, place: u64) -> Option<u64> {
        let number = place / self.full_payload().0.max(1);
        (number < self.segments() && self.bytes_before(number) == place).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_sequence_numbers() {
        let space = SequenceSpace::new(u32::MAX - 500, 2500, 1000);
        assert_eq!(space.segments(), 3);
        let starts = [0, 1, 2, 3].map(|number| space.start_of(number));
        assert_eq!(starts, [u32::MAX - 499, 500, 1500, 2001], "FIN is behind the last byte");
        for near in 0..=3 {
            for (number, start) in (0..3).zip(starts) {
                let place = space.place(start, near).unwrap();
                assert_eq!(place, number * 1000);
                assert_eq!(
                    (space.starting_at(place), space.segments_before(place)),
                    (Some(number), number)
                );
            }
            assert_eq!(space.place(2001, near), Some(2501));
        }
        for (place, before) in [(999, 0), (1001, 1), (2499, 2), (2500, 2), (2501, 3)] {
            assert_eq!(space.segments_before(place), before, "{place}");
        }
        assert_eq!(space.starting_at(1001), None);
        assert_eq!(space.starting_at(2500), None);
        assert_eq!(space.place(starts[0].wrapping_sub(1), 0), None, "before the flow");
    }

    #[test]
    fn a_flow_beyond_all_sequence_numbers() {
        let space = SequenceSpace::new(7, 20_000_000_000, 1000);
        let near = 19_000_000;
        let place = space.place(space.start_of(near + 3), near);
        assert_eq!(place, Some((near + 3) * 1000));
    }

    #[test]
    fn an_empty_flow_is_one_segment() {
        let space = SequenceSpace::new(0, 0, 1000);
        assert_eq!((space.segments(), space.start_of(0), space.start_of(1)), (1, 1, 2));
        assert_eq!((space.segments_before(0), space.segments_before(1)), (0, 1));
        assert_eq!((space.starting_at(0), space.starting_at(1)), (Some(0), None));
    }
}
