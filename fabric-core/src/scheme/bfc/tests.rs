//! Compares BFC, after every event, with a model that counts the packets that it holds.

mod queues;

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use units::{BitsPerSecond, Bytes};

use super::*;
use crate::arrival::{Outcome, Queued, arrival_under};
use crate::departure::Fate;
use crate::frame::{ByteFrame, Frame, Parsed};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
use crate::queue::QueueRange;
use crate::routing::{member, queue_hash};
use crate::scheme::Configure as _;
use crate::tables::owned::{MAX_SLOTS, OwnedTables, PORTS, packet};
use crate::wire::ipv4::Header;
use crate::wire::roce::Ecn;
use zerocopy::FromBytes;

const CLASS: u8 = 3;
const LENGTH: u64 = 1058;
const QUEUES: QueueRange = QueueRange::flow_queues(8, 3);
const STICKY: u64 = 1000;
/// A single active queue may hold three packets, each of two active queues one packet.
const THRESHOLD: Nanos = Nanos(260);
/// Half of 2^32 packets.
const HALF: u32 = 1 << 31;

/// For each ingress port, if there is a table of elided turns: true if its packets trigger no backpressure.
type Elided = Option<[bool; PORTS]>;

fn options(assignment: Assignment) -> Options {
    Options::new(assignment, 1 << CLASS, 32).expect("a small table")
}

fn policy(options: Options) -> Policy {
    let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
    policy.with_scheme(SchemeKind::Bfc, options.to_bits())
}

/// A switch with a lossless or lossy priority 3 and room for all packets.
fn tables(options: Options, lossless: bool, elided: Elided) -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 1_000_000,
        static_xoff_bytes: 100_000,
        lossless_classes: u8::from(lossless) << CLASS,
        ..SwitchConfig::default()
    };
    let mut tables = OwnedTables::new(config, 0);
    tables.config.queues[usize::from(CLASS)] = QUEUES;
    tables.config.slots = MAX_SLOTS as u32;
    tables.switch.slots_limit.store(MAX_SLOTS as u64);
    let room = Bfc::room(policy(options), PORTS as u32);
    assert!(tables.scheme_line(room.lines - 1).is_some());
    assert!(tables.scheme_block(room.blocks - 1).is_some());
    let settings = Settings { options, sticky: Nanos(STICKY), threshold: THRESHOLD, sampled: HALF };
    settings.write(&tables, [(BitsPerSecond(100_000_000_000), Bytes(0)); PORTS]);
    let turns = elided.into_iter().flatten().zip([(0, 1), (1, 0)]);
    settings.elide(&tables, turns.filter(|(is_elided, _)| *is_elided).map(|(_, turn)| turn));
    tables
}

/// A packet in the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    slot: u32,
    flow: u16,
    upstream: QueueId,
    counted: bool,
    /// True if the flow table counts the packet.
    in_table: bool,
}

/// Events at a switch with two ports; packets from one port leave by the other.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet of a flow arrives, from a queue of the neighbour or from no named queue.
    Arrival(Sent),
    /// The first packet of a queue leaves.
    Departure { port: u32, queue: u8 },
    /// The neighbour pauses or resumes a queue.
    Control { port: u32, queue: u8, paused: bool },
    /// Time passes.
    Time(u64),
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    port: u32,
    flow: u16,
    upstream: Option<u8>,
    labelled: bool,
}

impl Sent {
    fn frame(self) -> Vec<u8> {
        let mut bytes = packet(self.port, 1 - self.port, CLASS, Ecn::NotCapable);
        bytes[8] = self.upstream.map_or(QueueId::CONTROL, QueueId::data).place() as u8;
        bytes[34..36].copy_from_slice(&(50_000 + self.flow).to_be_bytes());
        let (header, _) = Header::mut_from_prefix(&mut bytes[14..]).expect("it has a header");
        let label = u8::from(self.labelled) << 2;
        header.set_type_of_service(header.type_of_service() | label);
        bytes
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let (port, queue) = (0..PORTS as u32, 8..11u8);
    let upstream = proptest::option::weighted(0.9, prop_oneof![0..4u8, 126..128u8]);
    prop_oneof![
        6 => (port.clone(), 0..6u16, upstream, proptest::bool::weighted(0.2)).prop_map(
            |(port, flow, upstream, labelled)| {
                Event::Arrival(Sent { port, flow, upstream, labelled })
            }
        ),
        5 => (port.clone(), queue.clone())
            .prop_map(|(port, queue)| Event::Departure { port, queue }),
        1 => (port, queue, any::<bool>())
            .prop_map(|(port, queue, paused)| Event::Control { port, queue, paused }),
        2 => (0..STICKY).prop_map(Event::Time),
    ]
}

/// The switch, and its expected state.
struct Model {
    tables: OwnedTables,
    policy: Policy,
    elided: Elided,
    now: u64,
    /// Indexed by egress port and queue.
    queues: [[VecDeque<Held>; 3]; PORTS],
    /// Indexed by egress port and flow: time of its last arrival or departure, and its queue.
    seen: [[Option<(u64, QueueId)>; 6]; PORTS],
    paused: [[bool; 3]; PORTS],
    /// Indexed by egress port: times that a flow without packets received one, and that its queue
    /// held packets then.
    activations: [[u32; 2]; PORTS],
}

impl Model {
    fn new(options: Options, lossless: bool, elided: Elided) -> Self {
        let options = Options { elides: elided.is_some(), ..options };
        Self {
            tables: tables(options, lossless, elided),
            policy: policy(options),
            activations: Default::default(),
            elided,
            now: 0,
            queues: Default::default(),
            seen: [[None; 6]; PORTS],
            paused: [[false; 3]; PORTS],
        }
    }

