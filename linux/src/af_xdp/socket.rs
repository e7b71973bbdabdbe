//! One `AF_XDP` socket on one queue of one interface.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

use super::ring::{Consumer, Layout, Producer};
use super::umem::{FRAME_BYTES, FRAMES, Umem};
use super::{Error, MAX_FRAME_LENGTH, MIN_FRAME_LENGTH};
use crate::interface::name_of;

/// Kicks for one frame before giving up, with a yield between them. A frame normally leaves on the
/// first; only another CPU that is polling the peer's queue keeps it longer, for microseconds.
const MAX_KICKS: u32 = 1024;

/// An open socket. It can be moved between threads; frames are sent and received by `&mut self`.
pub struct Socket {
    fd: OwnedFd,
    interface: String,
    umem: Umem,
    fill: Producer<u64>,
    transmit: Producer<libc::xdp_desc>,
    receive: Consumer<libc::xdp_desc>,
    completion: Consumer<u64>,
}

/// Options for opening a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Frames of the UMEM, a power of two from 16 up: all but 8 receive.
    pub frames: u32,
    /// True to have the kernel report when it needs a kick (`XDP_USE_NEED_WAKEUP`).
    pub need_wakeup: bool,
    /// True to let a packet span several frames (`XDP_USE_SG`, Linux 6.6).
    pub several_frames: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { frames: FRAMES, need_wakeup: false, several_frames: false }
    }
}

impl Options {
    fn flags(self) -> u16 {
        let when = |wanted: bool, flag: u16| if wanted { flag } else { 0 };
        libc::XDP_COPY
            | when(self.need_wakeup, libc::XDP_USE_NEED_WAKEUP)
            | when(self.several_frames, libc::XDP_USE_SG)
    }
}

/// The kernel's counters of one socket since it was opened. All counters except `transmit_ring_empty` must stay zero in
/// a faithful run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames dropped because they were too long for a UMEM frame or for another reason of their
    /// own.
    pub receive_dropped: u64,
    /// Invalid addresses found on the fill ring.
    pub receive_invalid_descriptors: u64,
    /// Invalid descriptors found on the transmit ring.
    pub transmit_invalid_descriptors: u64,
    /// Frames dropped because the receive ring was full.
    pub receive_ring_full: u64,
    /// Frames dropped because the fill ring was empty: the host did not receive fast enough.
    pub fill_ring_empty: u64,
    /// Polls that found the transmit ring empty. Each send ends with one.
    pub transmit_ring_empty: u64,
}

impl Statistics {
    /// Frames that arrived for the socket and did not reach the host.
    ///
    /// The kernel counts a frame that found the fill ring empty under `receive_dropped` too.
    pub fn frames_lost(&self) -> u64 {
        self.receive_dropped.max(self.fill_ring_empty) + self.receive_ring_full
    }
}

impl Socket {
    /// Opens a socket on `queue` of an interface of the calling thread's network namespace, in copy mode.
    ///
    /// The kernel frees a queue only a moment after the previous socket on the queue was closed.
    pub fn open(interface_index: u32, queue: u32) -> Result<Self, Error> {
        Self::open_with(interface_index, queue, Options::default())
    }

    /// Opens a socket as [`open`](Self::open) does, with these options.
    pub fn open_with(interface_index: u32, queue: u32, options: Options) -> Result<Self, Error> {
        let frames = options.frames;
        assert!(frames >= 16 && frames.is_power_of_two(), "a UMEM of {frames} frames");
        let interface = interface_name(interface_index);
        Self::open_steps(interface_index, queue, options, &interface)
            .map_err(|(step, source)| Error::Open { interface, queue, step, source })
    }

