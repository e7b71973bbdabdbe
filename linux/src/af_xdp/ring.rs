//! The rings between a socket and the kernel: one side produces, the other consumes.
//!
//! Each ring is an array with two free-running indices modulo 2^32. The producer writes an entry
//! and then its index with Release; the consumer reads that index with Acquire and then the entry.
//! The same pair on the consumer's index keeps an entry from being overwritten before it was read.

use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::mapping::Mapping;

/// Offsets of a ring's parts in its mapping, and the ring's length in entries.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    length: u32,
}

impl Layout {
    /// The layout of a ring of `length` entries, a power of two, at the kernel's `offsets`.
    pub(super) fn new(offsets: &libc::xdp_ring_offset, length: u32) -> Self {
        assert!(length.is_power_of_two(), "a ring of {length} entries wraps by a mask");
        let place =
            |offset: u64| usize::try_from(offset).expect("an offset fits the address space");
        Self {
            producer: place(offsets.producer),
            consumer: place(offsets.consumer),
            flags: place(offsets.flags),
            entries: place(offsets.desc),
            length,
        }
    }
}

/// State shared by the producer and the consumer side of a ring.
struct Ring<T> {
    memory: Arc<Mapping>,
    layout: Layout,
    /// Our own index, which only we write.
    next: u32,
    entry: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn map(socket: BorrowedFd<'_>, page_offset: u64, layout: Layout) -> io::Result<Self> {
        let length = layout.entries + layout.length as usize * size_of::<T>();
        Ok(Self::new(Arc::new(Mapping::from_file(socket, page_offset, length)?), layout))
    }

    fn new(memory: Arc<Mapping>, layout: Layout) -> Self {
        Self { memory, layout, next: 0, entry: PhantomData }
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: `array` checked range and alignment; both sides access an index only atomically.
        unsafe { self.memory.array::<AtomicU32>(self.layout.producer, 1).as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as for `producer`.
        unsafe { self.memory.array::<AtomicU32>(self.layout.consumer, 1).as_ref() }
    }

    /// A pointer to the entry of the free-running index `index`.
    fn entry(&self, index: u32) -> *mut T {
        let position = index & (self.layout.length - 1);
        let offset = self.layout.entries + position as usize * size_of::<T>();
        self.memory.array::<T>(offset, 1).as_ptr()
    }
}

/// The fill ring (entries are UMEM addresses) and the transmit ring (entries are descriptors).
pub(super) struct Producer<T>(Ring<T>);

impl<T: Copy> Producer<T> {
    pub(super) fn map(fd: BorrowedFd<'_>, page_offset: u64, layout: Layout) -> io::Result<Self> {
        Ring::map(fd, page_offset, layout).map(Self)
    }

    /// Returns true if the kernel requests a kick. Only for sockets with `XDP_USE_NEED_WAKEUP`.
    pub(super) fn needs_wakeup(&self) -> bool {
        let ring = &self.0;
        // SAFETY: as for `Ring::producer`.
        let flags = unsafe { ring.memory.array::<AtomicU32>(ring.layout.flags, 1).as_ref() };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// Hands `entry` to the kernel.
    ///
    /// The ring has room: it is as long as the UMEM has frames, and a frame is in one ring at a
    /// time.
    pub(super) fn push(&mut self, entry: T) {
        let ring = &mut self.0;
        let used = ring.next.wrapping_sub(ring.consumer().load(Ordering::Acquire));
        assert!(used < ring.layout.length, "a ring holds no more entries than there are frames");
        // SAFETY: `entry` points into the mapping; the consumer is past this entry (checked above)
        // and does not read it again before the store below.
        unsafe { ring.entry(ring.next).write(entry) };
        ring.next = ring.next.wrapping_add(1);
        ring.producer().store(ring.next, Ordering::Release);
    }
}

/// The receive ring (entries are descriptors) and the completion ring (entries are UMEM addresses).
pub(super) struct Consumer<T>(Ring<T>);

impl<T: Copy> Consumer<T> {
    pub(super) fn map(fd: BorrowedFd<'_>, page_offset: u64, layout: Layout) -> io::Result<Self> {
        Ring::map(fd, page_offset, layout).map(Self)
    }

    /// Removes and returns the oldest entry that the kernel produced.
    pub(super) fn pop(&mut self) -> Option<T> {
        let ring = &mut self.0;
        if ring.producer().load(Ordering::Acquire) == ring.next {
            return None;
        }
        // SAFETY: `entry` points into the mapping; the producer wrote this entry before the index
        // that was loaded above, and does not write it again before the store below. `T` is one of
        // the kernel's plain integer types, for which every bit pattern is a value.
        let entry = unsafe { ring.entry(ring.next).read() };
        ring.next = ring.next.wrapping_add(1);
        ring.consumer().store(ring.next, Ordering::Release);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use nix::sys::memfd::{MFdFlags, memfd_create};

    use super::*;

    const OFFSETS: libc::xdp_ring_offset =
        libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };

