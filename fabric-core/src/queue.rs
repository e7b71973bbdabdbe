//! Egress queues of a port: up to 136 that carry data, and one for control ahead of them.
//!
//! A queue is not a priority. Each priority owns a range of queues, and a packet joins the one that its flow's
//! hash selects ([`QueueRanges`]); with ranges of one queue this is plain PFC. A pause of a class stops all
//! queues of its range; a pause of a queue stops only that queue.
//!
//! Where flows are spread over queues, these are numbers 0 to 127, which a neighbour can pause one by one, and a
//! priority with one queue has a number behind them.

mod range;
mod set;

use crate::map_abi::{PRIORITIES, QUEUE_ROWS};

pub use range::{QueueRange, QueueRanges, one_per_priority, one_per_priority_from, places};
pub use set::QueueSet;

/// Queues of a port that a neighbour can pause one by one, from number 0 on: the most that BFC is evaluated with
/// (Section 6.3).
pub const FLOW_QUEUES: u8 = 128;
/// Queues of a port that carry data: these, and one for each priority.
pub const MAX_DATA_QUEUES: usize = FLOW_QUEUES as usize + PRIORITIES;

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
        assert!((number as usize) < MAX_DATA_QUEUES, "data queues are 0 to 135");
        Self(number)
    }

    /// The queue that a table's word names.
    #[inline(always)]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits as u8)
    }

    /// 0 to 135, or 255 of the control queue.
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

    /// Whether a neighbour can pause it by itself.
    #[inline(always)]
    pub const fn is_flow_queue(self) -> bool {
        self.0 < FLOW_QUEUES
    }
}

impl core::fmt::Display for QueueId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if *self == Self::CONTROL { f.write_str("control") } else { self.0.fmt(f) }
    }
}

const _: () = assert!(QUEUE_ROWS == MAX_DATA_QUEUES + 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_a_place_of_its_own() {
        let data = (0..136).map(QueueId::data);
        let places = core::iter::once(QueueId::CONTROL).chain(data).map(QueueId::place);
        assert!(places.eq(0..=136));
        assert!((0..=136).all(|place| QueueId::of_place(place).place() == place));
    }

    #[test]
    fn an_address_names_a_queue_in_its_third_byte() {
        use crate::map_abi::{address_from_u64, address_to_u64};
        let own = [2, 2, 0, 1, 2, 3];
        let named = |queue: QueueId| address_to_u64(own) | queue.in_address();
        assert_eq!(address_from_u64(named(QueueId::CONTROL)), own);
        assert_eq!(address_from_u64(named(QueueId::data(127))), [2, 2, 128, 1, 2, 3]);
        let data = (0..136).map(QueueId::data);
        assert!(data.clone().all(|queue| QueueId::of_address(named(queue)) == queue));
        assert!(data.clone().all(QueueId::is_data) && !QueueId::CONTROL.is_data());
        assert!(!QueueId::of_address(0xff_0000).is_data(), "no port has it");
    }
}
