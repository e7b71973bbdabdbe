//! Bytes of a packet behind the two pointers that the verifier tracks.

use fabric_core::frame::FrameBytes;

/// Bytes at an even address, loaded in pairs, because BPF has no unaligned loads.
#[repr(C, align(2))]
struct Halves<const N: usize>([u8; N]);

/// The bytes between `data` and `data_end`.
pub struct PacketBytes {
    data: usize,
    data_end: usize,
}

impl PacketBytes {
    /// Creates a view from `data` and `data_end` of the program's context.
    #[inline(always)]
    pub fn new(data: usize, data_end: usize) -> Self {
        Self { data, data_end }
    }
}

impl FrameBytes for PacketBytes {
    #[inline(always)]
    fn length(&self) -> u32 {
        (self.data_end - self.data) as u32
    }

    #[inline(always)]
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        let start = self.data + offset;
        if start + N > self.data_end {
            return None;
        }
        // SAFETY: start..start + N lies inside the packet, which the verifier proves again; packets begin at even
        // addresses, at XDP (its headroom is 256 bytes, NET_IP_ALIGN 0 or 2) as at TC, where user space made them.
        Some(unsafe {
            if N.is_multiple_of(2) && offset.is_multiple_of(2) {
                (start as *const Halves<N>).read().0
            } else {
                (start as *const [u8; N]).read_unaligned()
            }
        })
    }

    #[inline(always)]
    fn write<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) -> bool {
        let start = self.data + offset;
        if start + N > self.data_end {
            return false;
        }
        // SAFETY: as in `read`; nothing else refers to the packet while the program runs.
        unsafe { (start as *mut [u8; N]).write_unaligned(bytes) };
        true
    }
}