    /// Both ends of one ring of four entries, over one piece of memory as with the kernel.
    fn ends() -> (Producer<u64>, Consumer<u64>) {
        let memory = Arc::new(Mapping::anonymous(4096).expect("memory"));
        let layout = Layout::new(&OFFSETS, 4);
        (Producer(Ring::new(memory.clone(), layout)), Consumer(Ring::new(memory, layout)))
    }

    #[test]
    fn entries_leave_in_the_order_they_came_past_many_wraps() {
        let (mut producer, mut consumer) = ends();
        for round in 0..1000_u64 {
            let burst = 1 + round % 4;
            for entry in 0..burst {
                producer.push(round * 4 + entry);
            }
            for entry in 0..burst {
                assert_eq!(consumer.pop(), Some(round * 4 + entry));
            }
            assert_eq!(consumer.pop(), None);
        }
    }

    #[test]
    fn indices_run_over_the_end_of_32_bits() {
        let (mut producer, mut consumer) = ends();
        let start = u32::MAX - 1;
        producer.0.next = start;
        consumer.0.next = start;
        producer.0.producer().store(start, Ordering::Relaxed);
        consumer.0.consumer().store(start, Ordering::Relaxed);
        for entry in 0..4 {
            producer.push(entry);
        }
        let taken: Vec<u64> = std::iter::from_fn(|| consumer.pop()).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
    }

    /// Returns both ends over one file. The ring begins at the file's second page.
    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn a_ring_is_mapped_from_its_first_index_to_its_last_entry() {
        let file =
            memfd_create("ring", MFdFlags::empty()).map(File::from).expect("a file in memory");
        let page = 4096;
        file.set_len(2 * page).expect("two pages");
        let layout = Layout::new(&OFFSETS, 4);
        let mut producer = Producer::<u64>::map(file.as_fd(), page, layout).expect("a mapping");
        let mut consumer = Consumer::<u64>::map(file.as_fd(), page, layout).expect("a mapping");
        assert_eq!(producer.0.memory.length(), 192 + 4 * 8);
        for entry in [0x1111, 0x2222, 0x3333, 0x4444] {
            producer.push(entry);
        }
        let mut words = [0; 8192];
        file.read_exact_at(&mut words, 0).expect("the file");
        let word = |at: usize| u64::from_ne_bytes(words[at..at + 8].try_into().expect("a word"));
        assert_eq!([0, 4096, 4096 + 64].map(word), [0, 4, 0], "nothing, produced, consumed");
        let entries = [0, 8, 16, 24].map(|offset| word(4096 + 192 + offset));
        assert_eq!(entries, [0x1111, 0x2222, 0x3333, 0x4444]);
        let taken: Vec<u64> = (0..4).map_while(|_| consumer.pop()).collect();
        assert_eq!(taken, entries);
        producer.push(0x5555);
        assert_eq!((consumer.pop(), consumer.pop()), (Some(0x5555), None));
    }

    #[test]
    fn a_layout_is_where_the_kernel_says() {
        let Layout { producer, consumer, flags, entries, length } = Layout::new(&OFFSETS, 8);
        assert_eq!((producer, consumer, flags, entries, length), (0, 64, 128, 192, 8));
    }

    #[test]
    #[should_panic(expected = "a ring of 6 entries wraps by a mask")]
    fn a_length_that_no_mask_wraps_is_refused() {
        Layout::new(&OFFSETS, 6);
    }

    #[test]
    #[should_panic(expected = "no more entries than there are frames")]
    fn a_full_ring_takes_nothing() {
        let (mut producer, _consumer) = ends();
        for entry in 0..5 {
            producer.push(entry);
        }
    }

    #[test]
    fn two_threads_lose_and_invent_nothing() {
        // Miri is about a thousand times slower, and detects races itself.
        const ENTRIES: u64 = if cfg!(miri) { 300 } else { 2_000 };
        let (mut producer, mut consumer) = ends();
        let sender = std::thread::spawn(move || {
            for entry in 0..ENTRIES {
                while producer.0.next.wrapping_sub(producer.0.consumer().load(Ordering::Acquire))
                    == 4
                {
                    std::thread::yield_now();
                }
                producer.push(entry);
            }
        });
        for expected in 0..ENTRIES {
            let entry = loop {
                match consumer.pop() {
                    Some(entry) => break entry,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(entry, expected);
        }
        sender.join().expect("sender");
    }
}
