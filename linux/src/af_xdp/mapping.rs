//! Memory mappings for rings and the UMEM.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use memmap2::{MmapMut, MmapOptions, MmapRaw};

/// A mapping, aligned to a page, that ends when it is dropped.
pub(super) struct Mapping(MmapRaw);

impl Mapping {
    /// Maps `length` zeroed bytes of memory. The kernel fills in its pages when it pins them.
    pub(super) fn anonymous(length: usize) -> io::Result<Self> {
        MmapMut::map_anon(length).map(|memory| Self(memory.into()))
    }

    /// Maps `length` bytes of `file` from `offset`.
    pub(super) fn from_file(file: BorrowedFd<'_>, offset: u64, length: usize) -> io::Result<Self> {
        let mut options = MmapOptions::new();
        let options = options.offset(offset).len(length).populate();
        options.map_raw(file.as_raw_fd()).map(Self)
    }

    /// Length in bytes.
    pub(super) fn length(&self) -> usize {
        self.0.len()
    }

    /// A pointer to `count` values of `T` from byte `offset`, aligned and inside the mapping.
    pub(super) fn array<T>(&self, offset: usize, count: usize) -> NonNull<T> {
        let bytes = count.checked_mul(size_of::<T>()).expect("an array fits the address space");
        let end = offset.checked_add(bytes).expect("an offset fits the address space");
        assert!(
            end <= self.length(),
            "bytes {offset}..{end} lie inside the {} mapped",
            self.length()
        );
        assert!(offset.is_multiple_of(align_of::<T>()), "offset {offset} is aligned");
        let start = NonNull::new(self.0.as_mut_ptr()).expect("nothing is mapped at address zero");
        // SAFETY: the assert above keeps the result inside the mapping.
        unsafe { start.byte_add(offset).cast() }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn anonymous_memory_is_zeroed_and_writable() {
        let mapping = Mapping::anonymous(4096).expect("memory");
        let words = mapping.array::<u32>(4092, 1);
        // SAFETY: `array` checked the range and nothing else refers to it.
        let before = unsafe {
            let before = words.read();
            words.write(7);
            before
        };
        // SAFETY: as above.
        assert_eq!((before, unsafe { words.read() }), (0, 7));
    }

    #[test]
    fn an_array_ends_within_the_mapping_and_starts_aligned() {
        let mapping = Mapping::anonymous(4096).expect("memory");
        let start = mapping.array::<u8>(0, 4096).as_ptr();
        assert_eq!(mapping.length(), 4096);
        let last = mapping.array::<u64>(4080, 2).as_ptr();
        assert_eq!(last as usize - start as usize, 4080);
        assert!(std::panic::catch_unwind(|| mapping.array::<u64>(4088, 2)).is_err(), "a byte more");
        assert!(std::panic::catch_unwind(|| mapping.array::<u64>(4, 1)).is_err(), "not aligned");
    }

    /// 256 MiB, of which no page is touched: no other thread's mapping ends up where they began.
    #[test]
    #[cfg_attr(miri, ignore = "Miri does not say which pages are mapped")]
    fn a_mapping_ends_when_it_is_dropped() {
        let mapping = Mapping::anonymous(256 << 20).expect("address space");
        let start = mapping.array::<u8>(0, 1).as_ptr().cast();
        // SAFETY: `msync` touches no memory; it fails for a page that is not mapped.
        let is_mapped = || unsafe { libc::msync(start, 4096, libc::MS_ASYNC) == 0 };
        assert!(is_mapped());
        drop(mapping);
        assert!(!is_mapped());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn what_the_kernel_refuses_is_an_error() {
        let file = std::fs::File::open("/dev/null").expect("a file");
        let error = Mapping::from_file(file.as_fd(), 0, 4096).map(|_| ());
        assert!(error.is_err(), "it is open for reading only and has no pages");
    }

    #[test]
    #[should_panic(expected = "lie inside")]
    fn an_array_beyond_the_mapping_is_refused() {
        Mapping::anonymous(4096).expect("memory").array::<u32>(4096, 1);
    }
}
