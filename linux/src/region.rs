//! Arrays in memory: shared by a BPF array and user space, or owned.

use std::io;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ops::Index;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use memmap2::MmapOptions;
use memmap2::{MmapMut, MmapRaw};
use zerocopy::FromBytes;

/// Alignment of regions in owned memory: a cache line. Mappings begin at pages, which are multiples of it.
const ALIGNMENT: usize = 64;

/// A fixed array of `T` in memory that other writers may share. `T` must consist of cells, or be
/// written only through [`Region::write`].
///
/// The memory starts zeroed or with values written by eBPF, so every bit pattern must be a `T`:
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// let numbers = linux::region::Region::<AtomicU64>::owned(1).expect("memory");
/// assert_eq!(numbers.len(), 1);
/// ```
/// ```compile_fail,E0277
/// let numbers = linux::region::Region::<std::num::NonZeroU64>::owned(1);
/// ```
/// ```compile_fail,E0277
/// let boxes = linux::region::Region::<Box<u64>>::owned(1);
/// ```
///
/// Values in a region are never dropped:
///
/// ```compile_fail,E0080
/// #[repr(transparent)]
/// #[derive(zerocopy::FromBytes)]
/// struct Loud(u64);
/// impl Drop for Loud {
///     fn drop(&mut self) {}
/// }
/// let loud = linux::region::Region::<Loud>::owned(1);
/// ```
#[derive(Debug)]
pub struct Region<T: FromBytes> {
    start: NonNull<T>,
    length: usize,
    /// Keeps the memory mapped.
    _memory: Arc<MmapRaw>,
    marker: PhantomData<T>,
}

// SAFETY: a region owns its `T`s as a boxed slice does: regions do not overlap. Only eBPF may write them, too, and it
// runs on other threads in any case: such `T`s are cells, or written only through `Region::write`.
unsafe impl<T: FromBytes + Send> Send for Region<T> {}
// SAFETY: as above.
unsafe impl<T: FromBytes + Sync> Sync for Region<T> {}

/// Prefetches data that is needed soon into the processor's cache. Does nothing on other architectures than x86-64.
#[inline(always)]
pub fn prefetch<T>(needed: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and it changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(needed).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = needed;
}

impl<T: FromBytes> Region<T> {
    /// Allocates zeroed memory in a separate mapping, which is touched only where used.
    pub fn owned(length: usize) -> io::Result<Self> {
        let memory = MmapMut::map_anon(Self::bytes(length)?)?;
        Ok(Self::at(&Arc::new(memory.into()), 0, length))
    }

    /// Maps the memory of a BPF array that was created with `BPF_F_MMAPABLE` and has `length` entries. The kernel refuses
    /// more entries than the array has.
    #[cfg(target_os = "linux")]
    pub fn from_array(map: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let memory = MmapOptions::new().len(Self::bytes(length)?).map_raw(map.as_raw_fd())?;
        Ok(Self::at(&Arc::new(memory), 0, length))
    }

    /// Creates a region of `length` entries from byte `first` of a mapping. Regions must not overlap.
    fn at(memory: &Arc<MmapRaw>, first: usize, length: usize) -> Self {
        let available = memory.len().checked_sub(first);
        let fits = available.is_some_and(|bytes| length <= bytes / size_of::<T>());
        assert!(fits && first.is_multiple_of(ALIGNMENT), "a region lies inside its mapping");
        // SAFETY: `first` is not beyond the mapping's end.
        let start = unsafe { memory.as_mut_ptr().add(first) };
        let start = NonNull::new(start.cast()).expect("a mapping is not at zero");
        Self { start, length, _memory: Arc::clone(memory), marker: PhantomData }
    }

    fn bytes(length: usize) -> io::Result<usize> {
        const {
            // A BPF array rounds its entries up to eight bytes; types of a region are multiples.
            assert!(
                size_of::<T>().is_multiple_of(8),
                "entries of a BPF array are multiples of eight bytes"
            );
            assert!(!needs_drop::<T>(), "entries of a region are never dropped");
            assert!(align_of::<T>() <= ALIGNMENT, "regions are aligned to cache lines only");
        }
        let bytes = size_of::<T>().checked_mul(length);
        let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
        bytes.ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Returns the entry at `index`. `None` if there is no such entry.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // Read here, the pointer is known not to be null. Read in the branch, each use of the entry would test it.
        let start = self.start;
        // SAFETY: the entry is inside the mapping, which lives as long as `self`, and aligned; any bytes are a `T`.
        (index < self.length).then(|| unsafe { start.add(index).as_ref() })
    }

