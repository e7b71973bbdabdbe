//! Netlink requests of a deployment, and their descriptions for errors.

use std::fmt;
use std::net::Ipv4Addr;
use std::os::fd::RawFd;

use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL, NlasIterator};
use rtnetlink::packet_route::address::{AddressAttribute, AddressMessage};
use rtnetlink::packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage,
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
/// Length of `struct ifinfomsg`, which precedes the attributes of a link.
const LINK_HEADER_LEN: usize = 16;
/// Attribute with the operational state in `linux/if_link.h`, and RFC 2863's value for "up".
const IFLA_OPERSTATE: u16 = 16;
const OPER_UP: u8 = 6;

/// Creates a veth pair, each end in its namespace with its final name, index and address.
pub(crate) struct MakeLink<'a> {
    pub(crate) ends: [BirthOfEnd<'a>; 2],
    pub(crate) mtu: u32,
}

/// One end of a pair to create.
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
        (RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }
}

impl fmt::Display for MakeLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.ends;
        let ((a, in_a), (b, in_b)) = ((a.spec, a.namespace), (b.spec, b.namespace));
        write!(f, "make the link {in_a}/{} to {in_b}/{}", a.interface, b.interface)
    }
}

/// Message that creates an end. One queue for each direction keeps a wire's frames in order. A
/// transmit queue length of zero disables queueing disciplines, so that only the emulation queues
/// frames.
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

/// Requests that configure one namespace once its interfaces exist.
pub(crate) struct Configure<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) step: Step<'a>,
}

/// One step of [`Configure`].
pub(crate) enum Step<'a> {
    LoopbackUp,
    /// Sets attributes of a tap device that a veth pair gets when it is created.
    FinishTap {
        end: &'a EndSpec,
        index: u32,
        mtu: u32,
        /// Maximum number of sent frames that may wait to be read.
        queue: u32,
    },
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
    /// Returns all steps for one end, in an order that works.
    pub(crate) fn for_end(end: &'a EndSpec, index: u32) -> impl Iterator<Item = Step<'a>> {
        let address = end.address.map(|(address, prefix_len)| Step::Address {
            end,
            index,
            address,
            prefix_len,
        });
        let neighbours = end.neighbours.iter().map(move |&(address, mac)| Step::Neighbour {
            end,
            index,
            address,
            mac,
        });
        let routes = end.routes.iter().map(move |&route| Step::Route { end, index, route });
        address.into_iter().chain([Step::Up { end, index }]).chain(neighbours).chain(routes)
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
            Step::FinishTap { end, index, mtu, queue } => {
                let mut message = LinkMessage::default();
                message.header.index = index;
                message.attributes = vec![
                    LinkAttribute::Address(end.mac.to_vec()),
                    LinkAttribute::Mtu(mtu),
                    // With 0 there is no queueing discipline, and no room for frames that nobody
                    // reads.
                    LinkAttribute::TxQueueLen(queue),
                ];
                (RouteNetlinkMessage::SetLink(message), 0)
            }
            Step::Address { index, address, prefix_len, .. } => {
                let message = address_message(index, address, prefix_len);
                (RouteNetlinkMessage::NewAddress(message), new)
            }
            // Neighbours are permanent, so ARP could only add frames outside the scenario.
            Step::Up { index, .. } => {
                let up = flags_message(index, LinkFlags::Up | LinkFlags::Noarp);
                (RouteNetlinkMessage::SetLink(up), 0)
            }
            Step::Neighbour { index, address, mac, .. } => {
                let message = neighbour_message(index, address, mac);
                (RouteNetlinkMessage::NewNeighbour(message), new)
            }
            Step::Route { index, route, .. } => {
                (RouteNetlinkMessage::NewRoute(route_message(index, route)), new)
            }
        }
    }
}

impl fmt::Display for Configure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace;
        match &self.step {
            Step::LoopbackUp => write!(f, "bring up {namespace}/lo"),
            Step::FinishTap { end, mtu, .. } => {
                write!(f, "give {namespace}/{} its MAC address and the MTU {mtu}", end.interface)
            }
            Step::Address { end, address, prefix_len, .. } => {
                write!(f, "give {namespace}/{} the address {address}/{prefix_len}", end.interface)
            }
            Step::Up { end, .. } => write!(f, "bring up {namespace}/{}", end.interface),
            Step::Neighbour { end, address, .. } => {
                write!(f, "give {namespace}/{} the neighbour {address}", end.interface)
            }
            Step::Route { end, route, .. } => {
                let RouteSpec { destination, prefix_len, gateway } = route;
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

/// Requests an interface's state.
pub(crate) struct AskState<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) end: &'a EndSpec,
    pub(crate) index: u32,
}

impl AskState<'_> {
    /// Returns true if the kernel's answer shows that the interface can transmit.
    pub(crate) fn is_up(answer: &[u8]) -> bool {
        NlasIterator::new(answer.get(LINK_HEADER_LEN..).unwrap_or_default())
            .map_while(Result::ok)
            .any(|attribute| attribute.kind() == IFLA_OPERSTATE && attribute.value() == [OPER_UP])
    }
}

impl RouteRequest for AskState<'_> {
    fn message(&self) -> (RouteNetlinkMessage, u16) {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])];
        (RouteNetlinkMessage::GetLink(message), 0)
    }
}

impl fmt::Display for AskState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ask for the state of {}/{}", self.namespace, self.end.interface)
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
    message.attributes =
        vec![AddressAttribute::Local(address.into()), AddressAttribute::Address(address.into())];
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
        message.attributes.push(RouteAttribute::Gateway(RouteAddress::Inet(gateway)));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_up_when_its_operational_state_is() {
        let answer = |state: u8| {
            let mut answer = vec![0; LINK_HEADER_LEN];
            answer.extend([8, 0, 4, 0, 0xdc, 5, 0, 0]);
            answer.extend([5, 0, 16, 0, state, 0, 0, 0]);
            answer
        };
        assert!(AskState::is_up(&answer(OPER_UP)));
        assert!(!AskState::is_up(&answer(2)));
        assert!(!AskState::is_up(&[]));
    }

    #[test]
    fn requests_read_as_sentences() {
        let end = EndSpec { interface: "eth0".to_owned(), ..EndSpec::default() };
        let route = RouteSpec {
            destination: Ipv4Addr::new(10, 0, 0, 0),
            prefix_len: 8,
            gateway: Some(Ipv4Addr::new(169, 254, 0, 1)),
        };
        let step = Step::Route { end: &end, index: 2, route };
        assert_eq!(
            Configure { namespace: "xoff-0001-host0", step }.to_string(),
            "route 10.0.0.0/8 through xoff-0001-host0/eth0 by way of 169.254.0.1"
        );
    }
}
