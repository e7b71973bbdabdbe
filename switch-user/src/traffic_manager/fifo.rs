//! First-in first-out queues as singly linked lists through the slots of their packets.

use linux::region::prefetch;

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting<F> {
    /// Slot of its descriptor.
    pub slot: u32,
    /// Length, and from bit [`RANK_AT`] the rank: one word, copied as it was written.
    item: u32,
    /// Frame of the packet.
    pub frame: F,
}

const RANK_AT: u32 = 16;

impl<F> Waiting<F> {
    /// Creates a packet of `length` bytes, less than 64 KiB. Only
    /// [`ShortestRemaining`](super::Scheduler::ShortestRemaining) uses the rank.
    #[inline]
    pub const fn new(slot: u32, frame: F, length: u32, rank: u16) -> Self {
        assert!(length < 1 << RANK_AT, "a frame is shorter than 64 KiB");
        Self { slot, item: length | (rank as u32) << RANK_AT, frame }
    }

    /// Returns the length in bytes.
    #[inline]
    pub const fn length(&self) -> u32 {
        self.item & ((1 << RANK_AT) - 1)
    }

    /// Returns the sort key of [`ShortestRemaining`](super::Scheduler::ShortestRemaining).
    #[inline]
    pub const fn rank(&self) -> u16 {
        (self.item >> RANK_AT) as u16
    }
}

/// Followers of packets, indexed by slot. The vector grows to the highest slot with a follower.
/// Slots are reused, last freed first, so a large buffer never uses most of its slots.
pub(super) struct Links<F> {
    followers: Vec<Waiting<F>>,
    /// Number of slots.
    slots: usize,
    /// Indexed by slot: true if its packet is in a queue.
    #[cfg(debug_assertions)]
    queued: Vec<bool>,
}

impl<F: Copy + Default> Links<F> {
    /// Creates links for packets in slots `0..slots`.
    pub(super) const fn new(slots: usize) -> Self {
        Self {
            followers: Vec::new(),
            slots,
            #[cfg(debug_assertions)]
            queued: Vec::new(),
        }
    }

    /// Prefetches the packet behind the one in `slot`.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        if let Some(follower) = self.followers.get(slot as usize) {
            prefetch(follower);
        }
    }

    #[inline]
    fn follow(&mut self, slot: u32, follower: Waiting<F>) {
        let slot = slot as usize;
        if slot >= self.followers.len() {
            self.grow(slot);
        }
        self.followers[slot] = follower;
    }

    #[cold]
    fn grow(&mut self, slot: usize) {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        self.followers.resize(slot + 1, Waiting::default());
    }

    /// Records that a packet joins or leaves a queue.
    #[cfg(debug_assertions)]
    fn note(&mut self, slot: u32, is_queued: bool) {
        let place = slot as usize;
        assert!(place < self.slots, "slot {slot} of {}", self.slots);
        if place >= self.queued.len() {
            self.queued.resize(place + 1, false);
        }
        let before = std::mem::replace(&mut self.queued[place], is_queued);
        assert!(before != is_queued, "slot {slot} is in a queue already, or leaves none");
    }

    #[cfg(not(debug_assertions))]
    #[inline(always)]
    fn note(&mut self, _: u32, _: bool) {}
}

/// One queue. It stores its first packet; each further packet is linked from the packet before it through `Links`. So a
/// queue takes 32 bytes whatever its length, and a single packet uses no link. Aligned to lie in one cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Fifo<F> {
    head: Waiting<F>,
    /// Slot of the last packet.
    tail: u32,
    packets: u32,
    /// Bytes that the queue may send before its turn ends: the deficit counter of DWRR.
    pub(super) deficit: u32,
    bytes: u64,
}

const _: () = assert!(size_of::<Fifo<u32>>() == 32);