    /// Replaces an entry that does not consist of cells. Call before other readers exist, or between frames.
    pub fn write(&mut self, index: usize, value: T) {
        assert!(index < self.length, "entry {index} of {}", self.length);
        // SAFETY: inside the mapping; `&mut self` excludes other references from here.
        unsafe { self.start.add(index).write(value) };
    }

    /// Zeroes all bytes, as in a new region. Call before other readers exist, or between frames.
    pub fn clear(&mut self) {
        // SAFETY: all entries are inside the mapping; `&mut self` excludes other references from here; and any bytes are
        // a `T`.
        unsafe { self.start.write_bytes(0, self.length) };
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All entries in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.length).map(|index| &self[index])
    }
}

impl<T: FromBytes> Index<usize> for Region<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        self.get(index).expect("an index within the region")
    }
}

/// Owned memory for many adjacent regions. In separate mappings, small regions would use more entries of the
/// processor's TLB, and compete for the same lines of its cache, because each would begin at a page.
#[derive(Debug, Default)]
pub struct Arena {
    /// The mapping that still has room, if any.
    memory: Option<Arc<MmapRaw>>,
    used: usize,
}

impl Arena {
    /// Size of a mapping, bytes. A larger region gets a mapping of its size.
    const MAPPING: usize = 1 << 20;

    /// Allocates the next region: zeroed memory, touched only where used.
    pub fn region<T: FromBytes>(&mut self, length: usize) -> io::Result<Region<T>> {
        let bytes = Region::<T>::bytes(length)?;
        let memory = match self.memory.take() {
            Some(memory) if self.used + bytes <= memory.len() => memory,
            _ => {
                self.used = 0;
                Arc::new(MmapMut::map_anon(bytes.max(Self::MAPPING))?.into())
            }
        };
        let region = Region::at(&memory, self.used, length);
        self.used = (self.used + bytes).next_multiple_of(ALIGNMENT);
        self.memory = Some(memory);
        Ok(region)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Regions of all sizes that fill several mappings, one of them larger than a mapping.
    #[test]
    fn regions_start_zeroed_and_end_at_their_lengths() {
        let mut arena = Arena::default();
        let lengths =
            [1000, 0, 9, Arena::MAPPING / 8, 8, 70_000, 70_000, Arena::MAPPING / 8 + 1, 0, 1];
        let regions = lengths.map(|length| arena.region::<AtomicU64>(length).expect("memory"));
        drop(arena);
        // Miri takes a microsecond per cell.
        let numbered = |length| (0..length).step_by(if cfg!(miri) { 997 } else { 1 }).zip(1..);
        for (region, length) in regions.iter().zip(lengths) {
            assert_eq!((region.len(), region.is_empty()), (length, length == 0));
            assert!(region.get(length).is_none());
            for (index, number) in numbered(length) {
                assert_eq!(
                    region[index].load(Ordering::Relaxed),
                    0,
                    "no region has another's bytes"
                );
                region[index].store(number, Ordering::Relaxed);
            }
        }
        for region in &regions {
            for (index, number) in numbered(region.len()) {
                assert_eq!(region[index].load(Ordering::Relaxed), number);
            }
        }
        let region = Region::<AtomicU64>::owned(1000).expect("memory");
        assert_eq!((region.len(), region[999].load(Ordering::Relaxed)), (1000, 0));
    }

    #[test]
    fn a_region_that_is_cleared_is_as_it_began_and_others_stay() {
        let mut arena = Arena::default();
        let [mut first, second] =
            [9, 9].map(|length| arena.region::<AtomicU64>(length).expect("memory"));
        first.iter().chain(second.iter()).for_each(|cell| cell.store(7, Ordering::Relaxed));
        first.clear();
        assert!(first.iter().all(|cell| cell.load(Ordering::Relaxed) == 0));
        assert!(second.iter().all(|cell| cell.load(Ordering::Relaxed) == 7));
    }

    #[test]
    fn small_regions_share_a_mapping_and_no_cache_line() {
        let mut arena = Arena::default();
        let [first, second] =
            [1, 1].map(|length| arena.region::<AtomicU64>(length).expect("memory"));
        let address = |region: &Region<AtomicU64>| region.start.as_ptr().addr();
        assert_eq!(address(&second) - address(&first), ALIGNMENT);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri stops where memory is refused")]
    fn more_than_the_address_space_is_an_error() {
        for length in [usize::MAX, usize::MAX / 8 + 2, usize::MAX / 8, isize::MAX as usize / 8] {
            for region in [Region::<AtomicU64>::owned(length), Arena::default().region(length)] {
                let error = region.expect_err("no such memory");
                assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{length} entries");
            }
        }
    }
}