    fn open_steps(
        interface_index: u32,
        queue: u32,
        options: Options,
        interface: &str,
    ) -> Result<Self, (&'static str, io::Error)> {
        let frames = options.frames;
        let at = |step| move |source| (step, source);
        let fd = create().map_err(at("create the socket"))?;
        let umem = Umem::new(frames).map_err(at("allocate the UMEM"))?;
        set_option(&fd, libc::XDP_UMEM_REG, &umem.registration())
            .map_err(at("register the UMEM"))?;
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            set_option(&fd, ring, &frames).map_err(at("size a ring"))?;
        }
        let offsets = ring_offsets(&fd).map_err(at("find the rings"))?;
        let layout = |offsets| Layout::new(offsets, frames);
        let map = at("map a ring");
        let mut fill =
            Producer::map(fd.as_fd(), libc::XDP_UMEM_PGOFF_FILL_RING, layout(&offsets.fr))
                .map_err(map)?;
        let completion =
            Consumer::map(fd.as_fd(), libc::XDP_UMEM_PGOFF_COMPLETION_RING, layout(&offsets.cr))
                .map_err(map)?;
        let receive =
            Consumer::map(fd.as_fd(), libc::XDP_PGOFF_RX_RING.cast_unsigned(), layout(&offsets.rx))
                .map_err(map)?;
        let transmit =
            Producer::map(fd.as_fd(), libc::XDP_PGOFF_TX_RING.cast_unsigned(), layout(&offsets.tx))
                .map_err(map)?;
        umem.receive_frames().for_each(|frame| fill.push(frame));
        bind(&fd, interface_index, queue, options.flags()).map_err(at("bind"))?;
        let interface = interface.to_owned();
        Ok(Self { fd, interface, umem, fill, transmit, receive, completion })
    }

    /// Sends a copy of `frame`. On return it has left: the peer's XDP program has run on it.
    pub fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        self.send_with(frame.len(), |buffer| buffer.copy_from_slice(frame))
    }

    /// Sends a frame of `length` bytes that `build` writes in place, as [`Self::send`] does.
    ///
    /// `build` gets the bytes of an earlier frame and must write all of them.
    pub fn send_with(&mut self, length: usize, build: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        let whole = u32::try_from(length).ok();
        let fits = |length: &u32| (MIN_FRAME_LENGTH..=MAX_FRAME_LENGTH).contains(length);
        let Some(len) = whole.filter(fits) else {
            return Err(Error::FrameLength { interface: self.interface.clone(), length });
        };
        let Some(frame) = self.umem.take() else {
            return Err(self.not_sent(io::Error::from_raw_os_error(libc::ENOBUFS)));
        };
        // SAFETY: the frame was on the free list, so the kernel does not hold it; it gets it only
        // by the push below.
        build(unsafe { self.umem.bytes_mut(frame, len) });
        self.transmit.push(libc::xdp_desc { addr: frame, len, options: 0 });
        self.transmit_all()
    }

    /// Puts a packet on the transmit ring, one frame per part. The packet stays there until [`Self::transmit_queued`].
    ///
    /// # Panics
    /// If a part is longer than a frame, or `parts` is empty.
    pub fn queue(&mut self, parts: &[&[u8]]) -> Result<(), Error> {
        let last = parts.len().checked_sub(1).expect("a packet has bytes");
        for (number, part) in parts.iter().enumerate() {
            let len = u32::try_from(part.len()).expect("a part fits a frame");
            assert!(len <= FRAME_BYTES, "a part fits a frame");
            let Some(frame) = self.umem.take() else {
                return Err(self.not_sent(io::Error::from_raw_os_error(libc::ENOBUFS)));
            };
            // SAFETY: the frame was on the free list, so the kernel does not hold it; it gets it only by the push below.
            unsafe { self.umem.bytes_mut(frame, len) }.copy_from_slice(part);
            let options = if number == last { 0 } else { libc::XDP_PKT_CONTD };
            self.transmit.push(libc::xdp_desc { addr: frame, len, options });
        }
        Ok(())
    }

    /// Kicks the kernel until all that is queued has left.
    pub fn transmit_queued(&mut self) -> Result<(), Error> {
        self.transmit_all()
    }

    /// Frames on the transmit ring, plus frames sent whose completion has not arrived yet.
    pub fn in_flight(&mut self) -> usize {
        while let Some(address) = self.completion.pop() {
            self.umem.release(Umem::frame_of(address));
        }
        self.umem.in_flight()
    }

    /// Returns true if the kernel requests a kick to transmit. Without `need_wakeup` it never does.
    pub fn needs_kick(&self) -> bool {
        self.transmit.needs_wakeup()
    }

    /// Returns true if the kernel reports that it moves frames without a copy.
    pub fn is_zero_copy(&self) -> Result<bool, Error> {
        let mut raw = libc::xdp_options { flags: 0 };
        option(&self.fd, libc::XDP_OPTIONS, &mut raw)
            .map_err(|source| Error::Statistics { interface: self.interface.clone(), source })?;
        Ok(raw.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Kicks the kernel until it is done with every frame of the transmit ring.
    fn transmit_all(&mut self) -> Result<(), Error> {
        let mut last = io::ErrorKind::TimedOut.into();
        for _ in 0..MAX_KICKS {
            let kicked = self.kick();
            while let Some(address) = self.completion.pop() {
                self.umem.release(Umem::frame_of(address));
            }
            let done = self.umem.in_flight() == 0;
            match kicked {
                Ok(()) if done => return Ok(()),
                Ok(()) => {}
                // EBUSY for a frame that is done means that it was freed without being sent.
                Err(error) if done && error.raw_os_error() == Some(libc::EBUSY) => {
                    return Err(Error::Dropped { interface: self.interface.clone() });
                }
                Err(error) if is_transient(&error) => last = error,
                Err(error) => return Err(self.not_sent(error)),
            }
            std::thread::yield_now();
        }
        Err(self.not_sent(last))
    }

    fn kick(&self) -> io::Result<()> {
        let (fd, flags) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: no buffer and no address are passed.
        let sent = unsafe { libc::sendto(fd, std::ptr::null(), 0, flags, std::ptr::null(), 0) };
        Ok(Errno::result(sent).map(drop)?)
    }

    /// Checks that the interface exists and is up, without sending anything.
    pub fn check(&self) -> Result<(), Error> {
        match self.kick() {
            Err(source) if !is_transient(&source) => {
                Err(Error::Down { interface: self.interface.clone(), source })
            }
            _ => Ok(()),
        }
    }

    fn not_sent(&self, source: io::Error) -> Error {
        Error::NotSent { interface: self.interface.clone(), source }
    }

    /// Passes the oldest received frame to `handle` and returns its memory to the kernel. Returns true if there was a
    /// frame.
    pub fn receive(&mut self, handle: impl FnOnce(&[u8])) -> bool {
        let Some(descriptor) = self.receive.pop() else {
            return false;
        };
        // SAFETY: the kernel gave this frame away on the receive ring, and gets it back only by the
        // push below, when the slice is gone.
        handle(unsafe { self.umem.bytes(descriptor.addr, descriptor.len) });
        self.fill.push(Umem::frame_of(descriptor.addr));
        true
    }

    /// Removes the oldest received packet and returns it with the number of its frames.
    pub fn receive_packet(&mut self) -> Option<(Vec<u8>, usize)> {
        let mut packet = Vec::new();
        for frames in 1.. {
            // The kernel shows the frames of a packet all at once.
            let descriptor = self.receive.pop()?;
            // SAFETY: as in `receive`.
            packet.extend(unsafe { self.umem.bytes(descriptor.addr, descriptor.len) });
            self.fill.push(Umem::frame_of(descriptor.addr));
            if descriptor.options & libc::XDP_PKT_CONTD == 0 {
                return Some((packet, frames));
            }
        }
        None
    }

    /// Reads the kernel's counters of this socket.
    pub fn statistics(&self) -> Result<Statistics, Error> {
        // SAFETY: a struct of integers, for which zero is a value.
        let mut raw: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        option(&self.fd, libc::XDP_STATISTICS, &mut raw)
            .map_err(|source| Error::Statistics { interface: self.interface.clone(), source })?;
        Ok(Statistics {
            receive_dropped: raw.rx_dropped,
            receive_invalid_descriptors: raw.rx_invalid_descs,
            transmit_invalid_descriptors: raw.tx_invalid_descs,
            receive_ring_full: raw.rx_ring_full,
            fill_ring_empty: raw.rx_fill_ring_empty_descs,
            transmit_ring_empty: raw.tx_ring_empty_descs,
        })
    }
}

/// The descriptor to wait for frames on with `poll`.
impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The descriptor to put into an `XSKMAP`.
impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR))
}

