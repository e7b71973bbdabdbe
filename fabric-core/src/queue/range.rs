//! The queues of each priority.

use super::{FLOW_QUEUES, QueueId, QueueSet};
use crate::map_abi::PRIORITIES;
use crate::priority::{self, Priority};

/// The queues of one priority: `count` from `first` on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct QueueRange {
    /// The first of them.
    pub first: u8,
    /// How many there are. 0 counts as 1, so that a table of zeros has a queue for every packet.
    pub count: u8,
}

impl QueueRange {
    /// One queue.
    pub const fn one(queue: QueueId) -> Self {
        Self { first: queue.0, count: 1 }
    }

    /// `count` flow queues, 1 at least, from `first` on.
    ///
    /// # Panics
    /// If they are not all flow queues.
    pub const fn flow_queues(first: u8, count: u8) -> Self {
        assert!(count > 0 && first as usize + count as usize <= FLOW_QUEUES as usize);
        Self { first, count }
    }

    /// Its queue `number`, counted on from the first again behind the last.
    #[inline(always)]
    pub const fn member(self, number: u32) -> QueueId {
        if self.count <= 1 {
            return QueueId(self.first);
        }
        QueueId(self.first.wrapping_add((number % self.count as u32) as u8))
    }

    /// The inverse of [`member`](Self::member), of a queue of the range.
    #[inline(always)]
    pub const fn number_of(self, queue: QueueId) -> u32 {
        queue.0.wrapping_sub(self.first) as u32
    }

    /// The last of its queues for labelled incasts, the others for all else (BFC, Appendix A.7); of one queue, that one.
    #[inline(always)]
    #[must_use]
    pub const fn for_incasts(self, is_labelled: bool) -> Self {
        // Without branches, of which the verifier would follow each.
        let kept = (self.count > 1) as u8;
        let others = self.count - kept;
        let before = if is_labelled { others * kept } else { 0 };
        let behind = if is_labelled { 0 } else { kept };
        Self { first: self.first.wrapping_add(before), count: self.count - before - behind }
    }

    /// All queues of the range.
    #[inline(always)]
    pub const fn queues(self) -> QueueSet {
        if self.first == QueueId::CONTROL.0 || self.count <= 1 {
            return QueueSet::of(QueueId(self.first));
        }
        let ones = if self.count >= 128 { u128::MAX } else { (1 << self.count) - 1 };
        QueueSet::of_flow_queues(ones << (self.first & 127))
    }

    /// Its flow queues, bit n being queue n, and of the second word, queue 64 + n. In words, as eBPF has no wider
    /// numbers.
    #[inline(always)]
    pub const fn flow_queue_words(self) -> [u64; 2] {
        if self.first == QueueId::CONTROL.0 {
            return [0; 2];
        }
        let first = self.first as u32;
        let end = first + if self.count == 0 { 1 } else { self.count as u32 };
        [
            below(end) & !below(first),
            below(end.saturating_sub(64)) & !below(first.saturating_sub(64)),
        ]
    }

    /// All queues of the range, one after another.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = QueueId> {
        (0..self.count.max(1)).map(move |member| QueueId(self.first.wrapping_add(member)))
    }

    /// The queue of a flow; asks for its hash only where there is a choice.
    #[inline(always)]
    pub fn select(self, hash: impl FnOnce() -> u32) -> QueueId {
        if self.count <= 1 {
            return QueueId(self.first);
        }
        let member = crate::routing::member(hash(), u32::from(self.count));
        QueueId(self.first.wrapping_add(member as u8))
    }
}

/// The lowest `bits` bits, all if there are no more than 64.
#[inline(always)]
const fn below(bits: u32) -> u64 {
    if bits >= u64::BITS { u64::MAX } else { (1 << bits) - 1 }
}

/// The queues of each priority. Two priorities may share queues; a pause of either stops them.
pub type QueueRanges = [QueueRange; PRIORITIES];

/// A queue for each priority, by its number, except for the priority whose packets use the control queue.
pub fn one_per_priority(control: Option<Priority>) -> QueueRanges {
    one_per_priority_from(0, control)
}

/// The same with data queues from `first` on.
pub fn one_per_priority_from(first: u8, control: Option<Priority>) -> QueueRanges {
    let mut ranges = [QueueRange::default(); PRIORITIES];
    for priority in priority::all() {
        let queue = if control == Some(priority) {
            QueueId::CONTROL
        } else {
            QueueId::data(first + priority.number())
        };
        ranges[priority.index()] = QueueRange::one(queue);
    }
    ranges
}

/// Rows of a port in tables with one row for each queue: those up to the last data queue of any range, and the
/// control queue's.
pub fn places(ranges: &QueueRanges) -> usize {
    let last = ranges.iter().filter(|range| range.first != QueueId::CONTROL.0);
    let places = last.map(|range| usize::from(range.first) + usize::from(range.count.max(1)) + 1);
    places.max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_abi::QUEUE_ROWS;

    #[test]
    fn a_hash_selects_any_queue_of_a_range_and_no_other() {
        let range = QueueRange::flow_queues(7, 121);
        assert_eq!(range.select(|| 0), QueueId::data(7));
        assert_eq!(range.select(|| u32::MAX), QueueId::data(127));
        assert_eq!(range.queues(), QueueSet::of_flow_queues(u128::MAX << 7));
        assert!(range.iter().all(|queue| range.member(range.number_of(queue)) == queue));
        for range in [
            range,
            QueueRange::flow_queues(0, 64),
            QueueRange::flow_queues(60, 8),
            QueueRange::flow_queues(64, 64),
        ] {
            let [low, high] = range.flow_queue_words().map(u128::from);
            assert_eq!(QueueSet::of_flow_queues(low | high << 64), range.queues());
        }
        assert_eq!(range.member(121), QueueId::data(7));
        assert_eq!(QueueRange::flow_queues(0, 128).queues().flow_queues(), u128::MAX);
        for one in [QueueId::CONTROL, QueueId::data(5)] {
            let range = QueueRange::one(one);
            assert_eq!(range.select(|| panic!("there is no choice")), one);
            assert_eq!(range.queues(), QueueSet::of(one));
            assert_eq!([range.member(0), range.member(9)], [one; 2]);
        }
        assert_eq!(QueueRange::default().select(|| 9), QueueId::data(0), "a table of zeros");
    }

    #[test]
    fn a_port_has_as_many_places_as_its_priorities_need() {
        assert_eq!(places(&one_per_priority(None)), 9);
        assert_eq!(places(&one_per_priority(Some(Priority::new(7)))), 8);
        let mut ranges = one_per_priority(Some(Priority::new(6)));
        ranges[3] = QueueRange::flow_queues(8, 120);
        assert_eq!(places(&ranges), 129);
        assert_eq!(places(&one_per_priority_from(128, None)), QUEUE_ROWS);
    }
}
