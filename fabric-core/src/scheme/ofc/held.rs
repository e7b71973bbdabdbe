//! Test driver: a switch with two ports under OFC, with the queues that a traffic manager would keep.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::{BitsPerSecond, Bytes, Nanos};

use super::state::{self, ClassLine};
use super::{Ofc, Options, Settings};
use crate::arrival::{Outcome, Queued, arrival_under};
use crate::cell::Cell32;
use crate::departure::Fate;
use crate::drop_reason::DropReason;
use crate::frame::{ByteFrame, Frame, Parsed};
use crate::hop_control::{FlowList, HopControl, Order};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
use crate::priority::Priority;
use crate::queue::{QueueId, QueueRange};
use crate::routing::flow_name;
use crate::scheme::Configure as _;
use crate::scheme::{Announces, Scheme};
use crate::tables::Tables;
use crate::tables::owned::{MAX_SLOTS, OwnedTables, PORTS, packet};
use crate::wire::roce::Ecn;

/// Priority of all packets.
pub const CLASS: Priority = Priority::new(3);
/// Queues of the priority: the normal queue and the two backup queues.
pub const QUEUES: QueueRange = QueueRange::flow_queues(8, 3);
/// Length of a packet, bytes.
pub const LENGTH: u64 = 1058;
/// `X_on`.
pub const XON: u64 = 4 * LENGTH;
/// `X_off^c`.
pub const CONGESTED: u64 = 6 * LENGTH;
/// `X_off`.
pub const XOFF: u64 = 9 * LENGTH;

/// Thresholds of the switch, bytes.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// `X_on`.
    pub xon: u64,
    /// `X_off^c`.
    pub congested: u64,
    /// `X_off`.
    pub xoff: u64,
}

impl Thresholds {
    /// Thresholds of the step-by-step tests.
    pub const FIXED: Self = Self { xon: XON, congested: CONGESTED, xoff: XOFF };
}

/// A flow, by ingress port, egress port and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Ingress port.
    pub from: u32,
    /// Egress port.
    pub to: u32,
    /// UDP source port minus 50,000.
    pub number: u16,
}

impl Flow {
    fn frame(self) -> Vec<u8> {
        let mut bytes = packet(self.from, self.to, CLASS.number(), Ecn::NotCapable);
        bytes[34..36].copy_from_slice(&(50_000 + self.number).to_be_bytes());
        bytes
    }

    /// Returns the flow's name in lists of flows.
    pub fn name(self) -> u32 {
        let mut bytes = self.frame();
        match ByteFrame(bytes.as_mut_slice()).parse() {
            Ok(Parsed::Ipv4(fields)) => flow_name(&fields),
            other => panic!("{other:?}"),
        }
    }
}

/// A packet: its slot, its flow, and its number within the flow.
type Packet = (u32, Flow, u32);

/// The switch and its queues.
pub struct Held {
    /// The switch's tables.
    pub tables: OwnedTables,
    policy: Policy,
    queues: BTreeMap<(u32, QueueId), VecDeque<Packet>>,
    sent: BTreeMap<Flow, u32>,
    arrived: BTreeMap<Flow, u32>,
    /// Times that a packet was moved to another queue.
    pub moves: u32,
}

impl Held {
    /// Creates an empty switch with `flow_lines` lines in each flow table.
    pub fn new(flow_lines: u16) -> Self {
        Self::with(flow_lines, Thresholds::FIXED)
    }

