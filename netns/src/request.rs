//! The netlink requests of a deployment: what each asks, in netlink's terms and in words.

use std::fmt;
use std::net::Ipv4Addr;
use std::os::fd::RawFd;

use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};
use rtnetlink::packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use rtnetlink::packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use rtnetlink::packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope,
    RouteType,
};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::plan::{EndSpec, RouteSpec};
use crate::route_socket::RouteRequest;

/// Index of every namespace's loopback interface.
const LOOPBACK_INDEX: u32 = 1;

/// Makes a veth pair, each end born in its own namespace with its final name, index and address.
pub(crate) struct MakeLink<'a> {
    pub(crate) ends: [BirthOfEnd<'a>; 2],
    pub(crate) mtu: u32,
}

/// One end of a pair that is about to be made.
pub(crate) struct BirthOfEnd<'a> {
    pub(crate) spec: &'a EndSpec,
    pub(crate) index: u32,
    pub(crate) namespace: &'a str,
    pub(crate) namespace_fd: RawFd,
}

impl RouteRequest for MakeLink<'_> {
    fn message(&self) -> (RouteNetlinkMessage, u16) {
        let [mut link, peer] = self.ends.each_ref().map(|end| birth_message(end, self.mtu));
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        (
            RouteNetlinkMessage::NewLink(link),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }
}

impl fmt::Display for MakeLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.ends;
        let ((a, in_a), (b, in_b)) = ((a.spec, a.namespace), (b.spec, b.namespace));
        write!(
            f,
            "make the link {in_a}/{} to {in_b}/{}",
            a.interface, b.interface
        )
    }
}

/// One queue for each direction keeps a wire's frames in order; a transmit queue length of zero
/// keeps every queueing discipline away, so that nothing but the emulation queues.
fn birth_message(end: &BirthOfEnd<'_>, mtu: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = end.index;
    message.attributes = vec![
        LinkAttribute::IfName(end.spec.interface.clone()),
        LinkAttribute::Address(end.spec.mac.to_vec()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::NumTxQueues(1),
        LinkAttribute::NumRxQueues(1),
        LinkAttribute::TxQueueLen(0),
        LinkAttribute::NetNsFd(end.namespace_fd),
    ];
    message
}

/// What one namespace is asked once its interfaces exist.
pub(crate) struct Configure<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) step: Step<'a>,
}

/// One step of [`Configure`].
pub(crate) enum Step<'a> {
    LoopbackUp,
    Address {
        end: &'a EndSpec,
        index: u32,
        address: Ipv4Addr,
        prefix_len: u8,
    },
    Up {
        end: &'a EndSpec,
        index: u32,
    },
    Neighbour {
        end: &'a EndSpec,
        index: u32,
        address: Ipv4Addr,
        mac: [u8; 6],
    },
    Route {
        end: &'a EndSpec,
        index: u32,
        route: RouteSpec,
    },
}

impl<'a> Step<'a> {
    /// All that one end is asked, in an order that works.
    pub(crate) fn of_end(end: &'a EndSpec, index: u32) -> impl Iterator<Item = Step<'a>> {
        let address = end.address.map(|(address, prefix_len)| Step::Address {
            end,
            index,
            address,
            prefix_len,
        });
        let neighbours = end
            .neighbours
            .iter()
            .map(move |&(address, mac)| Step::Neighbour {
                end,
                index,
                address,
                mac,
            });
        let routes = end
            .routes
            .iter()
            .map(move |&route| Step::Route { end, index, route });
        address
            .into_iter()
            .chain([Step::Up { end, index }])
            .chain(neighbours)
            .chain(routes)
    }
}

impl RouteRequest for Configure<'_> {
    fn message(&self) -> (RouteNetlinkMessage, u16) {
        let new = NLM_F_CREATE | NLM_F_EXCL;
        match self.step {
            Step::LoopbackUp => {
                let up = flags_message(LOOPBACK_INDEX, LinkFlags::Up);
                (RouteNetlinkMessage::SetLink(up), 0)
            }
            Step::Address {
                index,
                address,
                prefix_len,
                ..
            } => {
                let message = address_message(index, address, prefix_len);
                (RouteNetlinkMessage::NewAddress(message), new)
            }
            // Neighbours are permanent, so ARP could only add frames that no scenario sent.
            Step::Up { index, .. } => {
                let up = flags_message(index, LinkFlags::Up | LinkFlags::Noarp);
                (RouteNetlinkMessage::SetLink(up), 0)
            }
            Step::Neighbour {
                index,
                address,
                mac,
                ..
            } => {
                let message = neighbour_message(index, address, mac);
                (RouteNetlinkMessage::NewNeighbour(message), new)
            }
            Step::Route { index, route, .. } => (
                RouteNetlinkMessage::NewRoute(route_message(index, route)),
                new,
            ),
        }
    }
}

impl fmt::Display for Configure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace;
        match &self.step {
            Step::LoopbackUp => write!(f, "bring up {namespace}/lo"),
            Step::Address {
                end,
                address,
                prefix_len,
                ..
            } => {
                write!(
                    f,
                    "give {namespace}/{} the address {address}/{prefix_len}",
                    end.interface
                )
            }
            Step::Up { end, .. } => write!(f, "bring up {namespace}/{}", end.interface),
            Step::Neighbour { end, address, .. } => {
                write!(
                    f,
                    "give {namespace}/{} the neighbour {address}",
                    end.interface
                )
            }
            Step::Route { end, route, .. } => {
                let RouteSpec {
                    destination,
                    prefix_len,
                    gateway,
                } = route;
                write!(
                    f,
                    "route {destination}/{prefix_len} through {namespace}/{}",
                    end.interface
                )?;
                gateway.map_or(Ok(()), |gateway| write!(f, " by way of {gateway}"))
            }
        }
    }
}

fn flags_message(index: u32, flags: LinkFlags) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = flags;
    message.header.change_mask = flags;
    message
}

fn address_message(index: u32, address: Ipv4Addr, prefix_len: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = prefix_len;
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Local(address.into()),
        AddressAttribute::Address(address.into()),
    ];
    message
}

fn neighbour_message(index: u32, address: Ipv4Addr, mac: [u8; 6]) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
        NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
    ];
    message
}

fn route_message(index: u32, route: RouteSpec) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: AddressFamily::Inet,
        destination_prefix_length: route.prefix_len,
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Link,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes = vec![
        RouteAttribute::Oif(index),
        RouteAttribute::Destination(RouteAddress::Inet(route.destination)),
    ];
    if let Some(gateway) = route.gateway {
        message.header.scope = RouteScope::Universe;
        message.header.flags = RouteFlags::Onlink;
        message
            .attributes
            .push(RouteAttribute::Gateway(RouteAddress::Inet(gateway)));
    }
    message
}
