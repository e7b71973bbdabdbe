//! State of an interface in the kernel. Two parts of it may change under traffic: whether the interface is up, and its
//! MTU.

use std::fmt;

use rtnetlink::packet_core::NlasIterator;
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::{LinkAttribute, LinkExtentMask, LinkFlags, LinkMessage};

use crate::error::Error;
use crate::namespace::Namespace;
use crate::route_socket::{RouteRequest, RouteSocket};

/// Length of `struct ifinfomsg`, which precedes the attributes of a link, and offset of its flags.
const HEADER_LEN: usize = 16;
const FLAGS_AT: usize = 8;
/// `linux/if_link.h`.
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_STATS64: u16 = 23;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;
const OPER_UP: u8 = 6;
/// Indexes into `struct rtnl_link_stats64`: packets received and sent, and dropped in each direction.
const RX_PACKETS: usize = 0;
const TX_PACKETS: usize = 1;
const RX_DROPPED: usize = 6;
const TX_DROPPED: usize = 7;

/// Attachment of an XDP program to an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdpAttachment {
    /// No program is attached.
    Nothing,
    /// In the driver: native XDP.
    Native,
    /// In the stack: generic XDP.
    Generic,
    /// In hardware, or in several places.
    Other(u8),
}

impl XdpAttachment {
    fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Nothing,
            1 => Self::Native,
            2 => Self::Generic,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for XdpAttachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no XDP program"),
            Self::Native => f.write_str("native XDP (drv)"),
            Self::Generic => f.write_str("generic XDP (skb)"),
            Self::Other(number) => write!(f, "XDP in mode {number}"),
        }
    }
}

/// State of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkState {
    /// Name of the interface.
    pub name: String,
    /// MTU in bytes.
    pub mtu: u32,
    /// True if the interface was brought up.
    pub is_up: bool,
    /// True if the interface can transmit.
    pub has_carrier: bool,
    /// Root queueing discipline.
    pub qdisc: String,
    /// Attachment of an XDP program.
    pub xdp: XdpAttachment,
    /// Number of the XDP program; 0 without one.
    pub xdp_program: u32,
    /// Counters of the interface.
    pub counters: LinkCounters,
}

/// Counters of an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped on arrival.
    pub receive_dropped: u64,
    /// Packets dropped before departure.
    pub send_dropped: u64,
}

impl LinkState {
    /// Parses a kernel's answer; `None` if it is incomplete.
    fn parse(answer: &[u8]) -> Option<Self> {
        let flags = u32::from_ne_bytes(*answer.get(FLAGS_AT..)?.first_chunk()?);
        let mut state = Self {
            name: String::new(),
            mtu: 0,
            is_up: flags & LinkFlags::Up.bits() != 0,
            has_carrier: false,
            qdisc: String::new(),
            xdp: XdpAttachment::Nothing,
            xdp_program: 0,
            counters: LinkCounters::default(),
        };
        for attribute in NlasIterator::new(answer.get(HEADER_LEN..)?).map_while(Result::ok) {
            let value = attribute.value();
            match attribute.kind() {
                IFLA_IFNAME => state.name = text(value),
                IFLA_QDISC => state.qdisc = text(value),
                IFLA_MTU => state.mtu = word(value)?,
                IFLA_OPERSTATE => state.has_carrier = value == [OPER_UP],
                IFLA_STATS64 => state.counters = LinkCounters::parse(value)?,
                IFLA_XDP => {
                    for nested in NlasIterator::new(value).map_while(Result::ok) {
                        match nested.kind() {
                            IFLA_XDP_ATTACHED => {
                                state.xdp = XdpAttachment::from_number(*nested.value().first()?);
                            }
                            IFLA_XDP_PROG_ID => state.xdp_program = word(nested.value())?,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Some(state)
    }

    /// Describes each difference between `self` and `now` except counters; empty if there are none.
    pub fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        let mut compare = |what: &str, before: &dyn fmt::Display, after: &dyn fmt::Display| {
            let (before, after) = (before.to_string(), after.to_string());
            if before != after {
                changes.push(format!("{what} was {before} and is {after}"));
            }
        };
        let up = |state: &Self| if state.is_up { "up" } else { "down" };
        let carrier = |state: &Self| if state.has_carrier { "there" } else { "gone" };
        compare("the MTU", &self.mtu, &now.mtu);
        compare("the interface", &up(self), &up(now));
        compare("the carrier", &carrier(self), &carrier(now));
        compare("the queueing discipline", &self.qdisc, &now.qdisc);
        compare("the attachment", &self.xdp, &now.xdp);
        compare("the XDP program's number", &self.xdp_program, &now.xdp_program);
        changes
    }
}

impl LinkCounters {
    fn parse(value: &[u8]) -> Option<Self> {
        let at = |place: usize| Some(u64::from_ne_bytes(*value.get(place * 8..)?.first_chunk()?));
        Some(Self {
            received: at(RX_PACKETS)?,
            sent: at(TX_PACKETS)?,
            receive_dropped: at(RX_DROPPED)?,
            send_dropped: at(TX_DROPPED)?,
        })
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

fn word(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

enum What {
    State,
    Up(bool),
}

struct OfLink<'a> {
    namespace: &'a str,
    index: u32,
    what: What,
}

impl RouteRequest for OfLink<'_> {
    fn message(&self) -> (RouteNetlinkMessage, u16) {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        match self.what {
            What::State => {
                // Requests counters, but no list of virtual functions.
                message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::Vf])];
                return (RouteNetlinkMessage::GetLink(message), 0);
            }
            What::Up(up) => {
                message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
                message.header.change_mask = LinkFlags::Up;
            }
        }
        (RouteNetlinkMessage::SetLink(message), 0)
    }
}

impl fmt::Display for OfLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, index, what } = self;
        match what {
            What::State => write!(f, "ask for the state of interface {index} of {namespace}"),
            What::Up(true) => write!(f, "bring up interface {index} of {namespace}"),
            What::Up(false) => write!(f, "take down interface {index} of {namespace}"),
        }
    }
}