/// `name (index n)`, or the index alone where the namespace has no such interface.
fn interface_name(index: u32) -> String {
    match name_of(index) {
        Ok(name) => format!("{name} (index {index})"),
        Err(_) => format!("interface {index}"),
    }
}

/// Checks that the kernel has AF_XDP.
///
/// # Errors
/// `EAFNOSUPPORT` if the kernel does not know the address family.
pub fn probe() -> io::Result<()> {
    create().map(drop)
}

fn create() -> io::Result<OwnedFd> {
    // SAFETY: `socket` takes no pointers.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: the descriptor was just opened and has no other owner.
    Errno::result(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).map_err(io::Error::from)
}

fn bind(fd: &OwnedFd, interface_index: u32, queue: u32, flags: u16) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: u16::try_from(libc::AF_XDP).expect("families are 16 bits"),
        sxdp_flags: flags,
        sxdp_ifindex: interface_index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    // SAFETY: pointer and length describe `address`, which outlives the call.
    let result = unsafe {
        libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length_of::<libc::sockaddr_xdp>())
    };
    Ok(Errno::result(result).map(drop)?)
}

fn ring_offsets(fd: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    option(fd, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    Ok(offsets)
}

/// Size of `T` as a socket option length.
fn length_of<T>() -> libc::socklen_t {
    size_of::<T>().try_into().expect("what the kernel takes is less than 4 GiB")
}

fn set_option<T: Copy>(fd: &OwnedFd, name: i32, value: &T) -> io::Result<()> {
    let value = std::ptr::from_ref(value).cast::<c_void>();
    let length = length_of::<T>();
    // SAFETY: pointer and length describe `value`, which outlives the call.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_XDP, name, value, length) };
    Ok(Errno::result(result).map(drop)?)
}

/// Reads an option into `value`, a struct of integers, of which an older kernel may fill a part.
fn option<T: Copy>(fd: &OwnedFd, name: i32, value: &mut T) -> io::Result<()> {
    let value = std::ptr::from_mut(value).cast::<c_void>();
    let mut length = length_of::<T>();
    // SAFETY: pointer and length describe `value`, which the kernel may overwrite with any
    // integers.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, name, value, &raw mut length) };
    Ok(Errno::result(result).map(drop)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no interfaces")]
    fn an_error_names_interface_queue_and_step() {
        let error = Error::Open {
            interface: interface_name(u32::MAX),
            queue: 3,
            step: "bind",
            source: io::Error::from_raw_os_error(libc::ENODEV),
        };
        let message = error.to_string();
        assert!(message.contains("interface 4294967295 queue 3: cannot bind"), "{message}");
    }

    #[test]
    fn a_frame_that_found_no_memory_is_lost_once() {
        let statistics = Statistics {
            receive_dropped: 5,
            fill_ring_empty: 5,
            receive_ring_full: 2,
            transmit_ring_empty: 900,
            ..Statistics::default()
        };
        assert_eq!(statistics.frames_lost(), 7);
    }
}
