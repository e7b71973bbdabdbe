//! For tests: a switch of two ports under OFC, with the queues that a traffic manager would keep.

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
use crate::scheme::Scheme;
use crate::tables::Tables;
use crate::tables::owned::{MOST_SLOTS, OwnedTables, PORTS, packet};
use crate::wire::roce::Ecn;

/// The priority of all packets.
pub const CLASS: Priority = Priority::new(3);
/// Its queues: the normal one and the two backup queues.
pub const QUEUES: QueueRange = QueueRange::flow_queues(8, 3);
/// Bytes of a packet.
pub const LENGTH: u64 = 1058;
/// `X_on`, `X_off^c` and `X_off`.
pub const XON: u64 = 4 * LENGTH;
/// See there.
pub const CONGESTED: u64 = 6 * LENGTH;
/// See there.
pub const XOFF: u64 = 9 * LENGTH;

/// `X_on`, `X_off^c` and `X_off`.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// See there.
    pub xon: u64,
    /// See there.
    pub congested: u64,
    /// See there.
    pub xoff: u64,
}

impl Thresholds {
    /// Those of tests that go step by step.
    pub const FIXED: Self = Self { xon: XON, congested: CONGESTED, xoff: XOFF };
}

/// A flow: where it comes in, where it leaves, and which of those it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Ingress port.
    pub from: u32,
    /// Egress port.
    pub to: u32,
    /// Its UDP source port less 50,000.
    pub number: u16,
}

impl Flow {
    fn frame(self) -> Vec<u8> {
        let mut bytes = packet(self.from, self.to, CLASS.number(), Ecn::NotCapable);
        bytes[34..36].copy_from_slice(&(50_000 + self.number).to_be_bytes());
        bytes
    }

    /// Its name in lists of flows.
    pub fn name(self) -> u32 {
        let mut bytes = self.frame();
        match ByteFrame(bytes.as_mut_slice()).parse() {
            Ok(Parsed::Ipv4(fields)) => flow_name(&fields),
            other => panic!("{other:?}"),
        }
    }
}

/// A packet's slot, its flow, and which of the flow's packets it is.
type Packet = (u32, Flow, u32);

/// The switch and its queues.
pub struct Held {
    /// Its tables.
    pub tables: OwnedTables,
    policy: Policy,
    queues: BTreeMap<(u32, QueueId), VecDeque<Packet>>,
    sent: BTreeMap<Flow, u32>,
    arrived: BTreeMap<Flow, u32>,
    /// How often a packet was put into another queue.
    pub moves: u32,
}

impl Held {
    /// A switch that holds nothing, with so many lines in each flow table.
    pub fn new(flow_lines: u16) -> Self {
        Self::with(flow_lines, Thresholds::FIXED)
    }

    /// The same with other thresholds.
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
        tables.config.slots = MOST_SLOTS as u32;
        tables.switch.slots_limit.store(MOST_SLOTS as u64);
        // The tables have DSH's settings.
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

    /// What is kept of the priority at a port.
    pub fn class(&self, port: u32) -> &ClassLine {
        state::class(&self.tables, PORTS as u32, port, CLASS).expect("there is room")
    }

