//! An interface of this machine, with the properties that a switch or host uses.

use std::ffi::CString;
use std::io;
use std::mem;
use std::net::{Ipv4Addr, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;

use crate::Error;

/// Commands of `linux/ethtool.h`, and the structures that they fill in.
const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_GCHANNELS: u32 = 0x3c;

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// An interface of the current namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Its MAC address.
    pub mac: [u8; 6],
    /// Its MTU.
    pub mtu: u64,
}

/// Checks interfaces; one value serves one round of checks.
pub struct Look {
    socket: UdpSocket,
}

impl Look {
    /// Begins a round of checks.
    pub fn begin() -> Result<Self, Error> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
        let failed = |source| Error::System { step: "look at interfaces", source };
        Ok(Self { socket: socket.map_err(failed)? })
    }

    /// Returns an error if an interface is gone, has a new MAC address, or has an MTU outside `mtus`.
    pub fn check(&self, interface: &Interface, mtus: RangeInclusive<u64>) -> Result<(), Error> {
        let name = || interface.name.clone();
        let ask = |what| ask_by(&self.socket, &interface.name, what);
        let answers = [libc::SIOCGIFINDEX, libc::SIOCGIFHWADDR, libc::SIOCGIFMTU].map(ask);
        let [Ok(index), Ok(hardware), Ok(mtu)] = answers else { return Err(Error::Gone(name())) };
        // SAFETY: the call has filled in the index.
        let index = unsafe { index.ifr_ifru.ifru_ifindex };
        if u32::try_from(index) != Ok(interface.index) {
            return Err(Error::Gone(name()));
        }
        let mac = mac_address_of(&hardware);
        if mac != interface.mac {
            let mac_addresses = [interface.mac, mac].map(text_of);
            return Err(Error::MacAddressChanged { interface: name(), mac_addresses });
        }
        // SAFETY: the call has filled in the MTU.
        let mtu = unsafe { mtu.ifr_ifru.ifru_mtu };
        let mtu = u64::try_from(mtu).unwrap_or(0);
        if !mtus.contains(&mtu) {
            return Err(Error::OtherMtu { interface: name(), mtu, before: interface.mtu });
        }
        Ok(())
    }
}

/// A MAC address in colon notation.
pub fn text_of(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The MAC address in an answer to `SIOCGIFHWADDR`.
fn mac_address_of(hardware: &libc::ifreq) -> [u8; 6] {
    // SAFETY: the call has filled in the hardware address, of which each byte is a value.
    let bytes = unsafe { hardware.ifr_ifru.ifru_hwaddr.sa_data };
    std::array::from_fn(|place| bytes[place].cast_unsigned())
}

impl Interface {
    /// Finds an interface that is up.
    pub fn find(name: &str) -> Result<Self, Error> {
        let failed =
            |step| move |source| Error::Interface { interface: name.to_owned(), step, source };
        let index = index_of(name).ok_or_else(|| Error::NoInterface(name.to_owned()))?;
        let hardware = ask(name, libc::SIOCGIFHWADDR).map_err(failed("read the address of"))?;
        // SAFETY: the call has filled in the hardware address.
        let kind = unsafe { hardware.ifr_ifru.ifru_hwaddr.sa_family };
        if kind != libc::ARPHRD_ETHER {
            return Err(Error::NotEthernet(name.to_owned()));
        }
        let mac = mac_address_of(&hardware);
        let mtu = ask(name, libc::SIOCGIFMTU).map_err(failed("read the MTU of"))?;
        // SAFETY: the call has filled in the MTU.
        let mtu = unsafe { mtu.ifr_ifru.ifru_mtu };
        let flags = ask(name, libc::SIOCGIFFLAGS).map_err(failed("read the state of"))?;
        // SAFETY: the call has filled in the flags.
        let flags = unsafe { flags.ifr_ifru.ifru_flags };
        if i32::from(flags) & libc::IFF_UP == 0 {
            return Err(Error::Down(name.to_owned()));
        }
        let mtu = u64::try_from(mtu).unwrap_or(0);
        Ok(Self { name: name.to_owned(), index, mac, mtu })
    }

    /// True if the interface still exists under its name.
    pub fn is_there(&self) -> bool {
        index_of(&self.name) == Some(self.index)
    }

    /// Its first IPv4 address.
    pub fn address(&self) -> Option<Ipv4Addr> {
        let answer = ask(&self.name, libc::SIOCGIFADDR).ok()?;
        // SAFETY: the call has filled in an address.
        let address = unsafe { answer.ifr_ifru.ifru_addr };
        if i32::from(address.sa_family) != libc::AF_INET {
            return None;
        }
        let [_, _, bytes @ ..] = address.sa_data;
        let [a, b, c, d, ..] = bytes.map(libc::c_char::cast_unsigned);
        Some(Ipv4Addr::new(a, b, c, d))
    }

    /// Number of receive queues; 1 if the driver does not report it.
    pub fn receive_queues(&self) -> u32 {
        let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Channels::default() };
        match ethtool(&self.name, &mut channels) {
            Ok(()) => channels.receive.max(channels.combined).max(1),
            Err(_) => 1,
        }
    }

    /// True if the interface leaves checksums of the stack's packets to hardware. A veth has no such hardware.
    pub fn transmit_checksums(&self) -> io::Result<bool> {
        let mut value = Value { command: ETHTOOL_GTXCSUM, data: 0 };
        ethtool(&self.name, &mut value)?;
        Ok(value.data != 0)
    }
}

