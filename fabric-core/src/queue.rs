//! Egress queues of a port: up to 128 that carry data, and one for control ahead of them.
//!
//! A queue is not a priority. Each priority owns a range of queues, and a packet joins the one that its flow's
//! hash selects ([`QueueRanges`]); with ranges of one queue this is plain PFC. A pause of a class stops all
//! queues of its range; a pause of a queue stops only that queue.

use crate::map_abi::{PRIORITIES, QUEUE_ROWS};
use crate::priority::{self, Priority};

/// Queues of a port that carry data: the most that BFC is evaluated with (Section 6.3).
pub const MAX_DATA_QUEUES: usize = 128;

/// Where a station address has a queue: in its third byte.
const ADDRESS_SHIFT: u32 = 16;

/// One egress queue of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(u8);

impl QueueId {
    /// The queue that is served before all others.
    pub const CONTROL: Self = Self(u8::MAX);

    /// Data queue `number`.
    ///
    /// # Panics
    /// If there is no data queue with this number.
    pub const fn data(number: u8) -> Self {
        assert!((number as usize) < MAX_DATA_QUEUES, "data queues are 0 to 127");
        Self(number)
    }

    /// The queue that a table's word names.
    #[inline(always)]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits as u8)
    }

    /// 0 to 127, or 255 of the control queue.
    #[inline(always)]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its place among the queues of a port, the control queue first.
    #[inline(always)]
    pub const fn place(self) -> usize {
        self.0.wrapping_add(1) as usize
    }

    /// The inverse of [`place`](Self::place).
    #[inline(always)]
    pub const fn of_place(place: usize) -> Self {
        Self((place as u8).wrapping_sub(1))
    }

    /// The queue in a station address, as [`Port::address`](crate::map_abi::Port::address) holds it. A switch that
    /// tells its neighbour from which queue a packet comes puts the queue's place into the third byte of the source
    /// address, which is 0 in the stations' own addresses. There 0 names no data queue.
    #[inline(always)]
    pub const fn in_address(self) -> u64 {
        (self.place() as u64) << ADDRESS_SHIFT
    }

    /// The inverse of [`in_address`](Self::in_address).
    #[inline(always)]
    pub const fn of_address(address: u64) -> Self {
        Self::of_place((address >> ADDRESS_SHIFT & 0xff) as usize)
    }

    /// Whether it carries data and a port can have it.
    #[inline(always)]
    pub const fn is_data(self) -> bool {
        (self.0 as usize) < MAX_DATA_QUEUES
    }
}

impl core::fmt::Display for QueueId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if *self == Self::CONTROL { f.write_str("control") } else { self.0.fmt(f) }
    }
}

/// A set of the queues of a port, by their places.
///
/// Words of 64 bits instead of one wider number, because at most ports only the first word is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSet([u64; 3]);

impl QueueSet {
    /// No queue.
    pub const EMPTY: Self = Self([0; 3]);

    /// The data queues of a mask, bit n being queue n.
    #[inline(always)]
    pub const fn of_data(mask: u128) -> Self {
        Self([(mask << 1) as u64, (mask >> 63) as u64, (mask >> 127) as u64])
    }

    /// One queue.
    #[inline(always)]
    pub const fn of(queue: QueueId) -> Self {
        let place = queue.place();
        let mut set = Self::EMPTY;
        set.0[place >> 6] = 1 << (place & 63);
        set
    }

    /// Its data queues, bit n being queue n.
    pub const fn data(self) -> u128 {
        let [a, b, c] = self.0;
        (a >> 1) as u128 | (b as u128) << 63 | (c as u128) << 127
    }

    /// Whether the control queue is in the set.
    #[inline(always)]
    pub const fn has_control(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Puts a queue in.
    #[inline(always)]
    pub const fn insert(&mut self, queue: QueueId) {
        let place = queue.place();
        self.0[place >> 6] |= 1 << (place & 63);
    }

    /// Takes a queue out.
    #[inline(always)]
    pub const fn remove(&mut self, queue: QueueId) {
        let place = queue.place();
        self.0[place >> 6] &= !(1 << (place & 63));
    }

    /// Whether a queue is in the set.
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

    /// Whether no queue is in the set.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        let [a, b, c] = self.0;
        a | b | c == 0
    }

