//! First-in first-out queues as singly linked lists through the slots of the packets they hold.

use crate::region::prefetch;

/// Ends a list.
const END: u32 = u32::MAX - 1;

/// One packet. First one more than the next slot or [`END`], zero in a slot that is in no queue; then its
/// [`Item`]. An array, because memory for zeroed arrays is not touched before it is used, and most slots of a
/// large buffer never are.
type Link = [u32; 2];

/// What a queue knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item(u32);

const RANK_AT: u32 = 16;

impl Item {
    #[inline]
    pub(super) const fn new(length: u32, rank: u16) -> Self {
        assert!(length < 1 << RANK_AT, "a frame is shorter than 64 KiB");
        Self(length | (rank as u32) << RANK_AT)
    }

    #[inline]
    pub(super) const fn length(self) -> u32 {
        self.0 & ((1 << RANK_AT) - 1)
    }

    #[inline]
    pub(super) const fn rank(self) -> u16 {
        (self.0 >> RANK_AT) as u16
    }
}

/// The links of all packets, by slot.
pub(super) struct Links(Vec<Link>);

impl Links {
    pub(super) fn new(slots: usize) -> Self {
        assert!(slots <= END as usize, "{slots} slots leave a number free to end a list");
        Self(vec![[0; 2]; slots])
    }

    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        if let Some(link) = self.0.get(slot as usize) {
            prefetch(link);
        }
    }
}

/// One queue. Its packets are linked through `Links`, so that a queue costs 24 bytes however long
/// it is.
#[derive(Clone, Copy)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    packets: u32,
    /// Bytes that the queue may send before its turn ends: the deficit counter of DWRR.
    pub(super) deficit: u32,
    bytes: u64,
}

impl Fifo {
    pub(super) const EMPTY: Self = Self { head: END, tail: END, packets: 0, deficit: 0, bytes: 0 };

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Slots of all packets, the first to leave first.
    pub(super) fn slots<'l>(&self, links: &'l Links) -> impl Iterator<Item = u32> + use<'l> {
        let slot = |slot| (slot != END).then_some(slot);
        std::iter::successors(slot(self.head), move |&at| slot(links.0[at as usize][0] - 1))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == END
    }

    /// Slot of the first packet.
    #[inline]
    pub(super) fn head(&self) -> Option<u32> {
        (!self.is_empty()).then_some(self.head)
    }

    /// The first packet of a queue that is not empty.
    #[inline]
    pub(super) fn first(&self, links: &Links) -> Item {
        Item(links.0[self.head as usize][1])
    }

    #[inline]
    pub(super) fn push(&mut self, links: &mut Links, slot: u32, item: Item) {
        let link = &mut links.0[slot as usize];
        assert!(link[0] == 0, "slot {slot} is in a queue already");
        *link = [END + 1, item.0];
        if self.is_empty() {
            self.head = slot;
        } else {
            links.0[self.tail as usize][0] = slot + 1;
        }
        self.tail = slot;
        self.packets += 1;
        self.bytes += u64::from(item.length());
    }

    /// Takes slot and length of the first packet of a queue that is not empty.
    #[inline]
    pub(super) fn pop(&mut self, links: &mut Links) -> (u32, u32) {
        let slot = self.head;
        let link = &mut links.0[slot as usize];
        let [after, item] = *link;
        let length = Item(item).length();
        self.head = after - 1;
        link[0] = 0;
        self.packets -= 1;
        self.bytes -= u64::from(length);
        (slot, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_share_the_slots_and_keep_their_order() {
        let mut links = Links::new(6);
        let mut queues = [Fifo::EMPTY; 2];
        for (slot, queue) in [(3, 0), (0, 1), (5, 0), (1, 0), (2, 1)] {
            queues[queue].push(&mut links, slot, Item::new(100 + slot, 9));
        }
        assert_eq!((queues[0].packets(), queues[0].bytes()), (3, 309));
        assert_eq!(queues[0].pop(&mut links), (3, 103));
        queues[0].push(&mut links, 3, Item::new(60, u16::MAX));
        assert_eq!((queues[0].first(&links).length(), queues[0].first(&links).rank()), (105, 9));
        assert_eq!(queues[0].slots(&links).collect::<Vec<_>>(), [5, 1, 3]);
        let order: Vec<u32> =
            std::iter::from_fn(|| (!queues[0].is_empty()).then(|| queues[0].pop(&mut links).0))
                .collect();
        assert_eq!(order, [5, 1, 3]);
        assert_eq!(queues[0].slots(&links).next(), None);
        assert_eq!((queues[0].packets(), queues[0].bytes()), (0, 0));
        assert_eq!((queues[1].packets(), queues[1].bytes()), (2, 202));
    }

    #[test]
    fn an_item_is_what_it_was_made_of() {
        for (length, rank) in [(60, 0), (65_535, 0), (0, u16::MAX), (9000, 4096)] {
            let item = Item::new(length, rank);
            assert_eq!((item.length(), item.rank()), (length, rank));
        }
    }

    #[test]
    #[should_panic(expected = "slot 4 is in a queue already")]
    fn a_slot_is_in_one_queue_at_a_time() {
        let mut links = Links::new(6);
        Fifo::EMPTY.clone().push(&mut links, 4, Item::new(60, 0));
        Fifo::EMPTY.clone().push(&mut links, 4, Item::new(60, 0));
    }
}
