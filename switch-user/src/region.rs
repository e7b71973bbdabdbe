//! Arrays of switch state: memory that a BPF array and user space share, or memory of our own.

use std::io;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ops::Index;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

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
    start: NonNull<T>,
    length: usize,
    mapped_bytes: usize,
    marker: PhantomData<T>,
}

// SAFETY: the memory belongs to the region until it is dropped, and what lies in it is plain integers.
unsafe impl<T: FromBytes + Send> Send for Region<T> {}

impl<T: FromBytes> Region<T> {
    /// Zeroed memory of our own, touched only where it is used.
    pub fn owned(length: usize) -> io::Result<Self> {
        Self::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// The memory of a BPF array that was created with `BPF_F_MMAPABLE` and has `length` entries.
    pub fn of_array(map: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        Self::map(length, libc::MAP_SHARED, map.as_raw_fd())
    }

    fn map(length: usize, flags: libc::c_int, fd: libc::c_int) -> io::Result<Self> {
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
        let whole_pages = bytes.and_then(|bytes| bytes.checked_next_multiple_of(page_size()));
        let mapped_bytes = whole_pages.ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(address.cast()).expect("mmap never returns the null page here");
        Ok(Self { start, length, mapped_bytes, marker: PhantomData })
    }

    /// The entry at `index`, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: the index is inside the mapping, which lives as long as `self` and is aligned to a page;
        // any bytes are a `T`.
        (index < self.length).then(|| unsafe { self.start.add(index).as_ref() })
    }

    /// Replaces an entry that is not made of cells, before anyone else reads it or between frames.
    pub fn write(&mut self, index: usize, value: T) {
        assert!(index < self.length, "entry {index} of {}", self.length);
        // SAFETY: inside the mapping; `&mut self` excludes other references from here.
        unsafe { self.start.add(index).write(value) };
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

impl<T: FromBytes> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and no reference outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped_bytes) };
    }
}

fn page_size() -> usize {
    // SAFETY: a query without side effects.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("Linux always knows its page size")
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