    /// A packet of a flow comes in: what the neighbour at its ingress port is told, or why it is dropped.
    pub fn arrive(&mut self, flow: Flow) -> Result<Vec<Order>, DropReason> {
        let mut bytes = flow.frame();
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let mut told = Vec::new();
        let send = &mut |order: &Order| told.push(*order);
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
                Ok(told)
            }
            Outcome::Dropped(reason) => Err(reason),
            other => panic!("{other:?}"),
        }
    }

    /// A port that is free: the flow whose packet it sends, and what that packet's neighbour is told.
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
            let mut told = Vec::new();
            let send = &mut |order: &Order| told.push(*order);
            let left = Ofc::depart(&self.tables, &self.policy, slot, Nanos(8), send);
            match left.expect("it is there").fate {
                Fate::Requeued(other) => {
                    assert!(told.is_empty() && other != queue);
                    self.queues.entry((port, other)).or_default().push_back((slot, flow, number));
                    self.moves += 1;
                }
                Fate::Sent { mark: false } => {
                    let next = self.sent.entry(flow).or_default();
                    assert_eq!(number, *next, "{flow:?} is reordered");
                    *next += 1;
                    return Some((flow, told));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// The first packet of a queue is dropped, for a reason that is not the scheme's.
    pub fn discard(&mut self, port: u32, member: u32) -> Option<Vec<Order>> {
        let waiting = self.queues.get_mut(&(port, QUEUES.member(member)))?;
        let (slot, flow, number) = waiting.pop_front()?;
        let mut told = Vec::new();
        let send = &mut |order: &Order| told.push(*order);
        let reason = DropReason::WatchdogEgress;
        let left = Ofc::discard(&self.tables, self.policy, slot, Nanos(8), reason, send);
        assert_eq!(left.expect("it is there").fate, Fate::Dropped(reason));
        let next = self.sent.entry(flow).or_default();
        assert_eq!(number, *next, "only used where the oldest goes first");
        *next += 1;
        Some(told)
    }

    /// The neighbour at a port pauses or resumes flows.
    pub fn receive(&self, port: u32, paused: bool, flows: &[Flow]) {
        let names: Vec<u32> = flows.iter().map(|flow| flow.name()).collect();
        let flows = FlowList::new(&names).expect("few flows");
        let control = HopControl::Flows { priority: CLASS, paused, flows };
        Ofc::receive(&self.tables, self.policy, port, &control, Nanos(8)).expect("OFC takes it");
    }

    /// A period is over: what the neighbour at a port is told again.
    pub fn announce(&self, port: u32) -> Vec<HopControl> {
        let mut told = Vec::new();
        Ofc::announce(&self.tables, self.policy, port, &mut |control| told.push(control));
        told
    }

    /// Bytes in a queue.
    pub fn bytes(&self, port: u32, queue: QueueId) -> u64 {
        let row = self.tables.config.queue_row(port, queue);
        self.tables.egress_queue(row).expect("it has a row").bytes.load()
    }

    /// Packets in the normal queue of a port and in its backup queues.
    pub fn lengths(&self, port: u32) -> [usize; 3] {
        let length = |queue| {
            let packets = self.queues.get(&(port, queue)).map_or(0, VecDeque::len);
            assert_eq!(self.bytes(port, queue), packets as u64 * LENGTH);
            packets
        };
        [0, 1, 2].map(|member| length(QUEUES.member(member)))
    }

    /// Flows that have packets in the normal queue of a port, or in any of its queues.
    pub fn waiting(&self, port: u32) -> BTreeSet<Flow> {
        let of_port = self.queues.iter().filter(|((at, _), _)| *at == port);
        of_port.flat_map(|(_, packets)| packets.iter().map(|(_, flow, _)| *flow)).collect()
    }

    /// What the ingress queue of a port holds.
    pub fn q_in(&self, port: u32) -> u64 {
        let queue = self.tables.queue(port, CLASS.number());
        queue.shared_bytes.load() + queue.headroom_bytes.load()
    }

    /// What an egress port holds.
    pub fn q_out(&self, port: u32) -> u64 {
        QUEUES.iter().map(|queue| self.bytes(port, queue)).sum()
    }

    /// Whether the class is paused at a port.
    pub fn is_off(&self, port: u32) -> bool {
        self.tables.queue(port, CLASS.number()).off.load() != 0
    }

    /// Fails unless every table is as it was at first.
    pub fn assert_empty(&self) {
        for number in 0..PORTS as u32 {
            let (class, port) = (self.class(number), state::port(&self.tables, number).unwrap());
            let counts = [&class.paused_flows, &class.unnamed_flows, &class.told];
            assert_eq!(counts.map(Cell32::load), [0; 3], "port {number}");
            assert!(!class.is_draining());
            let held = QueueId::data(9).number() as u64..=10;
            assert_eq!(port.held.words(), [held.fold(0, |bits, queue| bits | 1 << queue), 0]);
        }
        let flows = PORTS as u32 * state::first_flow(Options::of(self.policy), 1);
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
