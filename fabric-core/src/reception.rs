//! Receiver of a frame that comes in at a port of a standalone switch: the switch, or the kernel's
//! stack, which uses the same interface.
//!
//! The switch takes MAC control frames, xoff's own frames, and IPv4 packets that it can forward: addressed to the port,
//! with time to live left, without options, and to a prefix that has a route. The stack receives everything else. So
//! the host answers ARP for the port's own IP address, and IPv6, LLDP and SSH work there as without a switch.

use crate::frame::FrameBytes;
use crate::map_abi::address_to_u64;
use crate::tables::Tables;
use crate::wire::{ethernet, ipv4};

/// IPv4 version 4 and a header of five words.
const PLAIN_HEADER: u8 = 0x45;

/// True if the switch takes a frame received at `port`.
#[inline(always)]
pub fn is_for_switch<B: FrameBytes, T: Tables>(frame: &B, tables: &T, port: u32) -> bool {
    let Some(ether_type) = frame.read::<2>(ethernet::ETHER_TYPE_AT) else { return false };
    match u16::from_be_bytes(ether_type) {
        ethernet::ETHER_TYPE_MAC_CONTROL | ethernet::ETHER_TYPE_EXPERIMENTAL => true,
        ethernet::ETHER_TYPE_IPV4 => is_forwarded(frame, tables, port),
        _ => false,
    }
}

#[inline(always)]
fn is_forwarded<B: FrameBytes, T: Tables>(frame: &B, tables: &T, port: u32) -> bool {
    let Some(port) = tables.port(port) else { return false };
    let Some(mac) = frame.read::<6>(0) else { return false };
    let Some([first]) = frame.read::<1>(ethernet::LEN) else { return false };
    let Some([time_to_live]) = frame.read::<1>(ethernet::LEN + ipv4::TIME_TO_LIVE_AT) else {
        return false;
    };
    let Some(destination) = frame.read::<4>(ethernet::LEN + ipv4::DESTINATION_AT) else {
        return false;
    };
    if first != PLAIN_HEADER || time_to_live <= 1 || address_to_u64(mac) != port.address.load() {
        return false;
    }
    let host = tables.host_of(u32::from_be_bytes(destination));
    let hosts = tables.config().map_or(0, |config| config.hosts);
    host < hosts && tables.route(host).is_some_and(|route| route.members > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_abi::{FIRST_HOST_ADDRESS, SwitchConfig, address_from_u64};
    use crate::tables::owned::OwnedTables;
    use crate::wire::mac_control;

    /// A packet to host 1, received at port 0.
    fn packet(tables: &OwnedTables) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&address_from_u64(tables.ports[0].address.load()));
        frame[12..14].copy_from_slice(&ethernet::ETHER_TYPE_IPV4.to_be_bytes());
        frame[14] = PLAIN_HEADER;
        frame[22] = 64;
        frame[30..34].copy_from_slice(&(FIRST_HOST_ADDRESS + 1).to_be_bytes());
        frame
    }

    type Change = fn(&mut Vec<u8>);

    #[test]
    fn the_switch_takes_what_it_forwards_and_the_stack_the_rest() {
        let tables = OwnedTables::new(SwitchConfig::default(), 0);
        let takes = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = packet(&tables);
            change(&mut frame);
            is_for_switch(&frame.as_mut_slice(), &tables, 0)
        };
        let rows: [(&str, Change, bool); 12] = [
            ("a packet to be forwarded", |_| {}, true),
            ("PFC", |it| it[12..14].copy_from_slice(&0x8808_u16.to_be_bytes()), true),
            ("xoff's own", |it| it[12..14].copy_from_slice(&0x88b5_u16.to_be_bytes()), true),
            ("ARP", |it| it[12..14].copy_from_slice(&0x0806_u16.to_be_bytes()), false),
            ("IPv6", |it| it[12..14].copy_from_slice(&0x86dd_u16.to_be_bytes()), false),
            ("LLDP", |it| it[12..14].copy_from_slice(&0x88cc_u16.to_be_bytes()), false),
            ("a broadcast", |it| it[..6].fill(0xff), false),
            ("to the switch's own address", |it| it[33] = 200, false),
            ("options", |it| it[14] = 0x46, false),
            ("its last hop", |it| it[22] = 1, false),
            ("cut off", |it| it.truncate(33), false),
            ("hardly a frame", |it| it.truncate(13), false),
        ];
        for (what, change, expected) in rows {
            assert_eq!(takes(&change), expected, "{what}");
        }
        let no_hosts = {
            let mut tables = OwnedTables::new(SwitchConfig::default(), 0);
            // The table of routes has a row of another size, as eBPF's table may.
            tables.config.hosts = 1;
            tables
        };
        let own = {
            let mut tables = OwnedTables::new(SwitchConfig::default(), 0);
            tables.routes[1].members = 0;
            tables
        };
        for (what, tables) in [("no host of it", no_hosts), ("leads to no port", own)] {
            let frame = &mut packet(&tables)[..];
            assert!(!is_for_switch(&frame, &tables, 0), "{what}");
        }
        assert_eq!(mac_control::DESTINATION[0], 1, "PFC is sent to a group address");
        let frame = &mut packet(&tables)[..];
        assert!(!is_for_switch(&frame, &tables, 7), "no such port");
    }
}
