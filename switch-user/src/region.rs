//! Arrays of switch state: memory that a BPF array and user space share, or memory of our own.

use std::io;
use std::marker::PhantomData;
use std::ops::Index;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// A fixed array of `T` in memory that other writers may share; `T` is made of cells, or written only
/// through [`Region::write`].
#[derive(Debug)]
pub struct Region<T> {
    start: NonNull<T>,
    length: usize,
    mapped_bytes: usize,
    marker: PhantomData<T>,
}

// SAFETY: the memory belongs to the region until it is dropped, and what lies in it is plain integers.
unsafe impl<T: Send> Send for Region<T> {}

impl<T> Region<T> {
    /// Zeroed memory of our own, touched only where it is used.
    pub fn owned(length: usize) -> io::Result<Self> {
        Self::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// The memory of a BPF array that was created with `BPF_F_MMAPABLE` and has `length` entries.
    pub fn of_array(map: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        Self::map(length, libc::MAP_SHARED, map.as_raw_fd())
    }

    fn map(length: usize, flags: libc::c_int, fd: libc::c_int) -> io::Result<Self> {
        // A BPF array rounds its entries up to eight bytes; every type of the map ABI is a multiple.
        assert_eq!(size_of::<T>() % 8, 0, "entries of a BPF array are multiples of eight bytes");
        let mapped_bytes = (size_of::<T>() * length).next_multiple_of(page_size());
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
        // SAFETY: the index is inside the mapping, which lives as long as `self`; the bytes are valid for
        // any `T` of the map ABI, all of whose fields are integers.
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

impl<T> Index<usize> for Region<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        self.get(index).expect("an index within the region")
    }
}

impl<T> Drop for Region<T> {
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
}