impl<F> Fifo<F> {
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Returns the first packet of a queue that is not empty.
    #[inline]
    pub(super) fn first(&self) -> &Waiting<F> {
        debug_assert!(!self.is_empty(), "an empty queue has no first packet");
        &self.head
    }
}

impl<F: Copy + Default> Fifo<F> {
    /// Iterates over all packets, first to leave first.
    pub(super) fn iter<'l>(
        &'l self,
        links: &'l Links<F>,
    ) -> impl Iterator<Item = &'l Waiting<F>> + use<'l, F> {
        let mut next = (!self.is_empty()).then_some(&self.head);
        std::iter::from_fn(move || {
            let packet = next?;
            let last = packet.slot == self.tail;
            next = (!last).then(|| &links.followers[packet.slot as usize]);
            Some(packet)
        })
    }

    #[inline]
    pub(super) fn push(&mut self, links: &mut Links<F>, packet: Waiting<F>) {
        links.note(packet.slot, true);
        if self.is_empty() {
            self.head = packet;
        } else {
            links.follow(self.tail, packet);
        }
        self.tail = packet.slot;
        self.packets += 1;
        self.bytes += u64::from(packet.length());
    }

    /// Removes the first packet of a queue that is not empty.
    #[inline]
    pub(super) fn pop(&mut self, links: &mut Links<F>) -> Waiting<F> {
        let first = self.head;
        links.note(first.slot, false);
        self.packets -= 1;
        self.bytes -= u64::from(first.length());
        if self.is_empty() {
            // Otherwise two queues have linked one slot.
            assert!(first.slot == self.tail, "a slot is in one queue at a time");
        } else {
            self.head = links.followers[first.slot as usize];
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_share_the_slots_and_keep_their_order() {
        let mut links = Links::new(6);
        let mut queues = [Fifo::default(); 2];
        let packet = |slot, length, rank| Waiting::new(slot, 2 * slot, length, rank);
        for (slot, queue) in [(3, 0), (0, 1), (5, 0), (1, 0), (2, 1)] {
            queues[queue].push(&mut links, packet(slot, 100 + slot, 9));
        }
        let slots = |queue: &Fifo<u32>, links: &Links<u32>| {
            let in_order = queue.iter(links).inspect(|it| assert_eq!(it.frame, 2 * it.slot));
            in_order.map(|it| it.slot).collect::<Vec<_>>()
        };
        assert_eq!((queues[0].packets(), queues[0].bytes()), (3, 309));
        assert_eq!(queues[0].pop(&mut links), packet(3, 103, 9));
        queues[0].push(&mut links, packet(3, 60, u16::MAX));
        assert_eq!((queues[0].first().length(), queues[0].first().rank()), (105, 9));
        assert_eq!(slots(&queues[0], &links), [5, 1, 3]);
        let order: Vec<u32> =
            std::iter::from_fn(|| (!queues[0].is_empty()).then(|| queues[0].pop(&mut links).slot))
                .collect();
        assert_eq!(order, [5, 1, 3]);
        assert_eq!(slots(&queues[0], &links), [] as [u32; 0]);
        assert_eq!((queues[0].packets(), queues[0].bytes()), (0, 0));
        assert_eq!((queues[1].packets(), queues[1].bytes()), (2, 202));
        assert_eq!(slots(&queues[1], &links), [0, 2]);
    }

    #[test]
    fn a_packet_is_what_it_was_made_of() {
        for (length, rank) in [(60, 0), (65_535, 0), (0, u16::MAX), (9000, 4096)] {
            let packet = Waiting::new(7, 'f', length, rank);
            assert_eq!((packet.slot, packet.frame), (7, 'f'));
            assert_eq!((packet.length(), packet.rank()), (length, rank));
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "slot 4 is in a queue already")]
    fn a_slot_is_in_one_queue_at_a_time() {
        let mut links = Links::new(6);
        let packet = Waiting::new(4, (), 60, 0);
        Fifo::default().push(&mut links, packet);
        Fifo::default().push(&mut links, packet);
    }
}
