//! Addresses, MTUs and offloads of interfaces of one namespace, by ioctl.
//!
//! [`Interfaces::index`], [`mac_address`](Interfaces::mac_address) and [`mtu`](Interfaces::mtu) take no lock of the
//! kernel. Netlink would wait for other processes that change interfaces.

use std::ffi::{CStr, c_ulong};
use std::io;
use std::mem;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::errno::Errno;

/// `ETHTOOL_GCHANNELS` of `linux/ethtool.h`.
const GET_CHANNELS: u32 = 0x3c;

/// Offload of an interface, with the number of the ethtool command that reads it. The next number sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Checksums of sent packets.
    TransmitChecksums = 0x16,
    /// Packets in several pieces of memory.
    ScatterGather = 0x18,
    /// TCP segmentation.
    TcpSegmentation = 0x1e,
    /// Segmentation in the stack, just before the driver.
    GenericSegmentation = 0x23,
    /// Merging of received segments.
    GenericReceive = 0x2b,
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    max: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// The interfaces of the namespace in which this value was made. Names are as in `ip link`.
#[derive(Debug)]
pub struct Interfaces(UdpSocket);

impl Interfaces {
    /// Opens the interfaces of the calling thread's namespace.
    pub fn open() -> io::Result<Self> {
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map(Self)
    }

    /// Index of an interface.
    pub fn index(&self, name: &str) -> io::Result<u32> {
        let answer = self.query(name, libc::SIOCGIFINDEX)?;
        // SAFETY: the call has filled in the index.
        Ok(unsafe { answer.ifr_ifru.ifru_ifindex }.cast_unsigned())
    }

    /// MAC address of an interface; `None` if it is not Ethernet.
    pub fn mac_address(&self, name: &str) -> io::Result<Option<[u8; 6]>> {
        let answer = self.query(name, libc::SIOCGIFHWADDR)?;
        // SAFETY: the call has filled in the hardware address, of which each byte is a value.
        let address = unsafe { answer.ifr_ifru.ifru_hwaddr };
        let bytes = address.sa_data.map(|byte| byte.to_ne_bytes()[0]);
        let bytes = std::array::from_fn(|place| bytes[place]);
        Ok((address.sa_family == libc::ARPHRD_ETHER).then_some(bytes))
    }

    /// MTU of an interface, bytes.
    pub fn mtu(&self, name: &str) -> io::Result<u64> {
        let answer = self.query(name, libc::SIOCGIFMTU)?;
        // SAFETY: the call has filled in the MTU.
        Ok(u64::try_from(unsafe { answer.ifr_ifru.ifru_mtu }).unwrap_or(0))
    }

    /// True if an interface was brought up.
    pub fn is_up(&self, name: &str) -> io::Result<bool> {
        let answer = self.query(name, libc::SIOCGIFFLAGS)?;
        // SAFETY: the call has filled in the flags.
        Ok(i32::from(unsafe { answer.ifr_ifru.ifru_flags }) & libc::IFF_UP != 0)
    }

    /// Number of receive queues of an interface, at least 1.
    ///
    /// # Errors
    /// `EOPNOTSUPP` if the driver does not report it.
    pub fn receive_queues(&self, name: &str) -> io::Result<u32> {
        let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
        ethtool(&self.0, name, &mut channels)?;
        Ok(channels.receive.max(channels.combined).max(1))
    }

    /// True if an offload is on.
    pub fn has_offload(&self, name: &str, offload: Offload) -> io::Result<bool> {
        let mut value = Value { command: offload as u32, data: 0 };
        ethtool(&self.0, name, &mut value)?;
        Ok(value.data != 0)
    }

    /// Turns an offload on or off.
    pub fn set_offload(&self, name: &str, offload: Offload, on: bool) -> io::Result<()> {
        set_offload(&self.0, name, offload, on)
    }

    fn query(&self, name: &str, request: c_ulong) -> io::Result<libc::ifreq> {
        let mut answer = named(name)?;
        // SAFETY: these requests fill in an `ifreq` whose name ends with a zero byte, and which outlives the call.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), request as libc::Ioctl, &raw mut answer) };
        Errno::result(result)?;
        Ok(answer)
    }
}

/// Name of an interface of the calling thread's namespace. nix 0.31 returns an empty name for an unknown index.
pub fn name_of(index: u32) -> io::Result<String> {
    let mut name = [0_u8; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the length that the function requires.
    if unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    let name = CStr::from_bytes_until_nul(&name).expect("a name ends with a zero byte");
    Ok(name.to_string_lossy().into_owned())
}

/// Turns an offload of an interface on or off. `socket` is any socket of the interface's namespace.
pub fn set_offload(
    socket: &impl AsRawFd,
    name: &str,
    offload: Offload,
    on: bool,
) -> io::Result<()> {
    ethtool(socket, name, &mut Value { command: offload as u32 + 1, data: on.into() })
}

/// Returns a request for an interface. Its name ends with a zero byte.
pub(crate) fn named(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: plain data, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

/// Runs an ethtool command. `command` is a structure of `ethtool.h` that begins with the command's number.
fn ethtool<T>(socket: &impl AsRawFd, name: &str, command: &mut T) -> io::Result<()> {
    let mut request = named(name)?;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(command).cast();
    let code = libc::SIOCETHTOOL as libc::Ioctl;
    // SAFETY: SIOCETHTOOL takes an `ifreq` whose data points to the command's structure; both outlive the call.
    Errno::result(unsafe { libc::ioctl(socket.as_raw_fd(), code, &raw mut request) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_no_mac_address() {
        let interfaces = Interfaces::open().expect("a socket");
        assert_eq!(interfaces.index("lo").expect("every namespace has it"), 1);
        assert_eq!(name_of(1).expect("it has a name"), "lo");
        assert_eq!(interfaces.mac_address("lo").expect("it has an address"), None);
        assert!(interfaces.mtu("lo").expect("it has an MTU") >= 1500);
    }

    #[test]
    fn unknown_and_overlong_names_are_errors() {
        let interfaces = Interfaces::open().expect("a socket");
        let unknown = interfaces.mtu("no-such-thing").expect_err("no such interface");
        assert_eq!(unknown.raw_os_error(), Some(libc::ENODEV));
        let nameless = name_of(u32::MAX).expect_err("no such index");
        assert_eq!(nameless.raw_os_error(), Some(libc::ENXIO));
        let overlong = interfaces.mtu("a-name-of-16-byt").expect_err("15 bytes at most");
        assert_eq!(overlong.kind(), io::ErrorKind::InvalidInput);
    }
}