    /// Creates an empty switch with other thresholds.
    pub fn with(flow_lines: u16, Thresholds { xon, congested, xoff }: Thresholds) -> Self {
        let config = SwitchConfig {
            shared_pool_bytes: 1_000_000,
            static_xoff_bytes: xoff,
            xon_offset_bytes: xoff - xon,
            pause_quanta: 500,
            lossless_classes: CLASS.bit(),
            ..SwitchConfig::default()
        };
        let mut tables = OwnedTables::new(config, 1_000_000);
        tables.config.queues[CLASS.index()] = QUEUES;
        tables.config.slots = MAX_SLOTS as u32;
        tables.switch.slots_limit.store(MAX_SLOTS as u64);
        // The new tables contain DSH's settings.
        let lines = (0..).map_while(|line| tables.scheme_line(line));
        lines.flat_map(|line| &line.0).for_each(|word| word.store(0));
        let options = Options { priorities: CLASS.bit(), flow_lines };
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
        let policy = policy.with_scheme(SchemeKind::Ofc, options.to_bits());
        let room = Ofc::room(policy, PORTS as u32);
        assert!(tables.scheme_line(room.lines - 1).is_some());
        let settings = Settings { options, congested: Bytes(congested) };
        settings.write(&tables, [(BitsPerSecond(100_000_000_000), Bytes(0)); PORTS]);
        let (queues, sent, arrived) = Default::default();
        Self { tables, policy, queues, sent, arrived, moves: 0 }
    }

    /// Returns the state of the priority at a port.
    pub fn class(&self, port: u32) -> &ClassLine {
        state::class(&self.tables, PORTS as u32, port, CLASS).expect("there is room")
    }