impl Namespace {
    /// Returns the state of an interface.
    pub fn link_state(&self, index: u32) -> Result<LinkState, Error> {
        let mut state = None;
        self.ask(index, What::State, |answer| state = LinkState::parse(answer))?;
        state.ok_or_else(|| {
            let source = std::io::Error::other("the kernel's answer is not whole");
            Error::namespace(self.name(), format!("ask for the state of interface {index}"), source)
        })
    }

    /// Brings an interface up or down.
    pub fn set_link_up(&self, index: u32, up: bool) -> Result<(), Error> {
        self.ask(index, What::Up(up), |_| ())
    }

    fn ask(
        &self,
        index: u32,
        what: What,
        on_answer: impl FnMut(&[u8]) + Send,
    ) -> Result<(), Error> {
        self.enter(|| {
            let mut socket = RouteSocket::open().map_err(|source| {
                Error::namespace(self.name(), "open a netlink socket in it", source)
            })?;
            socket.query(&[OfLink { namespace: self.name(), index, what }], on_answer)
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("it is short");
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn answer() -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&1_u32.to_ne_bytes());
        let xdp = [
            attribute(IFLA_XDP_ATTACHED, &[2]),
            attribute(IFLA_XDP_PROG_ID, &77_u32.to_ne_bytes()),
        ];
        let counters: Vec<u8> = (0..24_u64).flat_map(u64::to_ne_bytes).collect();
        bytes.extend(attribute(IFLA_IFNAME, b"h0\0"));
        bytes.extend(attribute(IFLA_MTU, &1500_u32.to_ne_bytes()));
        bytes.extend(attribute(IFLA_QDISC, b"noqueue\0"));
        bytes.extend(attribute(IFLA_OPERSTATE, &[OPER_UP]));
        bytes.extend(attribute(IFLA_XDP, &xdp.concat()));
        bytes.extend(attribute(IFLA_STATS64, &counters));
        bytes
    }

    #[test]
    fn an_answer_says_what_the_interface_is_like() {
        let state = LinkState::parse(&answer()).expect("it is whole");
        let counters = LinkCounters { received: 0, sent: 1, receive_dropped: 6, send_dropped: 7 };
        let expected = LinkState {
            name: "h0".to_owned(),
            mtu: 1500,
            is_up: true,
            has_carrier: true,
            qdisc: "noqueue".to_owned(),
            xdp: XdpAttachment::Generic,
            xdp_program: 77,
            counters,
        };
        assert_eq!(state, expected);
        assert!((0..HEADER_LEN).all(|length| LinkState::parse(&answer()[..length]).is_none()));
    }

    #[test]
    fn changes_are_described_in_words() {
        let before = LinkState::parse(&answer()).expect("it is whole");
        let mut now = before.clone();
        now.counters.sent += 1;
        assert!(before.changes(&now).is_empty());
        now.mtu = 1000;
        now.xdp = XdpAttachment::Native;
        assert_eq!(
            before.changes(&now),
            [
                "the MTU was 1500 and is 1000",
                "the attachment was generic XDP (skb) and is native XDP (drv)"
            ]
        );
    }
}
