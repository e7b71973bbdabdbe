//! A heap that ends the process with a message when memory is exhausted.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::process::exit_now;

/// The system's heap. A refused request ends the process with a message and an exit code, instead of SIGABRT and a core
/// dump.
#[derive(Debug)]
pub struct Heap {
    /// Message to standard error, with its newline.
    pub message: &'static str,
    /// Exit code of the process.
    pub exit_code: u8,
}

// SAFETY: every request is passed to the system's allocator unchanged; a refused request never returns.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.granted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.granted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.granted(unsafe { System.realloc(old, layout, new_size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(old, layout) }
    }
}

impl Heap {
    #[inline]
    fn granted(&self, memory: *mut u8) -> *mut u8 {
        if memory.is_null() {
            self.give_up();
        }
        memory
    }

    /// Prints the message and exits, without allocation or unwinding, as an allocator must.
    #[cold]
    fn give_up(&self) -> ! {
        // SAFETY: the message outlives the call.
        unsafe {
            libc::write(libc::STDERR_FILENO, self.message.as_ptr().cast(), self.message.len());
        }
        exit_now(self.exit_code)
    }
}