    /// Receives a packet of `flow`. Returns the frames due to its ingress port's neighbour, or the reason for a drop.
    pub fn arrive(&mut self, flow: Flow) -> Result<Vec<Order>, DropReason> {
        let mut bytes = flow.frame();
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let mut messages = Vec::new();
        let send = &mut |order: &Order| messages.push(*order);
        match arrival_under::<Ofc, _, _>(
            frame,
            &self.tables,
            self.policy,
            flow.from,
            Nanos(7),
            send,
        ) {
            Outcome::Queued(Queued { slot, egress_port, queue, .. }) => {
                assert_eq!((egress_port, queue), (flow.to, QUEUES.member(state::NORMAL)));
                let number = self.arrived.entry(flow).or_default();
                self.queues
                    .entry((egress_port, queue))
                    .or_default()
                    .push_back((slot, flow, *number));
                *number += 1;
                Ok(messages)
            }
            Outcome::Dropped(reason) => Err(reason),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a packet from a free port. Returns its flow and the frames due to the neighbour at its ingress port.
    ///
    /// # Panics
    /// If the packet is not the flow's oldest.
    pub fn depart(&mut self, port: u32) -> Option<(Flow, Vec<Order>)> {
        loop {
            let held = Ofc::paused(&self.tables, self.policy, port, Nanos(7));
            let is_open = |queue: QueueId| held.is_none_or(|held| !held.contains(queue));
            let queue =
                QUEUES.iter().find(|&queue| is_open(queue) && self.bytes(port, queue) > 0)?;
            let packet = self.queues.get_mut(&(port, queue)).and_then(VecDeque::pop_front);
            let (slot, flow, number) = packet.expect("its bytes are counted");
            let mut messages = Vec::new();
            let send = &mut |order: &Order| messages.push(*order);
            let left = Ofc::depart(&self.tables, &self.policy, slot, Nanos(8), send);
            match left.expect("it is there").fate {
                Fate::Requeued(other) => {
                    assert!(messages.is_empty() && other != queue);
                    self.queues.entry((port, other)).or_default().push_back((slot, flow, number));
                    self.moves += 1;
                }
                Fate::Sent { mark: false } => {
                    let next = self.sent.entry(flow).or_default();
                    assert_eq!(number, *next, "{flow:?} is reordered");
                    *next += 1;
                    return Some((flow, messages));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Drops the first packet of a queue, for a reason that is not the scheme's.
    pub fn discard(&mut self, port: u32, member: u32) -> Option<Vec<Order>> {
        let waiting = self.queues.get_mut(&(port, QUEUES.member(member)))?;
        let (slot, flow, number) = waiting.pop_front()?;
        let mut messages = Vec::new();
        let send = &mut |order: &Order| messages.push(*order);
        let reason = DropReason::WatchdogEgress;
        let left = Ofc::discard(&self.tables, self.policy, slot, Nanos(8), reason, send);
        assert_eq!(left.expect("it is there").fate, Fate::Dropped(reason));
        let next = self.sent.entry(flow).or_default();
        assert_eq!(number, *next, "only used where the oldest goes first");
        *next += 1;
        Some(messages)
    }

    /// Receives a PAUSE or RESUME of flows at a port.
    pub fn receive(&self, port: u32, paused: bool, flows: &[Flow]) {
        let names: Vec<u32> = flows.iter().map(|flow| flow.name()).collect();
        let flows = FlowList::new(&names).expect("few flows");
        let control = HopControl::Flows { priority: CLASS, paused, flows };
        Ofc::receive(&self.tables, self.policy, port, &control, Nanos(8)).expect("OFC takes it");
    }

    /// Ends a period. Returns the repeated messages to the neighbour at a port.
    pub fn announce(&self, port: u32) -> Vec<HopControl> {
        let mut messages = Vec::new();
        Ofc::announce(&self.tables, self.policy, port, &mut |control| messages.push(control));
        messages
    }

    /// Bytes in a queue.
    pub fn bytes(&self, port: u32, queue: QueueId) -> u64 {
        let row = self.tables.config.queue_row(port, queue);
        self.tables.egress_queue(row).expect("it has a row").bytes.load()
    }

    /// Numbers of packets in the normal queue of a port and in its backup queues.
    pub fn lengths(&self, port: u32) -> [usize; 3] {
        let length = |queue| {
            let packets = self.queues.get(&(port, queue)).map_or(0, VecDeque::len);
            assert_eq!(self.bytes(port, queue), packets as u64 * LENGTH);
            packets
        };
        [0, 1, 2].map(|member| length(QUEUES.member(member)))
    }

    /// Flows with packets in any queue of a port.
    pub fn waiting(&self, port: u32) -> BTreeSet<Flow> {
        let of_port = self.queues.iter().filter(|((at, _), _)| *at == port);
        of_port.flat_map(|(_, packets)| packets.iter().map(|(_, flow, _)| *flow)).collect()
    }

    /// Bytes in the ingress queue of a port, `q_in`.
    pub fn q_in(&self, port: u32) -> u64 {
        let queue = self.tables.queue(port, CLASS.number());
        queue.shared_bytes.load() + queue.headroom_bytes.load()
    }

    /// Bytes at an egress port, `q_out`.
    pub fn q_out(&self, port: u32) -> u64 {
        QUEUES.iter().map(|queue| self.bytes(port, queue)).sum()
    }

    /// True if the class is paused at a port.
    pub fn is_off(&self, port: u32) -> bool {
        self.tables.queue(port, CLASS.number()).off.load() != 0
    }

    /// Asserts that every table is in its initial state.
    pub fn assert_empty(&self) {
        for number in 0..PORTS as u32 {
            let (class, port) = (self.class(number), state::port(&self.tables, number).unwrap());
            let counts = [&class.paused_flows, &class.unnamed_flows, &class.last_reported];
            assert_eq!(counts.map(Cell32::load), [0; 3], "port {number}");
            assert!(!class.is_draining());
            let held = QueueId::data(9).number() as u64..=10;
            assert_eq!(port.held.words(), [held.fold(0, |bits, queue| bits | 1 << queue), 0]);
        }
        let flows = PORTS as u32 * state::first_flow(Options::from_policy(self.policy), 1);
        for number in 0..flows {
            let flow = state::flow(&self.tables, PORTS as u32, number).unwrap();
            assert_eq!(flow.state.load(), 0, "flow {number}");
        }
        assert!(self.queues.values().all(VecDeque::is_empty));
        assert_eq!(self.sent, self.arrived, "nothing is lost");
    }
}

/// The flows that orders pause or resume, by name.
pub fn names(orders: &[Order], paused: bool) -> Vec<u32> {
    let mut names = Vec::new();
    for order in orders {
        match order.control {
            HopControl::Flows { priority: CLASS, paused: it, flows } if it == paused => {
                assert_eq!(order.resumes, !paused);
                names.extend_from_slice(flows.hashes());
            }
            _ => {}
        }
    }
    names
}
