//! The binary's heap: when memory is exhausted, the process prints a message and exits.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::Exit;

const MESSAGE: &[u8] = b"error: out of memory; raise the limit (`ulimit -v unlimited`, or the \
    container's) or run a smaller scenario\n";

/// The system's heap. A refused request ends the process with a message and an exit code, instead of SIGABRT and a core
/// dump. The guardian removes the run's leftovers.
#[derive(Debug)]
pub struct Heap;

// SAFETY: every request is passed to the system's allocator unchanged; a refused request never returns.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        granted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        granted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        granted(unsafe { System.realloc(old, layout, new_size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(old, layout) }
    }
}

#[inline]
fn granted(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        give_up();
    }
    memory
}

/// Prints the message and exits, without allocation or unwinding, as an allocator must.
#[cold]
fn give_up() -> ! {
    // SAFETY: the message outlives the call; `_exit` runs no exit handlers, which might allocate.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(Exit::BadInput.code().into())
    }
}
