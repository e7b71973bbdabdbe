//! The memory that a socket shares with the kernel, cut into frames of equal size.
//!
//! A frame belongs either to the kernel (it was put on the fill ring or the transmit ring and did
//! not come back yet) or to the socket. Frames for reception circulate between fill ring and
//! receive ring; the others between the free list, the transmit ring and the completion ring.

use std::io;

use super::mapping::Mapping;

/// Bytes of one frame: a page, the largest that an aligned UMEM permits.
pub const FRAME_BYTES: u32 = 4096;

/// Frames of a UMEM by default; a power of two, because every ring has as many entries. 256 KiB per host keep a fabric
/// of 256 hosts at 64 MiB.
pub const FRAMES: u32 = 64;

/// Frames for transmission. Copy mode is done with a frame when the send returns, so one would do;
/// eight let completions lag behind where another CPU is polling the peer.
const TRANSMIT_FRAMES: u32 = 8;

/// The frames of one socket.
pub(super) struct Umem {
    memory: Mapping,
    /// Frames for reception: the burst that may arrive between two visits of a host.
    receive_frames: u32,
    free: Vec<u64>,
}

impl Umem {
    /// Creates a UMEM of `frames` frames.
    pub(super) fn new(frames: u32) -> io::Result<Self> {
        let memory = Mapping::anonymous(frames as usize * FRAME_BYTES as usize)?;
        let receive_frames = frames - TRANSMIT_FRAMES;
        let free = (receive_frames..frames).map(address).collect();
        Ok(Self { memory, receive_frames, free })
    }

    /// Addresses of the frames that start on the fill ring.
    pub(super) fn receive_frames(&self) -> impl Iterator<Item = u64> + use<> {
        (0..self.receive_frames).map(address)
    }

    /// The UMEM's registration for the kernel: address and size.
    pub(super) fn registration(&self) -> libc::xdp_umem_reg {
        libc::xdp_umem_reg {
            addr: self.memory.array::<u8>(0, self.memory.length()).as_ptr() as u64,
            len: self.memory.length() as u64,
            chunk_size: FRAME_BYTES,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        }
    }

    /// Address of the frame that holds `address`.
    pub(super) fn frame_of(address: u64) -> u64 {
        address - address % u64::from(FRAME_BYTES)
    }

    /// Removes a free frame for transmission.
    pub(super) fn take(&mut self) -> Option<u64> {
        self.free.pop()
    }

    /// Returns a transmitted frame to the free frames.
    pub(super) fn release(&mut self, frame: u64) {
        debug_assert!(self.free.len() < TRANSMIT_FRAMES as usize, "frame {frame} is released once");
        self.free.push(frame);
    }

    /// Frames that were taken and did not come back.
    pub(super) fn in_flight(&self) -> usize {
        TRANSMIT_FRAMES as usize - self.free.len()
    }

    /// `length` bytes from `address`.
    ///
    /// # Safety
    /// The frame that holds `address` belongs to the socket and not to the kernel for as long as
    /// the slice lives.
    pub(super) unsafe fn bytes(&self, address: u64, length: u32) -> &[u8] {
        let start = self.memory.array::<u8>(place(address), length as usize);
        // SAFETY: `array` checked the range; the caller guarantees that the kernel does not write to it; the socket
        // writes to frames only through `bytes_mut`, which borrows all of them.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), length as usize) }
    }

    /// `length` writable bytes from `address`.
    ///
    /// # Safety
    /// As [`Self::bytes`].
    pub(super) unsafe fn bytes_mut(&mut self, address: u64, length: u32) -> &mut [u8] {
        let start = self.memory.array::<u8>(place(address), length as usize);
        // SAFETY: `array` checked the range; the caller guarantees that the kernel does not access it; `&mut self`
        // excludes every other slice of the UMEM.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length as usize) }
    }
}

/// UMEM address at which a frame begins.
fn address(frame: u32) -> u64 {
    u64::from(frame) * u64::from(FRAME_BYTES)
}

/// Index of `address` in the mapping.
fn place(address: u64) -> usize {
    address.try_into().expect("an address fits the address space")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_starts_in_one_place() {
        let mut umem = Umem::new(FRAMES).expect("memory");
        assert_eq!(umem.in_flight(), 0);
        let taken: Vec<u64> = (0..TRANSMIT_FRAMES).map_while(|_| umem.take()).collect();
        assert_eq!((taken.len(), umem.take()), (TRANSMIT_FRAMES as usize, None));
        assert_eq!(umem.in_flight(), TRANSMIT_FRAMES as usize);
        let mut frames: Vec<u64> = umem.receive_frames().chain(taken).collect();
        frames.sort_unstable();
        let expected: Vec<u64> = (0..u64::from(FRAMES)).map(|n| n * 4096).collect();
        assert_eq!(frames, expected);
    }

    #[test]
    fn the_kernel_learns_of_all_frames() {
        let umem = Umem::new(FRAMES).expect("memory");
        let registration = umem.registration();
        assert_eq!((registration.len, registration.chunk_size), (64 * 4096, 4096));
        // SAFETY: no kernel knows this UMEM.
        let start = unsafe { umem.bytes(0, 1) }.as_ptr() as u64;
        assert_eq!(registration.addr, start);
    }

    #[test]
    fn an_address_within_a_frame_leads_back_to_it() {
        assert_eq!(Umem::frame_of(3 * 4096 + 256), 3 * 4096);
        assert_eq!(Umem::frame_of(4095), 0);
    }

    #[test]
    fn what_is_written_to_a_frame_is_read_from_it() {
        let mut umem = Umem::new(FRAMES).expect("memory");
        let frame = umem.take().expect("a free frame");
        // SAFETY: no kernel knows this UMEM.
        unsafe { umem.bytes_mut(frame, 3) }.copy_from_slice(b"abc");
        // SAFETY: as above.
        assert_eq!(unsafe { umem.bytes(frame, 4) }, b"abc\0");
        umem.release(frame);
        assert_eq!(umem.in_flight(), 0);
    }
}