    fn held(&self) -> usize {
        self.queues.iter().flatten().map(VecDeque::len).sum()
    }

    /// Number of counted packets that arrived at a port from a queue of the neighbour.
    fn counted(&self, port: u32, upstream: QueueId) -> usize {
        let leaving = self.queues[1 - port as usize].iter().flatten();
        leaving.filter(|held| held.counted && held.upstream == upstream).count()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Time(passes) => self.now += passes,
            Event::Control { port, queue, paused } => {
                self.paused[port as usize][usize::from(queue) - 8] = paused;
                let control = HopControl::Queue { queue: QueueId::data(queue), paused };
                Bfc::receive(&self.tables, self.policy, port, &control, Nanos(self.now)).unwrap();
            }
            Event::Arrival(_) if self.held() == MAX_SLOTS => {}
            Event::Arrival(sent) => self.arrive(sent),
            Event::Departure { port, queue } => self.depart(port, usize::from(queue) - 8),
        }
    }

    /// Returns Th of the queues of a port.
    fn threshold(&self, port: usize) -> u64 {
        let active =
            |queue: &usize| !self.queues[port][*queue].is_empty() && !self.paused[port][*queue];
        let active = (0..3).filter(active).count().max(1);
        BitsPerSecond(100_000_000_000).bytes_in(units::Picos::from_nanos(THRESHOLD)).0
            / active as u64
    }

    fn options(&self) -> Options {
        Options::from_policy(self.policy)
    }

    /// Number of queues that a flow may be assigned.
    fn own_queues(&self) -> usize {
        if self.options().incast_queue { 2 } else { 3 }
    }

