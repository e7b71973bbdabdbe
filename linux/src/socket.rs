//! Sockets of any kind.

use std::os::fd::{AsFd, AsRawFd};

/// Returns the bytes of a socket that its peer has not read yet, including the kernel's overhead; 0 for a descriptor
/// that does not count them.
pub fn unread_bytes(socket: impl AsFd) -> u32 {
    let mut unread: libc::c_int = 0;
    // SAFETY: the call fills in the number, which outlives it.
    unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut unread) };
    unread.try_into().unwrap_or(0)
}
