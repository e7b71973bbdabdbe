//! MAC addresses of the nodes' ports, and so of frames on each wire.

use fabric_core::map_abi::{address_from_u64, address_to_u64};
use fabric_core::queue::QueueId;
use fabric_core::wire::LinkAddresses;
use topology::{Fabric, HostId, NodeId, NodeKind, SwitchId};

/// MAC addresses of frames on a fabric's wires, by [`topology::WireId`].
pub fn addresses(fabric: &Fabric) -> Vec<LinkAddresses> {
    fabric
        .wires()
        .iter()
        .map(|wire| LinkAddresses {
            source: mac_address(fabric, wire.from, wire.from_port),
            destination: mac_address(fabric, wire.to, wire.to_port),
        })
        .collect()
}

/// These addresses, with a source that names the queue which a frame has left: [`QueueId::in_address`].
pub(crate) fn naming(addresses: &LinkAddresses, queue: QueueId) -> LinkAddresses {
    let source = address_from_u64(address_to_u64(addresses.source) | queue.in_address());
    LinkAddresses { source, ..*addresses }
}

/// MAC address of a node's port. Its third byte is 0; in frames, this byte names a queue.
pub(crate) fn mac_address(fabric: &Fabric, node: NodeId, port: u16) -> [u8; 6] {
    match fabric.node(node).kind {
        NodeKind::Host(HostId(host)) => {
            let [_, _, high, low] = host.to_be_bytes();
            [0x02, 0x01, 0, 0, high, low]
        }
        NodeKind::Switch(SwitchId(switch)) => {
            let [_, _, high, low] = switch.to_be_bytes();
            [0x02, 0x02, 0, high, low, port_number(port)]
        }
    }
}

/// A switch's port in one byte.
pub(crate) fn port_number(port: u16) -> u8 {
    port.try_into().expect("a switch has at most 256 ports")
}

const _: () = {
    assert!(topology::MAX_PORTS <= 1 << u8::BITS, "a byte numbers any port");
    assert!(
        topology::MAX_PORTS <= fabric_core::map_abi::MAX_PORTS,
        "tables have room for any port"
    );
};
