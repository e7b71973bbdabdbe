//! `AF_XDP` in copy mode: kernel-bypass access to an interface.
//!
//! [`Socket`] owns one small UMEM (`umem`), the four rings that it shares with the kernel (`ring`) and the socket
//! (`socket`). Only `mapping` maps memory. The caller loads the XDP program that redirects frames to the socket, and
//! the map that holds the socket.
//!
//! Deliberately absent: zero copy (veth has none) and shared UMEMs (a UMEM per socket costs 256 KiB and needs no
//! allocator between hosts). Hosts use neither need-wakeup (in copy mode, transmission always needs the kick and
//! reception never needs a wake-up) nor packets in several frames; `xoff selftest` does.

mod mapping;
mod ring;
mod socket;
mod umem;

pub use socket::{Options, Socket, Statistics, probe};
pub use umem::{FRAME_BYTES, FRAMES};

use std::io;

/// Bytes the kernel reserves in front of each received frame (`XDP_PACKET_HEADROOM`).
const RECEIVE_HEADROOM: u32 = 256;

/// The longest frame that a socket takes, which is the longest that its peer's socket can receive
/// into one UMEM frame.
pub const MAX_FRAME_LENGTH: u32 = FRAME_BYTES - RECEIVE_HEADROOM;

/// The shortest frame that a socket takes: an Ethernet header. The kernel drops anything shorter.
pub const MIN_FRAME_LENGTH: u32 = 14;

/// Returns a hint for the error message: the condition that the refused call lacks, or an empty string.
fn needs(refusal: &io::Error) -> &'static str {
    match refusal.raw_os_error() {
        Some(libc::EPERM) => " (needs CAP_NET_RAW)",
        Some(libc::EBUSY) => " (another socket has this queue)",
        Some(libc::ENODEV | libc::EINVAL) => {
            " (needs an interface of this namespace, and one of its queues)"
        }
        _ => "",
    }
}

/// Errors of opening a socket, sending a frame or reading the counters.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step of [`Socket::open`] failed.
    #[error("AF_XDP on {interface} queue {queue}: cannot {step}: {source}{}", needs(source))]
    Open {
        /// Name and index of the interface.
        interface: String,
        /// Receive queue of the interface.
        queue: u32,
        /// The step that failed.
        step: &'static str,
        /// Error of the system call.
        source: io::Error,
    },
    /// A frame to be sent is shorter than an Ethernet header or longer than a UMEM frame takes.
    #[error(
        "AF_XDP on {interface}: a frame of {length} bytes is outside \
         {MIN_FRAME_LENGTH}..={MAX_FRAME_LENGTH}"
    )]
    FrameLength {
        /// Name and index of the interface.
        interface: String,
        /// Length of the frame in bytes.
        length: usize,
    },
    /// The kernel took the frame and the interface dropped it: it has no carrier, the frame exceeds
    /// the MTU, or the peer's ring is full.
    #[error(
        "AF_XDP on {interface}: the interface dropped a frame \
         (link down at an end, or frame above the MTU?)"
    )]
    Dropped {
        /// Name and index of the interface.
        interface: String,
    },
    /// The kernel did not take the frame within the bounded number of kicks. The frame stays in the transmit ring and
    /// would leave before the next frame, so the socket must not be used further.
    #[error("AF_XDP on {interface}: the kernel did not take a frame: {source}")]
    NotSent {
        /// Name and index of the interface.
        interface: String,
        /// Error of the last kick.
        source: io::Error,
    },
    /// Frames cannot be sent on the interface.
    #[error("AF_XDP on {interface}: the interface is down or gone: {source}")]
    Down {
        /// Name and index of the interface.
        interface: String,
        /// Error of the kick.
        source: io::Error,
    },
    /// The socket's counters or options could not be read.
    #[error("AF_XDP on {interface}: cannot read the statistics: {source}")]
    Statistics {
        /// Name and index of the interface.
        interface: String,
        /// Error of `getsockopt`.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_frame_fits_behind_the_headroom() {
        assert_eq!(MAX_FRAME_LENGTH, 3840);
    }
}
