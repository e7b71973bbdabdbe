//! Frames on their way to a node, and their order.

use units::Picos;

use crate::datapath::FrameId;

/// A frame on its way to a node. Its key orders a node's arrivals: the time of its last bit, then the port.
///
/// Two words, which stay in two registers. The compiler would copy three fields in memory, and the processor would
/// wait for the parts before it can load the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// See [`port_key`].
    pub key: u64,
    /// The frame's number, and in the low half its length, to which [`DAMAGED`] may be added.
    what: u64,
}

impl Arrival {
    #[inline]
    pub fn new(at: Picos, port: u16, frame: FrameId, length: u32) -> Self {
        Self { key: port_key(at, port), what: u64::from(frame.0) << 32 | u64::from(length) }
    }

    /// The frame.
    #[inline]
    pub fn frame(self) -> FrameId {
        FrameId((self.what >> 32) as u32)
    }

    /// Accounted length, as computed by the sender.
    #[inline]
    pub fn length(self) -> u32 {
        (self.what & u64::from(!DAMAGED)) as u32
    }

    /// True if its FCS is wrong.
    #[inline]
    pub fn is_damaged(self) -> bool {
        self.what & u64::from(DAMAGED) != 0
    }

    /// Instant at which its last bit arrives.
    #[inline]
    pub fn at(self) -> Picos {
        Picos(self.key >> PORT_BITS)
    }

    /// Port at which it arrives.
    #[inline]
    pub fn port(self) -> u16 {
        (self.key & ((1 << PORT_BITS) - 1)) as u16
    }
}

/// Flag added to the length of a frame that arrives with a wrong FCS.
pub const DAMAGED: u32 = 1 << 31;

/// Bits of a port's number.
pub const PORT_BITS: u32 = 8;
const _: () = assert!(topology::MAX_PORTS <= 1 << PORT_BITS, "a key names any port");

/// An instant and a port in one word, which orders them. Instants beyond the end of every scenario need not differ.
#[inline]
pub fn port_key(at: Picos, port: u16) -> u64 {
    const LAST: u64 = u64::MAX >> PORT_BITS;
    const { assert!(scenario::MAX_DURATION.0 < LAST) };
    at.0.min(LAST) << PORT_BITS | u64::from(port)
}

/// Sorts the arrivals of a window, which are spread over it about evenly: distributes them over as many intervals
/// as there are arrivals, then insertion-sorts. A comparison sort would mispredict every other comparison.
#[derive(Debug, Default)]
pub struct Sorter {
    /// Next position in each interval.
    places: Vec<u32>,
    sorted: Vec<Arrival>,
}

impl Sorter {
    /// Max number of arrivals for plain insertion.
    const FEW: usize = 12;
    /// Max number of arrivals in an interval. Beyond it, they are not spread evenly, and a comparison sort is used.
    const CROWD: u32 = 32;

    /// Sorts by key. The arrivals are from a window from `start` to `end`.
    pub fn sort(&mut self, arrivals: &mut Vec<Arrival>, start: Picos, end: Picos) {
        if arrivals.len() > Self::FEW && !self.distribute(arrivals, start, end) {
            return arrivals.sort_unstable_by_key(|arrival| arrival.key);
        }
        for at in 1..arrivals.len() {
            let arrival = arrivals[at];
            let mut place = at;
            while place > 0 && arrivals[place - 1].key > arrival.key {
                arrivals[place] = arrivals[place - 1];
                place -= 1;
            }
            arrivals[place] = arrival;
        }
    }

    /// Distributes arrivals over intervals, unless one of the intervals has a crowd.
    fn distribute(&mut self, arrivals: &mut Vec<Arrival>, start: Picos, end: Picos) -> bool {
        let (first, last) = (port_key(start, 0), port_key(end, 0));
        let intervals = arrivals.len().next_power_of_two();
        // The narrowest intervals that include the last key.
        let bits = u64::BITS - (last - first).leading_zeros();
        let shift = bits.saturating_sub(intervals.ilog2());
        let interval = |arrival: &Arrival| ((arrival.key - first) >> shift) as usize;
        self.places.clear();
        self.places.resize(intervals, 0);
        for arrival in &*arrivals {
            self.places[interval(arrival)] += 1;
        }
        let (mut next, mut most) = (0, 0);
        for place in &mut self.places {
            let count = std::mem::replace(place, next);
            next += count;
            most = most.max(count);
        }
        if most > Self::CROWD {
            return false;
        }
        // Every element is overwritten.
        self.sorted.resize(arrivals.len(), arrivals[0]);
        for &arrival in &*arrivals {
            let place = &mut self.places[interval(&arrival)];
            self.sorted[*place as usize] = arrival;
            *place += 1;
        }
        std::mem::swap(&mut self.sorted, arrivals);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn arrivals_are_sorted_by_time_and_port(
            keys in prop::collection::vec((0..5_000_000_u64, 0..256_u16), 0..300),
            scale in 0..30_u32,
        ) {
            let arrival = |(number, &(at, port)): (usize, &(u64, u16))| {
                Arrival::new(Picos(at << scale), port, FrameId(number as u32), 0)
            };
            let mut arrivals: Vec<Arrival> = keys.iter().enumerate().map(arrival).collect();
            let mut expected: Vec<u64> = arrivals.iter().map(|arrival| arrival.key).collect();
            expected.sort_unstable();
            let mut sorter = Sorter::default();
            let end = Picos(5_000_000 << scale);
            sorter.sort(&mut arrivals.iter().rev().copied().collect(), Picos::ZERO, end);
            sorter.sort(&mut arrivals, Picos::ZERO, end);
            let sorted: Vec<u64> = arrivals.iter().map(|arrival| arrival.key).collect();
            prop_assert_eq!(&sorted, &expected);
            let mut frames: Vec<u32> = arrivals.iter().map(|arrival| arrival.frame().0).collect();
            frames.sort_unstable();
            prop_assert!(frames.into_iter().eq(0..keys.len() as u32));
        }
    }
}