    fn arrive(&mut self, sent: Sent) {
        let Sent { port, flow, labelled, .. } = sent;
        let upstream = sent.upstream.map_or(QueueId::CONTROL, QueueId::data);
        let mut bytes = sent.frame();
        let mut orders = Vec::new();
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let (tables, now) = (&self.tables, Nanos(self.now));
        let keep = &mut |order: &Order| orders.push(order.control);
        let outcome = arrival_under::<Bfc, _, _>(frame, tables, self.policy, port, now, keep);
        let Outcome::Queued(Queued { slot, queue, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(QueueId::from_place(bytes[8].into()), queue, "the next switch reads the queue");
        let egress = 1 - port as usize;
        let number = QUEUES.number_of(queue) as usize;
        let draw = sampling::draw(self.hash(egress, flow), Nanos(self.now));
        let sampled = !self.options().samples || draw < HALF;
        let apart = labelled && self.options().incast_queue;
        if apart {
            assert_eq!(number, 2, "labelled incasts have the last queue");
        } else {
            self.judge_queue(egress, flow, queue);
            let kept = self.is_active(egress, flow).then(|| self.seen[egress][usize::from(flow)]);
            let own = kept.flatten().map_or(queue, |(_, own)| own);
            self.seen[egress][usize::from(flow)] = Some((self.now, own));
        }
        let in_table = sampled && !apart;
        if in_table && !self.is_entry_active(egress, flow) {
            let collides = !self.queues[egress][number].is_empty();
            self.activations[egress][0] += 1;
            self.activations[egress][1] += u32::from(collides);
        }
        let held = Held { slot, flow, upstream, counted: false, in_table };
        self.queues[egress][number].push_back(held);
        let length = LENGTH * self.queues[egress][number].len() as u64;
        let triggers = sampled && self.elided.is_none_or(|elided| !elided[port as usize]);
        let counted = triggers && upstream.is_data() && length > self.threshold(egress);
        self.queues[egress][number].back_mut().expect("it was added").counted = counted;
        let first = counted && self.counted(port, upstream) == 1;
        let expected = HopControl::Queue { queue: upstream, paused: true };
        assert_eq!(orders, if first { vec![expected] } else { vec![] });
    }

    /// True if the flow table counts packets of a flow at an egress port.
    fn is_active(&self, egress: usize, flow: u16) -> bool {
        self.queues[egress].iter().flatten().any(|held| held.in_table && held.flow == flow)
    }

    /// True if the flow table counts packets of any flow with this flow's entry.
    fn is_entry_active(&self, egress: usize, flow: u16) -> bool {
        let entry = self.entry(egress, flow);
        (0..6).any(|other| self.entry(egress, other) == entry && self.is_active(egress, other))
    }

    /// Asserts that a flow keeps its queue or gets an empty one, if any, unless it shares its entry with another flow.
    fn judge_queue(&self, egress: usize, flow: u16, queue: QueueId) {
        let number = QUEUES.number_of(queue) as usize;
        assert!(number < self.own_queues(), "a queue of its priority, and not that of incasts");
        if self.options().assignment == Assignment::Stochastic {
            let own = QueueRange { count: self.own_queues() as u8, ..QUEUES };
            assert_eq!(queue, own.select(|| self.hash(egress, flow)), "that of its hash");
            return;
        }
        if self.shares_entry(flow) {
            return;
        }
        let seen = self.seen[egress][usize::from(flow)];
        match seen {
            Some((_, own)) if self.is_active(egress, flow) => {
                assert_eq!(queue, own, "packets of a flow keep their order");
            }
            Some((at, own)) if self.now - at <= STICKY => assert_eq!(queue, own, "it sticks"),
            _ => {
                let empty = |number: &usize| self.queues[egress][*number].is_empty();
                let open = |number: &usize| empty(number) && !self.paused[egress][*number];
                let mut own = 0..self.own_queues();
                if own.clone().any(|number| open(&number)) {
                    assert!(open(&number), "queue {number} is not empty and open");
                } else if own.any(|number| empty(&number)) {
                    assert!(empty(&number), "queue {number} is not empty");
                }
            }
        }
    }

    /// True if a flow shares its entry of the flow table with another flow, at either port.
    fn shares_entry(&self, flow: u16) -> bool {
        (0..PORTS).any(|egress| {
            let own = self.entry(egress, flow);
            (0..6).any(|other| other != flow && self.entry(egress, other) == own)
        })
    }

    /// Returns the entry of a flow that leaves by a port.
    fn entry(&self, egress: usize, flow: u16) -> u32 {
        member(self.hash(egress, flow), self.options().entries())
    }

    /// Returns the hash of a flow that leaves by a port.
    fn hash(&self, egress: usize, flow: u16) -> u32 {
        let port = 1 - egress as u32;
        let mut bytes = Sent { port, flow, upstream: None, labelled: false }.frame();
        let Ok(Parsed::Ipv4(fields)) = ByteFrame(bytes.as_mut_slice()).parse() else {
            panic!("a packet")
        };
        queue_hash(&fields, self.tables.config.ecmp_seed)
    }

    fn depart(&mut self, port: u32, number: usize) {
        let egress = port as usize;
        let Some(held) = self.queues[egress][number].pop_front() else { return };
        let mut orders = Vec::new();
        let mut send = |order: &Order| orders.push(order.control);
        let left = Bfc::depart(&self.tables, &self.policy, held.slot, Nanos(self.now), &mut send);
        assert_eq!(left.expect("it is there").fate, Fate::Sent { mark: false });
        if let Some(seen) = &mut self.seen[egress][usize::from(held.flow)]
            && held.in_table
        {
            seen.0 = self.now;
        }
        let last = held.counted && self.counted(1 - port, held.upstream) == 0;
        let expected = HopControl::Queue { queue: held.upstream, paused: false };
        assert_eq!(orders, if last { vec![expected] } else { vec![] });
    }

    /// Compares the whole state with the packets in the model.
    fn check(&self) {
        for port in 0..PORTS {
            let line = state::port(&self.tables, port as u32).expect("a port");
            let bits = |is_in: &dyn Fn(QueueId) -> bool| {
                let queues = (0..128).map(QueueId::data).filter(|queue| is_in(*queue));
                let mask = queues.fold(0u128, |mask, queue| mask | 1 << queue.number());
                [mask as u64, (mask >> 64) as u64]
            };
            let number = |queue: QueueId| QUEUES.number_of(queue) as usize;
            let own = |queue: QueueId| QUEUES.iter().any(|other| other == queue);
            let in_use = |queue| own(queue) && !self.queues[port][number(queue)].is_empty();
            assert_eq!(line.in_use.words(), bits(&in_use));
            assert_eq!(
                line.paused.words(),
                bits(&|queue| own(queue) && self.paused[port][number(queue)])
            );
            let counts = |queue| self.counted(port as u32, queue) != 0;
            assert_eq!(line.pausing.words(), bits(&counts));
            let mut announced = Vec::new();
            let send = &mut |control| announced.push(control);
            Bfc::announce(&self.tables, self.policy, port as u32, send);
            assert_eq!(announced, [HopControl::Queues { paused: bits(&counts) }]);
            for queue in (0..128).map(QueueId::data) {
                let counter = state::counter(&self.tables, port as u32, queue).expect("a counter");
                assert_eq!(counter.load() as usize, self.counted(port as u32, queue));
            }
            let options = self.options();
            let packets: u32 = (0..options.entries())
                .filter_map(|number| {
                    state::flow(&self.tables, options, PORTS as u32, port as u32, number)
                })
                .map(|flow| flow.packets.load())
                .sum();
            let in_table = self.queues[port].iter().flatten().filter(|held| held.in_table);
            assert_eq!(packets as usize, in_table.clone().count());
            let entries: BTreeSet<u32> = in_table.map(|held| self.entry(port, held.flow)).collect();
            assert_eq!(line.flows.load() as usize, entries.len());
            let activations = [line.activations.load(), line.collisions.load()];
            assert_eq!(activations, self.activations[port]);
        }
    }
}

proptest! {
    #[test]
    fn counters_bitmaps_and_tables_are_those_of_the_packets_that_are_held(
        events in proptest::collection::vec(any_event(), 1..200),
        [stochastic, samples, incast_queue, lossless] in any::<[bool; 4]>(),
        elided in any::<Elided>(),
    ) {
        let assignment = if stochastic { Assignment::Stochastic } else { Assignment::Dynamic };
        let options = Options { samples, incast_queue, ..options(assignment) };
        let mut model = Model::new(options, lossless, elided);
        model.check();
        for event in events {
            model.happen(event);
            model.check();
        }
        for (port, queue) in (0..PORTS as u32).flat_map(|port| (0..3).map(move |queue| (port, queue))) {
            while !model.queues[port as usize][queue].is_empty() {
                model.depart(port, queue);
            }
        }
        model.check();
        prop_assert_eq!(model.held(), 0);
    }
}

#[test]
fn th_is_what_drains_in_a_round_trip_at_the_share_of_an_active_queue() {
    let tables = tables(options(Assignment::Dynamic), true, None);
    let of = |active| state::threshold(&tables, 1, active).unwrap().load();
    assert_eq!([1, 2, 3, 128].map(of), [3250, 1625, 1083, 25]);
}

#[test]
fn the_use_of_a_port_is_reported_field_by_field() {
    let options = options(Assignment::Dynamic);
    let mut tables = tables(options, true, None);
    // Queues of a priority without backpressure.
    tables.config.queues[1] = QueueRange::flow_queues(20, 4);
    let port = state::port(&tables, 1).expect("a port");
    [8, 10, 20, 21].map(QueueId::data).into_iter().for_each(|queue| port.in_use.set(queue, true));
    port.paused.set(QueueId::data(9), true);
    (0..4).map(QueueId::data).for_each(|queue| port.pausing.set(queue, true));
    port.flows.store(5);
    port.activations.store(6);
    port.collisions.store(7);
    let expected =
        FlowUse { flows: 5, queues: 2, paused: 1, pausing: 4, activations: 6, collisions: 7 };
    assert_eq!(Bfc::flow_use(&tables, policy(options), 1), Some(expected));
}

#[test]
fn other_hop_control_is_refused_and_a_bitmap_replaces_all_pauses() {
    let tables = tables(options(Assignment::Dynamic), true, None);
    let policy = policy(options(Assignment::Dynamic));
    let receive = |control: HopControl| Bfc::receive(&tables, policy, 1, &control, Nanos(0));
    assert_eq!(Bfc::paused(&tables, policy, 1, Nanos(0)), None);
    receive(HopControl::Queue { queue: QueueId::data(9), paused: true }).unwrap();
    receive(HopControl::Queues { paused: [1 << 8, 1 << 63] }).unwrap();
    let paused = QueueSet::from_flow_queues(1 << 127 | 1 << 8);
    assert_eq!(Bfc::paused(&tables, policy, 1, Nanos(0)), Some(paused));
    assert_eq!(Bfc::paused(&tables, policy, 0, Nanos(0)), None);
    let rate =
        HopControl::Rate { priority: crate::priority::Priority::new(3), kilobits_per_second: 1 };
    assert_eq!(receive(rate), Err(DropReason::UnexpectedHopControl));
}
