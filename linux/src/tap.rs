//! Tap devices: interfaces that receive frames which a process writes to a descriptor, and whose sent frames the
//! process reads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;

use crate::interface::named;

/// `linux/if_tun.h`: `TUNSETIFINDEX`, which `libc` lacks.
const TUNSETIFINDEX: libc::Ioctl = 0x4004_54da;

/// One end of a link of tap devices, or the interface of a stack.
///
/// The interface has carrier while this value lives. It is removed with its namespace, because deleting it alone blocks
/// for 20 ms.
#[derive(Debug)]
pub struct Tap {
    device: File,
    interface: String,
}

/// Reason why an interface did not receive a frame.
#[derive(Debug, thiserror::Error)]
#[error(
    "the tap device {interface} did not take a frame of {length} bytes: {source}{}",
    advice(source)
)]
pub struct TapError {
    /// Name of the interface.
    pub interface: String,
    /// Length of the frame in bytes.
    pub length: usize,
    /// Error of the kernel.
    pub source: io::Error,
}

impl Tap {
    /// Creates an interface in the calling thread's namespace. An error names the step.
    ///
    /// With `O_NONBLOCK` the kernel runs a native XDP program before it builds an skb (`tun_can_build_skb`). Without it
    /// the program runs afterwards, and a frame takes 2.6 times as long.
    pub fn make(interface: &str, index: u32) -> Result<Self, (&'static str, io::Error)> {
        let failed = |step| move |error: Errno| (step, error.into());
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let opened = options.open("/dev/net/tun");
        let device =
            opened.map_err(|error| ("open /dev/net/tun (CONFIG_TUN, `modprobe tun`)", error))?;
        let fd = device.as_raw_fd();
        // SAFETY: TUNSETIFINDEX reads an integer, which outlives the call.
        Errno::result(unsafe { libc::ioctl(fd, TUNSETIFINDEX, &raw const index) })
            .map_err(failed("choose its index"))?;
        let mut request = named(interface).map_err(|error| ("TUNSETIFF", error))?;
        let flags = libc::IFF_TAP | libc::IFF_NO_PI;
        request.ifr_ifru.ifru_flags = flags.try_into().expect("these flags have 16 bits");
        // SAFETY: TUNSETIFF takes an `ifreq` whose name is zero-terminated and which outlives the call.
        Errno::result(unsafe { libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) })
            .map_err(failed("TUNSETIFF"))?;
        // SAFETY: TUNSETPERSIST takes a number.
        Errno::result(unsafe { libc::ioctl(fd, libc::TUNSETPERSIST, 1) })
            .map_err(failed("TUNSETPERSIST"))?;
        Ok(Self { device, interface: interface.to_owned() })
    }

    /// Reads the next frame that the interface has sent, if any, and returns its length. A frame longer than `buffer`
    /// is cut.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match (&self.device).read(buffer) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes a frame to the interface. On return its XDP program has processed the frame, even if the interface is
    /// down.
    pub fn deliver(&self, frame: &[u8]) -> Result<(), TapError> {
        loop {
            match (&self.device).write(frame) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let (interface, length) = (self.interface.clone(), frame.len());
                    return Err(TapError { interface, length, source });
                }
            }
        }
    }
}

/// For polling.
impl AsRawFd for Tap {
    fn as_raw_fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EBADFD) => " (the interface was deleted)",
        // The kernel takes an interface down before it deletes it.
        Some(libc::EIO) => " (the interface is down, or about to be deleted)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_interface_and_what_is_wrong_with_it() {
        let source = io::Error::from_raw_os_error(libc::EBADFD);
        let error = TapError { interface: "h0".to_owned(), length: 60, source };
        let message = error.to_string();
        for part in ["tap device h0", "60 bytes", "was deleted"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
