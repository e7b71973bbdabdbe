//! Frames that the kernel's stack receives at an interface.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Buffer size; longer than any frame of a test.
const MAX_LENGTH: usize = 1 << 14;

/// An AF_PACKET socket that receives all frames of one interface.
pub struct Listener(OwnedFd);

impl Listener {
    /// Opens a socket in the calling thread's namespace.
    pub fn open(interface: u32) -> io::Result<Self> {
        let all = u16::try_from(libc::ETH_P_ALL).expect("protocols have 16 bits").to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: `socket` takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: a struct of integers, for which zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = u16::try_from(libc::AF_PACKET).expect("families are 16 bits");
        address.sll_protocol = all;
        address.sll_ifindex = interface.cast_signed();
        let length = u32::try_from(size_of_val(&address)).expect("an address is 20 bytes");
        // SAFETY: pointer and length describe `address`, which outlives the call.
        let bound = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
        if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(fd)) }
    }

    /// Returns the next frame, if there is one.
    pub fn receive(&self) -> Option<Vec<u8>> {
        let mut frame = vec![0; MAX_LENGTH];
        // SAFETY: pointer and length describe the buffer, which outlives the call.
        let length =
            unsafe { libc::recv(self.0.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), 0) };
        frame.truncate(usize::try_from(length).ok()?);
        Some(frame)
    }
}
