//! Egress queues of a port: up to 136 data queues, and a control queue that is served first.
//!
//! A queue is not a priority. Each priority has a range of queues, and a flow's hash selects one
//! queue of the range ([`QueueRanges`]); with ranges of one queue this is plain PFC. A pause of a
//! class stops all queues of its range; a pause of a queue stops only that queue.
//!
//! A neighbour can pause queues 0 to 127 one by one: these are the queues of priorities whose flows
//! are spread over several queues. A priority with one queue then has a number behind them.

mod range;
mod set;

use crate::map_abi::{PRIORITIES, QUEUE_ROWS};

pub use range::{QueueRange, QueueRanges, one_per_priority, one_per_priority_from, places};
pub use set::QueueSet;

/// Queues of a port that a neighbour can pause one by one, numbered from 0: the max number that BFC
/// is evaluated with (Section 6.3).
pub const FLOW_QUEUES: u8 = 128;
/// Max data queues of a port: the flow queues, and one for each priority.
pub const MAX_DATA_QUEUES: usize = FLOW_QUEUES as usize + PRIORITIES;

/// Position of the queue in a MAC address: the third byte.
const ADDRESS_SHIFT: u32 = 16;

/// One egress queue of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(u8);

impl QueueId {
    /// The control queue, which is served before all others.
    pub const CONTROL: Self = Self(u8::MAX);

    /// Creates data queue `number`.
    ///
    /// # Panics
    /// If `number` is above 135.
    pub const fn data(number: u8) -> Self {
        assert!((number as usize) < MAX_DATA_QUEUES, "data queues are 0 to 135");
        Self(number)
    }

    /// Returns the queue in the low byte of a table's word.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits as u8)
    }

    /// Returns the number: 0 to 135, or 255 for the control queue.
    #[inline(always)]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the queue's position in a port's tables, in which the control queue is first.
    #[inline(always)]
    pub const fn place(self) -> usize {
        self.0.wrapping_add(1) as usize
    }

    /// The inverse of [`place`](Self::place).
    #[inline(always)]
    pub const fn from_place(place: usize) -> Self {
        Self((place as u8).wrapping_sub(1))
    }

    /// Returns the queue's bits in a MAC address, in the form of [`Port::address`](crate::map_abi::Port::address). A
    /// switch that sends each packet's queue to its neighbour puts the queue's place into the third byte of the source
    /// address, which is 0 in the switches' real addresses. There 0 names no data queue.
    #[inline(always)]
    pub const fn in_address(self) -> u64 {
        (self.place() as u64) << ADDRESS_SHIFT
    }

    /// The inverse of [`in_address`](Self::in_address).
    #[inline(always)]
    pub const fn from_address(address: u64) -> Self {
        Self::from_place((address >> ADDRESS_SHIFT & 0xff) as usize)
    }

    /// True if the queue is a data queue with a valid number.
    #[inline(always)]
    pub const fn is_data(self) -> bool {
        (self.0 as usize) < MAX_DATA_QUEUES
    }

    /// True if a neighbour can pause the queue separately.
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
        assert!((0..=136).all(|place| QueueId::from_place(place).place() == place));
    }

    #[test]
    fn an_address_names_a_queue_in_its_third_byte() {
        use crate::map_abi::{address_from_u64, address_to_u64};
        let own = [2, 2, 0, 1, 2, 3];
        let named = |queue: QueueId| address_to_u64(own) | queue.in_address();
        assert_eq!(address_from_u64(named(QueueId::CONTROL)), own);
        assert_eq!(address_from_u64(named(QueueId::data(127))), [2, 2, 128, 1, 2, 3]);
        let data = (0..136).map(QueueId::data);
        assert!(data.clone().all(|queue| QueueId::from_address(named(queue)) == queue));
        assert!(data.clone().all(QueueId::is_data) && !QueueId::CONTROL.is_data());
        assert!(!QueueId::from_address(0xff_0000).is_data(), "no port has it");
    }
}
