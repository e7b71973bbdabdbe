//! Sets of the queues of a port.

use super::QueueId;
use crate::map_abi::PRIORITIES;

/// Set of queues of a port, as bits at the queues' places.
///
/// Three 64-bit words instead of one wider integer, because at most ports only the first word is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSet([u64; 3]);

impl QueueSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; 3]);

    /// All data queues that a port can have.
    pub const ALL_DATA: Self = Self([!1, u64::MAX, (2 << PRIORITIES) - 1]);

    /// Creates a set of flow queues from a mask; bit n is queue n.
    #[inline(always)]
    pub const fn from_flow_queues(mask: u128) -> Self {
        Self([(mask << 1) as u64, (mask >> 63) as u64, (mask >> 127) as u64])
    }

    /// Creates a set of one queue.
    #[inline(always)]
    pub const fn from_queue(queue: QueueId) -> Self {
        let place = queue.place();
        let mut set = Self::EMPTY;
        set.0[place >> 6] = 1 << (place & 63);
        set
    }

    /// Returns the flow queues of the set as a mask; bit n is queue n.
    pub const fn flow_queues(self) -> u128 {
        let [a, b, c] = self.0;
        (a >> 1) as u128 | (b as u128) << 63 | (c as u128) << 127
    }

    /// True if the control queue is in the set.
    #[inline(always)]
    pub const fn has_control(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Adds a queue.
    #[inline(always)]
    pub const fn insert(&mut self, queue: QueueId) {
        let place = queue.place();
        self.0[place >> 6] |= 1 << (place & 63);
    }

    /// Removes a queue.
    #[inline(always)]
    pub const fn remove(&mut self, queue: QueueId) {
        let place = queue.place();
        self.0[place >> 6] &= !(1 << (place & 63));
    }

    /// True if `queue` is in the set.
    #[inline(always)]
    pub const fn contains(self, queue: QueueId) -> bool {
        let [a, b, c] = self.0;
        let place = queue.place();
        let word = match place >> 6 {
            0 => a,
            1 => b,
            _ => c,
        };
        word >> (place & 63) & 1 != 0
    }

    /// True if the set is empty.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        let [a, b, c] = self.0;
        a | b | c == 0
    }

    /// Returns the queues that are in both sets.
    #[inline(always)]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let (these, others) = (self.0, other.0);
        Self([these[0] & others[0], these[1] & others[1], these[2] & others[2]])
    }

    /// Returns the queues that are in either set.
    #[inline(always)]
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        let (these, others) = (self.0, other.0);
        Self([these[0] | others[0], these[1] | others[1], these[2] | others[2]])
    }

    /// Returns the queues of this set that are not in `other`.
    #[inline(always)]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        let (these, others) = (self.0, other.0);
        Self([these[0] & !others[0], these[1] & !others[1], these[2] & !others[2]])
    }

    /// Returns the highest data queue of the set.
    #[inline(always)]
    pub const fn highest_data(self) -> Option<QueueId> {
        let [a, b, c] = self.0;
        if c != 0 {
            Some(QueueId::from_place(128 + c.ilog2() as usize))
        } else if b != 0 {
            Some(QueueId::from_place(64 + b.ilog2() as usize))
        } else if a > 1 {
            Some(QueueId::from_place(a.ilog2() as usize))
        } else {
            None
        }
    }

    /// Returns the only queue of a set of one queue, if it is a data queue among the first 63. Other sets give `None`,
    /// even sets of one higher queue: this shortcut of DWRR is worth testing only one word.
    #[inline(always)]
    pub const fn only_data(self) -> Option<QueueId> {
        let [a, b, c] = self.0;
        let is_one = b | c == 0 && a > 1 && a.is_power_of_two();
        if is_one { Some(QueueId::from_place(a.trailing_zeros() as usize)) } else { None }
    }

    /// Returns the first data queue of the set after `queue` in circular order; `queue` itself comes last.
    #[inline(always)]
    pub const fn next_data(self, queue: QueueId) -> Option<QueueId> {
        let [a, b, c] = self.0;
        if b | c != 0 {
            return self.next_data_of_many(queue);
        }
        let (data, place) = (a & !1, queue.place());
        let behind = if place < 64 { data & (!1 << place) } else { 0 };
        let candidates = if behind != 0 { behind } else { data };
        if candidates == 0 {
            return None;
        }
        Some(QueueId::from_place(candidates.trailing_zeros() as usize))
    }

    /// Computes [`next_data`](Self::next_data) of a set beyond the first word. A call, so that small sets pay only for
    /// a comparison.
    #[cold]
    #[inline(never)]
    const fn next_data_of_many(self, queue: QueueId) -> Option<QueueId> {
        let data = Self([self.0[0] & !1, self.0[1], self.0[2]]);
        let place = queue.place();
        let beyond = !1 << (place & 63);
        let [a, b, c] = data.0;
        let behind = match place >> 6 {
            0 => Self([a & beyond, b, c]).first(),
            1 => Self([0, b & beyond, c]).first(),
            2 => Self([0, 0, c & beyond]).first(),
            _ => None,
        };
        match behind {
            Some(queue) => Some(queue),
            None => data.first(),
        }
    }

    /// Returns the queue in the lowest place.
    #[inline(always)]
    const fn first(self) -> Option<QueueId> {
        let [a, b, c] = self.0;
        if a != 0 {
            Some(QueueId::from_place(a.trailing_zeros() as usize))
        } else if b != 0 {
            Some(QueueId::from_place(64 + b.trailing_zeros() as usize))
        } else if c != 0 {
            Some(QueueId::from_place(128 + c.trailing_zeros() as usize))
        } else {
            None
        }
    }

    /// Calls `visit` with the data queues in the order of [`iter`](Self::iter). Needs fewer
    /// instructions than an iterator, for code that runs for every packet.
    #[inline(always)]
    pub fn for_each_data(self, mut visit: impl FnMut(QueueId)) {
        let [a, b, c] = self.0;
        let mut visit_all = |first: usize, mut word: u64| {
            while word != 0 {
                visit(QueueId::from_place(first + word.trailing_zeros() as usize));
                word &= word - 1;
            }
        };
        visit_all(0, a & !1);
        if b | c != 0 {
            visit_all(64, b);
            visit_all(128, c);
        }
    }

    /// Iterates over the queues, the control queue first.
    pub fn iter(mut self) -> impl Iterator<Item = QueueId> {
        core::iter::from_fn(move || {
            let first = self.first()?;
            self.remove(first);
            Some(first)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_any_of_the_137_queues() {
        let ends = [QueueId::CONTROL, QueueId::data(0), QueueId::data(135)];
        let set = ends.map(QueueSet::from_queue).into_iter().fold(QueueSet::EMPTY, QueueSet::or);
        assert!(set.iter().eq(ends));
        let mut visited = Vec::new();
        set.for_each_data(|queue| visited.push(queue));
        assert_eq!(visited, ends[1..]);
        assert!(ends.iter().all(|&queue| set.contains(queue)));
        assert!(!set.contains(QueueId::data(1)) && !QueueSet::EMPTY.contains(QueueId::CONTROL));
        let rest =
            set.without(QueueSet::from_queue(QueueId::CONTROL)).and(QueueSet::from_queue(ends[2]));
        assert!(rest.iter().eq([ends[2]]));
        assert!(QueueSet::EMPTY.is_empty() && !set.is_empty());
        assert!(set.has_control() && !rest.has_control());
        assert_eq!(QueueSet::from_flow_queues(1 << 127 | 1).flow_queues(), 1 << 127 | 1);
        assert_eq!(set.flow_queues(), 1);
        assert!(QueueSet::ALL_DATA.iter().eq((0..136).map(QueueId::data)));
        assert_eq!(set.highest_data(), Some(ends[2]));
        assert_eq!(QueueSet::from_flow_queues(0b110).highest_data(), Some(QueueId::data(2)));
        assert_eq!(QueueSet::from_queue(QueueId::CONTROL).highest_data(), None);
    }

    #[test]
    fn queues_go_in_and_out_one_by_one() {
        let mut set = QueueSet::EMPTY;
        let queues =
            [64, 63, 0, 127, 128, 135].map(QueueId::data).into_iter().chain([QueueId::CONTROL]);
        for queue in queues {
            let before = set;
            set.insert(queue);
            set.insert(queue);
            assert_eq!(set, before.or(QueueSet::from_queue(queue)));
            let mut without = set;
            without.remove(queue);
            without.remove(queue);
            assert_eq!(without, before);
        }
    }

    #[test]
    fn a_set_of_one_data_queue_names_it() {
        for queues in [0, 1, 2, 3, 4, 6, 1 << 62, 1 << 63, 3 << 62, 1 << 64, 1 << 64 | 1] {
            let set = QueueSet::from_flow_queues(queues);
            let only =
                set.iter().next().filter(|queue| set.iter().count() == 1 && queue.place() < 64);
            assert_eq!(set.only_data(), only, "{queues:#x}");
        }
        let mut set = QueueSet::from_queue(QueueId::CONTROL);
        assert_eq!(set.only_data(), None);
        set.insert(QueueId::data(5));
        assert_eq!(set.only_data(), None, "the control queue is beside it");
    }

    #[test]
    fn the_cycle_passes_the_end_and_returns_to_its_start() {
        let next = |mask, queue| {
            let next = QueueSet::from_flow_queues(mask).next_data(QueueId::data(queue));
            next.map(QueueId::number)
        };
        let all = QueueSet::ALL_DATA;
        let next_of_all = |queue| all.next_data(QueueId::data(queue)).map(QueueId::number);
        assert!((0..136).all(|queue| next_of_all(queue) == Some((queue + 1) % 136)));
        assert_eq!(next(0b1001, 0), Some(3));
        assert_eq!(next(0b1001, 3), Some(0));
        assert_eq!(next(1 << 127, 127), Some(127));
        assert_eq!(next(1 << 127 | 1, 127), Some(0));
        assert_eq!(next(1 << 127 | 1, 0), Some(127));
        assert_eq!(next(1 << 64 | 1 << 63, 63), Some(64));
        assert_eq!(next(1 << 64 | 1 << 63, 64), Some(63));
        assert_eq!(next(1 << 5, 5), Some(5));
        assert_eq!(next(0, 5), None);
    }
}
