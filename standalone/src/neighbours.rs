//! MAC addresses of neighbours: the kernel's table, which its stack fills by ARP.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};

use nix::sys::socket::{setsockopt, sockopt::BindToDevice};
use scenario::standalone::parse_mac_address;

use crate::interface::Interface;

/// Flag of `linux/if_arp.h`: the entry has a MAC address.
const COMPLETE: u32 = 2;
/// Port of the discard service: any packet to it makes the kernel resolve its receiver.
const DISCARD: u16 = 9;

/// The MAC addresses of neighbours that the kernel knew at an instant.
#[derive(Debug, Default)]
pub struct NeighbourTable {
    /// For each address, the interfaces and MAC addresses of neighbours that have it.
    mac_addresses: BTreeMap<Ipv4Addr, Vec<(String, [u8; 6])>>,
}

impl NeighbourTable {
    /// Reads the kernel's table. The result is empty if the table cannot be read.
    pub fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/self/net/arp").unwrap_or_default())
    }

    fn parse(table: &str) -> Self {
        let mut mac_addresses = BTreeMap::<_, Vec<_>>::new();
        for (address, interface, mac) in table.lines().skip(1).filter_map(entry) {
            mac_addresses.entry(address).or_default().push((interface.to_owned(), mac));
        }
        Self { mac_addresses }
    }

    /// The MAC address of a neighbour at an interface.
    pub fn mac_address_of(&self, interface: &str, address: Ipv4Addr) -> Option<[u8; 6]> {
        let mac_addresses = self.mac_addresses.get(&address)?;
        mac_addresses.iter().find(|(at, _)| at == interface).map(|(_, mac)| *mac)
    }
}

/// Makes the kernel resolve a neighbour, if its routes lead there. `mac_address_of` returns the result later.
pub fn look_for(interface: &Interface, address: Ipv4Addr) {
    let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)) else { return };
    let _ = setsockopt(&socket, BindToDevice, &OsString::from(&interface.name));
    let _ = socket.send_to(&[0], (address, DISCARD));
}

/// The neighbour at an interface through which the kernel sends to an address: the address itself, if they share
/// the link.
pub fn next_hop(interface: &Interface, destination: Ipv4Addr) -> Option<Ipv4Addr> {
    let routes = fs::read_to_string("/proc/self/net/route").ok()?;
    find_next_hop(&routes, &interface.name, destination)
}

/// Address, interface and MAC address of a complete entry in a line of the table.
fn entry(line: &str) -> Option<(Ipv4Addr, &str, [u8; 6])> {
    let mut fields = line.split_whitespace();
    let address = fields.next()?.parse().ok()?;
    let flags = u32::from_str_radix(fields.nth(1)?.trim_start_matches("0x"), 16).ok()?;
    let mac = parse_mac_address(fields.next()?)?;
    let interface = fields.nth(1)?;
    (flags & COMPLETE != 0).then_some((address, interface, mac))
}

fn find_next_hop(table: &str, interface: &str, destination: Ipv4Addr) -> Option<Ipv4Addr> {
    let number = |text: &str| {
        u32::from_str_radix(text, 16).ok().map(|word| Ipv4Addr::from(word.to_ne_bytes()).to_bits())
    };
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [at, prefix, gateway, _, _, _, _, mask, ..] = fields[..] else { return None };
        let (prefix, gateway, mask) = (number(prefix)?, number(gateway)?, number(mask)?);
        let leads_there = at == interface && destination.to_bits() & mask == prefix;
        leads_there.then_some((mask, gateway))
    };
    let (_, gateway) = table.lines().skip(1).filter_map(route).max_by_key(|(mask, _)| *mask)?;
    Some(if gateway == 0 { destination } else { Ipv4Addr::from_bits(gateway) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_found_at_its_interface_once_it_has_answered() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device
10.0.1.1         0x1         0x2         02:00:00:00:00:0a     *        eth1
10.0.1.1         0x1         0x2         02:00:00:00:00:0b     *        eth2
10.0.1.2         0x1         0x0         00:00:00:00:00:00     *        eth1
";
        let table = NeighbourTable::parse(table);
        let find = |interface, last| table.mac_address_of(interface, Ipv4Addr::new(10, 0, 1, last));
        assert_eq!(find("eth1", 1), Some([2, 0, 0, 0, 0, 10]));
        assert_eq!(find("eth2", 1), Some([2, 0, 0, 0, 0, 11]));
        assert_eq!((find("eth1", 2), find("eth3", 1), find("eth1", 3)), (None, None, None));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_route_leads_to_the_next_hop() {
        let table =
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\tFE01000A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth1\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
";
        let hop = |interface, a, b| {
            find_next_hop(table, interface, Ipv4Addr::new(10, 0, a, b)).map(|hop| hop.to_string())
        };
        assert_eq!(hop("eth0", 1, 7).as_deref(), Some("10.0.1.7"));
        assert_eq!(hop("eth0", 2, 7).as_deref(), Some("10.0.1.254"));
        assert_eq!(hop("eth1", 2, 7).as_deref(), Some("10.0.2.7"));
        assert_eq!(hop("eth1", 1, 7), None);
    }
}