/// Turns transmit checksums in hardware on or off.
pub fn set_transmit_checksums(name: &str, on: bool) -> io::Result<()> {
    ethtool(name, &mut Value { command: ETHTOOL_STXCSUM, data: on.into() })
}

/// All IPv4 addresses of this namespace.
pub fn own_addresses() -> io::Result<Vec<Ipv4Addr>> {
    let mut first = std::ptr::null_mut();
    // SAFETY: the call makes a list, and has `first` point to it.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut addresses = Vec::new();
    let mut at = first;
    // SAFETY: entries of the list that the call has made, and that is freed only below.
    while let Some(entry) = unsafe { at.as_ref() } {
        // SAFETY: as above. An entry may have no address.
        let family = unsafe { entry.ifa_addr.as_ref() }.map(|address| address.sa_family);
        if family.map(i32::from) == Some(libc::AF_INET) {
            // SAFETY: an address of this family is a `sockaddr_in`.
            let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            addresses.push(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()));
        }
        at = entry.ifa_next;
    }
    // SAFETY: the list that the call has made; nothing of it is used any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(addresses)
}

fn index_of(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero byte and outlives the call.
    Some(unsafe { libc::if_nametoindex(name.as_ptr()) }).filter(|index| *index != 0)
}

fn named(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: plain data, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

fn ask(name: &str, what: libc::c_ulong) -> io::Result<libc::ifreq> {
    ask_by(&UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?, name, what)
}

fn ask_by(socket: &UdpSocket, name: &str, what: libc::c_ulong) -> io::Result<libc::ifreq> {
    let mut request = named(name)?;
    // SAFETY: these requests fill in an `ifreq` whose name ends with a zero byte, and which outlives the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), what as libc::Ioctl, &raw mut request) } {
        0 => Ok(request),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs an `ethtool` command. `command` is a structure of `ethtool.h` that begins with the command's number.
fn ethtool<T>(name: &str, command: &mut T) -> io::Result<()> {
    let mut request = named(name)?;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(command).cast();
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: SIOCETHTOOL takes an `ifreq` whose data points to the command's structure; both outlive the call.
    match unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_namespace_are_found() {
        // A namespace whose loopback is down has none.
        let is_up = ask("lo", libc::SIOCGIFADDR).is_ok();
        let addresses = own_addresses().expect("the system lists them");
        assert_eq!(addresses.contains(&Ipv4Addr::LOCALHOST), is_up, "{addresses:?}");
    }

    #[test]
    fn what_is_no_interface_of_ethernet_is_named() {
        let none = Interface::find("no-such-thing").expect_err("there is none");
        assert!(none.to_string().contains("no interface `no-such-thing`"), "{none}");
        let loopback = Interface::find("lo").expect_err("it is not Ethernet");
        assert!(loopback.to_string().contains("`lo` is not Ethernet"), "{loopback}");
    }
}
