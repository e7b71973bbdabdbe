//! An interface of this machine, with the properties that a switch or host uses.

use std::io;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use linux::interface::{Interfaces, Offload};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::if_nametoindex;

use crate::Error;

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
pub struct Look(Interfaces);

impl Look {
    /// Begins a round of checks.
    pub fn begin() -> Result<Self, Error> {
        let failed = |source| Error::System { step: "look at interfaces", source };
        Interfaces::open().map(Self).map_err(failed)
    }

    /// Returns an error if an interface is gone, has a new MAC address, or has an MTU outside `mtus`.
    pub fn check(&self, interface: &Interface, mtus: RangeInclusive<u64>) -> Result<(), Error> {
        let name = || interface.name.clone();
        let gone = |_| Error::Gone(name());
        let index = self.0.index(&interface.name).map_err(gone)?;
        let mac = self.0.mac_address(&interface.name).map_err(gone)?;
        let mtu = self.0.mtu(&interface.name).map_err(gone)?;
        let Some(mac) = mac.filter(|_| index == interface.index) else {
            return Err(Error::Gone(name()));
        };
        if mac != interface.mac {
            let mac_addresses = [interface.mac, mac].map(text_of);
            return Err(Error::MacAddressChanged { interface: name(), mac_addresses });
        }
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

impl Interface {
    /// Finds an interface that is up.
    pub fn find(name: &str) -> Result<Self, Error> {
        let failed =
            |step| move |source| Error::Interface { interface: name.to_owned(), step, source };
        let index = if_nametoindex(name).map_err(|_| Error::NoInterface(name.to_owned()))?;
        let interfaces = Interfaces::open().map_err(failed("read the address of"))?;
        let mac = interfaces.mac_address(name).map_err(failed("read the address of"))?;
        let mac = mac.ok_or_else(|| Error::NotEthernet(name.to_owned()))?;
        let mtu = interfaces.mtu(name).map_err(failed("read the MTU of"))?;
        if !interfaces.is_up(name).map_err(failed("read the state of"))? {
            return Err(Error::Down(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), index, mac, mtu })
    }

    /// True if the interface still exists under its name.
    pub fn is_there(&self) -> bool {
        if_nametoindex(&*self.name) == Ok(self.index)
    }

    /// Its first IPv4 address.
    pub fn address(&self) -> Option<Ipv4Addr> {
        let mut own = getifaddrs().ok()?.filter(|it| it.interface_name == self.name);
        own.find_map(|it| ipv4_of(&it))
    }

    /// Number of receive queues; 1 if the driver does not report it.
    pub fn receive_queues(&self) -> u32 {
        Interfaces::open().and_then(|it| it.receive_queues(&self.name)).unwrap_or(1)
    }

    /// True if the interface leaves checksums of the stack's packets to hardware. A veth has no such hardware.
    pub fn transmit_checksums(&self) -> io::Result<bool> {
        Interfaces::open()?.has_offload(&self.name, Offload::TransmitChecksums)
    }
}

/// Turns transmit checksums in hardware on or off.
pub fn set_transmit_checksums(name: &str, on: bool) -> io::Result<()> {
    Interfaces::open()?.set_offload(name, Offload::TransmitChecksums, on)
}

/// All IPv4 addresses of this namespace.
pub fn own_addresses() -> io::Result<Vec<Ipv4Addr>> {
    Ok(getifaddrs()?.filter_map(|it| ipv4_of(&it)).collect())
}

fn ipv4_of(entry: &InterfaceAddress) -> Option<Ipv4Addr> {
    Some(entry.address.as_ref()?.as_sockaddr_in()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_namespace_are_found() {
        // A namespace whose loopback is down has none.
        let is_up = linux::interface::Interfaces::open().and_then(|all| all.is_up("lo"));
        let is_up = is_up.expect("every namespace has it");
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
