//! Queues of each priority.

use super::{FLOW_QUEUES, QueueId, QueueSet};
use crate::map_abi::PRIORITIES;
use crate::priority::{self, Priority};

/// The queues of one priority: `count` queues with consecutive numbers from `first`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct QueueRange {
    /// First queue.
    pub first: u8,
    /// Number of queues. 0 counts as 1, so that a zeroed table has a queue for every packet.
    pub count: u8,
}

impl QueueRange {
    /// Creates a range of one queue.
    pub const fn one(queue: QueueId) -> Self {
        Self { first: queue.0, count: 1 }
    }

    /// Creates a range of `count` flow queues, at least 1, from `first`.
    ///
    /// # Panics
    /// If the range is empty or reaches beyond the flow queues.
    pub const fn flow_queues(first: u8, count: u8) -> Self {
        assert!(count > 0 && first as usize + count as usize <= FLOW_QUEUES as usize);
        Self { first, count }
    }

    /// Returns queue `number` of the range; numbers wrap around at its end.
    #[inline(always)]
    pub const fn member(self, number: u32) -> QueueId {
        if self.count <= 1 {
            return QueueId(self.first);
        }
        QueueId(self.first.wrapping_add((number % self.count as u32) as u8))
    }

    /// Returns the `number` for which [`member`](Self::member) returns `queue`, a queue of the range.
    #[inline(always)]
    pub const fn number_of(self, queue: QueueId) -> u32 {
        queue.0.wrapping_sub(self.first) as u32
    }

    /// Returns the last queue for labelled incasts, else the others (BFC, Appendix A.7). A single queue serves both.
    #[inline(always)]
    #[must_use]
    pub const fn for_incasts(self, is_labelled: bool) -> Self {
        // No branches: the verifier would follow each.
        let kept = (self.count > 1) as u8;
        let others = self.count - kept;
        let before = if is_labelled { others * kept } else { 0 };
        let behind = if is_labelled { 0 } else { kept };
        Self { first: self.first.wrapping_add(before), count: self.count - before - behind }
    }

    /// Returns all queues of the range as a set.
    #[inline(always)]
    pub const fn queues(self) -> QueueSet {
        if self.first == QueueId::CONTROL.0 || self.count <= 1 {
            return QueueSet::from_queue(QueueId(self.first));
        }
        let ones = if self.count >= 128 { u128::MAX } else { (1 << self.count) - 1 };
        QueueSet::from_flow_queues(ones << (self.first & 127))
    }

    /// Returns the flow queues of the range: bit n of the first word is queue n, bit n of the
    /// second word queue 64 + n. Two words because eBPF has no wider integers.
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

    /// Iterates over the queues of the range in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = QueueId> {
        (0..self.count.max(1)).map(move |member| QueueId(self.first.wrapping_add(member)))
    }

    /// Returns the queue of a flow. Calls `hash` only if there is a choice.
    #[inline(always)]
    pub fn select(self, hash: impl FnOnce() -> u32) -> QueueId {
        if self.count <= 1 {
            return QueueId(self.first);
        }
        let member = crate::routing::member(hash(), u32::from(self.count));
        QueueId(self.first.wrapping_add(member as u8))
    }
}

/// Mask of the lowest `bits` bits; all 64 if `bits` is 64 or more.
#[inline(always)]
const fn below(bits: u32) -> u64 {
    if bits >= u64::BITS { u64::MAX } else { (1 << bits) - 1 }
}

/// Queues of each priority. Two priorities may share queues; a pause of either stops them.
pub type QueueRanges = [QueueRange; PRIORITIES];

/// Assigns data queue n to priority n, and the control queue to the priority `control`.
pub fn one_per_priority(control: Option<Priority>) -> QueueRanges {
    one_per_priority_from(0, control)
}

/// Assigns one data queue to each priority, numbered from `first`; see [`one_per_priority`].
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

/// Returns the rows of a port in tables with one row for each queue: all data queues up to the last
/// in any range, and the control queue.
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
        assert_eq!(range.queues(), QueueSet::from_flow_queues(u128::MAX << 7));
        assert!(range.iter().all(|queue| range.member(range.number_of(queue)) == queue));
        for range in [
            range,
            QueueRange::flow_queues(0, 64),
            QueueRange::flow_queues(60, 8),
            QueueRange::flow_queues(64, 64),
        ] {
            let [low, high] = range.flow_queue_words().map(u128::from);
            assert_eq!(QueueSet::from_flow_queues(low | high << 64), range.queues());
        }
        assert_eq!(range.member(121), QueueId::data(7));
        assert_eq!(QueueRange::flow_queues(0, 128).queues().flow_queues(), u128::MAX);
        for one in [QueueId::CONTROL, QueueId::data(5)] {
            let range = QueueRange::one(one);
            assert_eq!(range.select(|| panic!("there is no choice")), one);
            assert_eq!(range.queues(), QueueSet::from_queue(one));
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
