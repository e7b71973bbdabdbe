//! Offloads of an interface, through the ethtool ioctl.

use std::io;
use std::mem;
use std::os::fd::AsRawFd;

/// Commands of `ethtool.h` that switch one offload each, and their names. Checksums come first:
/// without them the kernel also disables scatter-gather and all segmentation.
const SWITCHES: [(u32, &str); 5] = [
    (0x17, "transmit checksum offload"),
    (0x19, "scatter-gather"),
    (0x1f, "TCP segmentation offload"),
    (0x24, "generic segmentation offload"),
    (0x2c, "generic receive offload"),
];

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Disables offloads that put unfinished checksums or frames larger than the MTU on the wire.
///
/// `socket` is any socket of the interface's namespace. An error names the offload.
pub(crate) fn switch_off(
    socket: &impl AsRawFd,
    interface: &str,
) -> Result<(), (&'static str, io::Error)> {
    for (command, name) in SWITCHES {
        set(socket, interface, EthtoolValue { command, data: 0 }).map_err(|error| (name, error))?;
    }
    Ok(())
}

fn set(socket: &impl AsRawFd, interface: &str, mut value: EthtoolValue) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    assert!(interface.len() < request.ifr_name.len(), "the plan's check bounds interface names");
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL takes an `ifreq` whose name is zero-terminated (asserted) and whose data
    // points to the command's structure; both outlive the call.
    if unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request)
    } == 0
    {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