    /// The queues that are in both.
    #[inline(always)]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let (these, others) = (self.0, other.0);
        Self([these[0] & others[0], these[1] & others[1], these[2] & others[2]])
    }

    /// The queues that are in either.
    #[inline(always)]
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        let (these, others) = (self.0, other.0);
        Self([these[0] | others[0], these[1] | others[1], these[2] | others[2]])
    }

    /// The queues of this set that are not in `other`.
    #[inline(always)]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        let (these, others) = (self.0, other.0);
        Self([these[0] & !others[0], these[1] & !others[1], these[2] & !others[2]])
    }

    /// The highest data queue of the set.
    #[inline(always)]
    pub const fn highest_data(self) -> Option<QueueId> {
        let [a, b, c] = self.0;
        if c != 0 {
            Some(QueueId::data(127))
        } else if b != 0 {
            Some(QueueId::of_place(64 + b.ilog2() as usize))
        } else if a > 1 {
            Some(QueueId::of_place(a.ilog2() as usize))
        } else {
            None
        }
    }

    /// The first data queue of the set after `queue` in circular order, `queue` itself being the last.
    #[inline(always)]
    pub const fn next_data(self, queue: QueueId) -> Option<QueueId> {
        let data = Self([self.0[0] & !1, self.0[1], self.0[2]]);
        let place = queue.place();
        let beyond = !1 << (place & 63);
        let [a, b, c] = data.0;
        let behind = match place >> 6 {
            0 => Self([a & beyond, b, c]).first(),
            1 => Self([0, b & beyond, c]).first(),
            _ => None,
        };
        match behind {
            Some(queue) => Some(queue),
            None => data.first(),
        }
    }

    /// The queue in the first place.
    #[inline(always)]
    const fn first(self) -> Option<QueueId> {
        let [a, b, c] = self.0;
        if a != 0 {
            Some(QueueId::of_place(a.trailing_zeros() as usize))
        } else if b != 0 {
            Some(QueueId::of_place(64 + b.trailing_zeros() as usize))
        } else if c != 0 {
            Some(QueueId::of_place(128))
        } else {
            None
        }
    }

    /// Calls `visit` with its data queues in the order of [`iter`](Self::iter), in fewer instructions, for code that
    /// runs for every packet.
    #[inline(always)]
    pub fn for_each_data(self, mut visit: impl FnMut(QueueId)) {
        let [a, b, c] = self.0;
        let mut visit_all = |first: usize, mut word: u64| {
            while word != 0 {
                visit(QueueId::of_place(first + word.trailing_zeros() as usize));
                word &= word - 1;
            }
        };
        visit_all(0, a & !1);
        if b | c != 0 {
            visit_all(64, b);
            visit_all(128, c);
        }
    }

    /// Its queues, the control queue first.
    pub fn iter(mut self) -> impl Iterator<Item = QueueId> {
        core::iter::from_fn(move || {
            let first = self.first()?;
            self.remove(first);
            Some(first)
        })
    }
}

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

    /// `count` data queues, 1 at least, from `first` on.
    ///
    /// # Panics
    /// If they are not all data queues.
    pub const fn data(first: u8, count: u8) -> Self {
        assert!(count > 0 && first as usize + count as usize <= MAX_DATA_QUEUES);
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
        QueueSet::of_data(ones << (self.first & 127))
    }

    /// Its data queues, bit n being queue n, and of the second word, queue 64 + n. In words, as eBPF has no wider
    /// numbers.
    #[inline(always)]
    pub const fn data_words(self) -> [u64; 2] {
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
    let mut ranges = [QueueRange::default(); PRIORITIES];
    for priority in priority::all() {
        let queue = if control == Some(priority) {
            QueueId::CONTROL
        } else {
            QueueId::data(priority.number())
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

const _: () = assert!(QUEUE_ROWS == MAX_DATA_QUEUES + 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_a_place_of_its_own() {
        let data = (0..128).map(QueueId::data);
        let places = core::iter::once(QueueId::CONTROL).chain(data).map(QueueId::place);
        assert!(places.eq(0..=128));
        assert!((0..=128).all(|place| QueueId::of_place(place).place() == place));
    }

    #[test]
    fn an_address_names_a_queue_in_its_third_byte() {
        use crate::map_abi::{address_from_u64, address_to_u64};
        let own = [2, 2, 0, 1, 2, 3];
        let named = |queue: QueueId| address_to_u64(own) | queue.in_address();
        assert_eq!(address_from_u64(named(QueueId::CONTROL)), own);
        assert_eq!(address_from_u64(named(QueueId::data(127))), [2, 2, 128, 1, 2, 3]);
        let data = (0..128).map(QueueId::data);
        assert!(data.clone().all(|queue| QueueId::of_address(named(queue)) == queue));
        assert!(data.clone().all(QueueId::is_data) && !QueueId::CONTROL.is_data());
        assert!(!QueueId::of_address(0xff_0000).is_data(), "no port has it");
    }

    #[test]
    fn a_set_holds_any_of_the_129_queues() {
        let ends = [QueueId::CONTROL, QueueId::data(0), QueueId::data(127)];
        let set = ends.map(QueueSet::of).into_iter().fold(QueueSet::EMPTY, QueueSet::or);
        assert!(set.iter().eq(ends));
        let mut visited = Vec::new();
        set.for_each_data(|queue| visited.push(queue));
        assert_eq!(visited, ends[1..]);
        assert!(ends.iter().all(|&queue| set.contains(queue)));
        assert!(!set.contains(QueueId::data(1)) && !QueueSet::EMPTY.contains(QueueId::CONTROL));
        let rest = set.without(QueueSet::of(QueueId::CONTROL)).and(QueueSet::of(ends[2]));
        assert!(rest.iter().eq([QueueId::data(127)]));
        assert!(QueueSet::EMPTY.is_empty() && !set.is_empty());
        assert!(set.has_control() && !rest.has_control());
        assert_eq!(QueueSet::of_data(set.data()).data(), 1 << 127 | 1);
        assert_eq!(set.highest_data(), Some(ends[2]));
        assert_eq!(QueueSet::of_data(0b110).highest_data(), Some(QueueId::data(2)));
        assert_eq!(QueueSet::of(QueueId::CONTROL).highest_data(), None);
    }

    #[test]
    fn queues_go_in_and_out_one_by_one() {
        let mut set = QueueSet::EMPTY;
        let queues = [64, 63, 0, 127].map(QueueId::data).into_iter().chain([QueueId::CONTROL]);
        for queue in queues {
            let before = set;
            set.insert(queue);
            set.insert(queue);
            assert_eq!(set, before.or(QueueSet::of(queue)));
            let mut without = set;
            without.remove(queue);
            without.remove(queue);
            assert_eq!(without, before);
        }
    }

    #[test]
    fn the_circle_passes_the_end_and_returns_to_its_start() {
        let next = |mask, queue| {
            let next = QueueSet::of_data(mask).next_data(QueueId::data(queue));
            next.map(QueueId::number)
        };
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

    #[test]
    fn a_hash_selects_any_queue_of_a_range_and_no_other() {
        let range = QueueRange::data(7, 121);
        assert_eq!(range.select(|| 0), QueueId::data(7));
        assert_eq!(range.select(|| u32::MAX), QueueId::data(127));
        assert_eq!(range.queues(), QueueSet::of_data(u128::MAX << 7));
        assert!(range.iter().all(|queue| range.member(range.number_of(queue)) == queue));
        for range in
            [range, QueueRange::data(0, 64), QueueRange::data(60, 8), QueueRange::data(64, 64)]
        {
            let [low, high] = range.data_words().map(u128::from);
            assert_eq!(QueueSet::of_data(low | high << 64), range.queues());
        }
        assert_eq!(range.member(121), QueueId::data(7));
        assert_eq!(QueueRange::data(0, 128).queues().data(), u128::MAX);
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
        ranges[3] = QueueRange::data(8, 120);
        assert_eq!(places(&ranges), QUEUE_ROWS);
    }
}
