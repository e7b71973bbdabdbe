//! Arrays of switch state: memory that a BPF array and user space share, or memory of our own.

use std::io;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ops::Index;
#[cfg(feature = "kernel")]
use std::os::fd::{AsRawFd, BorrowedFd};

#[cfg(feature = "kernel")]
use memmap2::MmapOptions;
use memmap2::{MmapMut, MmapRaw};
use zerocopy::FromBytes;

/// What every mapping is at least aligned to.
const SMALLEST_PAGE: usize = 4096;

/// A fixed array of `T` in memory that other writers may share; `T` is made of cells, or written only
/// through [`Region::write`].
///
/// The memory starts zeroed or holds what eBPF wrote, so every pattern of bits must be a `T`:
///
/// ```
/// use fabric_core::map_abi::Port;
/// let ports = switch_user::region::Region::<Port>::owned(1);
/// ```
/// ```compile_fail,E0277
/// let numbers = switch_user::region::Region::<std::num::NonZeroU64>::owned(1);
/// ```
/// ```compile_fail,E0277
/// let boxes = switch_user::region::Region::<Box<u64>>::owned(1);
/// ```
///
/// And nothing in it is ever dropped:
///
/// ```compile_fail,E0080
/// #[repr(transparent)]
/// #[derive(zerocopy::FromBytes)]
/// struct Loud(u64);
/// impl Drop for Loud {
///     fn drop(&mut self) {}
/// }
/// let loud = switch_user::region::Region::<Loud>::owned(1);
/// ```
#[derive(Debug)]
pub struct Region<T: FromBytes> {
    memory: MmapRaw,
    length: usize,
    marker: PhantomData<T>,
}

impl<T: FromBytes> Region<T> {
    /// Zeroed memory of our own, touched only where it is used.
    pub fn owned(length: usize) -> io::Result<Self> {
        let memory = MmapMut::map_anon(Self::bytes(length)?)?;
        Ok(Self { memory: memory.into(), length, marker: PhantomData })
    }

    /// The memory of a BPF array that was created with `BPF_F_MMAPABLE` and has `length` entries.
    #[cfg(feature = "kernel")]
    pub fn of_array(map: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let bytes = Self::bytes(length)?;
        let memory = MmapOptions::new().len(bytes).map_raw(map.as_raw_fd())?;
        Ok(Self { memory, length, marker: PhantomData })
    }

    fn bytes(length: usize) -> io::Result<usize> {
        const {
            // A BPF array rounds its entries up to eight bytes; every type of the map ABI is a multiple.
            assert!(
                size_of::<T>().is_multiple_of(8),
                "entries of a BPF array are multiples of eight bytes"
            );
            assert!(!needs_drop::<T>(), "entries of a region are never dropped");
            assert!(align_of::<T>() <= SMALLEST_PAGE, "mappings are aligned to pages only");
        }
        let bytes = size_of::<T>().checked_mul(length);
        let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
        bytes.ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    #[inline]
    fn start(&self) -> *mut T {
        self.memory.as_mut_ptr().cast()
    }

    /// The entry at `index`, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: the index is inside the mapping, which lives as long as `self` and is aligned to a page;
        // any bytes are a `T`.
        (index < self.length).then(|| unsafe { &*self.start().add(index) })
    }

    /// Replaces an entry that is not made of cells, before anyone else reads it or between frames.
    pub fn write(&mut self, index: usize, value: T) {
        assert!(index < self.length, "entry {index} of {}", self.length);
        // SAFETY: inside the mapping; `&mut self` excludes other references from here.
        unsafe { self.start().add(index).write(value) };
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
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

#[cfg(test)]
mod tests {
    use super::*;
    use fabric_core::cell::Cell64;

    #[test]
    fn owned_memory_starts_zeroed_and_ends_at_its_length() {
        let region = Region::<Cell64>::owned(1000).expect("anonymous memory");
        assert_eq!(region[999].load(), 0);
        region[999].store(7);
        assert_eq!(region[999].load(), 7);
        assert!(region.get(1000).is_none());
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        for length in [usize::MAX, usize::MAX / 8 + 2, usize::MAX / 8] {
            let error = Region::<Cell64>::owned(length).expect_err("no such memory");
            assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{length} entries");
        }
    }
}
