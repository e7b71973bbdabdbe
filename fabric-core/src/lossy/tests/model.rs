//! Compares every kind of buffer management, after every event, with a model that keeps lists of packets and flows.

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::arrival::{Outcome, arrival};
use crate::departure::{Fate, departure};
use crate::frame::ByteFrame;
use crate::map_abi::FIRST_HOST_ADDRESS;
use crate::priority;
use crate::scheme::Scheme as _;
use crate::scheme::pfc::Pfc;
use crate::tables::owned::{MAX_SLOTS, PORTS, packet};
use crate::wire::ipv4::{FIRST_RTT, Header};
use crate::wire::roce::{Ecn, UDP_PORT};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use zerocopy::FromBytes;

mod events;

use events::{
    Event, FAIR, FIRST_CLASS, FIRST_PACKETS, IDLE, MIN, SHARED_POOL, SHORT, any_event, kinds,
};

#[derive(Clone, Copy, Debug)]
struct Held {
    slot: u32,
    length: u64,
    arrived: u64,
    class: u8,
    first_rtt: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    seen: u64,
    bytes: u64,
    packets: u32,
    /// The window of its queue in which it was last counted, and its bytes in that window and in the one before.
    window: u64,
    arrived: [u64; 2],
}

/// State of a queue under fair dropping: number and start of the window, `M_fair`, bytes that
/// arrived in the window and in the one before, and the queue's length at the start of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Fair {
    window: u64,
    began: u64,
    share: u64,
    arrived: [u64; 2],
    before: u64,
}

type Queues<T> = [[T; 8]; PORTS];

struct Model {
    tables: OwnedTables,
    settings: Settings,
    policy: Policy,
    own_pool: u64,
    others: u64,
    now: u64,
    queues: Queues<VecDeque<Held>>,
    flows: BTreeMap<(u32, u16), Flow>,
    fair: Queues<Fair>,
    random: u64,
    /// In units of 1 / 65,536.
    congested: [u64; 8],
    rates: Queues<u64>,
    sent: Queues<u64>,
    updated: u64,
    drops: BTreeMap<DropReason, u64>,
}

/// `bytes` times a ratio, rounded down.
fn times(bytes: u64, ratio: Ratio) -> u64 {
    (u128::from(bytes) * u128::from(ratio.numerator) / u128::from(ratio.denominator)) as u64
}

impl Model {
    fn new(kind: Kind, own_pool: u64) -> Self {
        let config = SwitchConfig {
            shared_pool_bytes: SHARED_POOL,
            lossy_pool_bytes: own_pool,
            ..SwitchConfig::default()
        };
        let mut tables = OwnedTables::new(config, 0);
        tables.config.slots = MAX_SLOTS as u32;
        tables.switch.slots_limit.store(MAX_SLOTS as u64);
        tables.switch.random.store(1);
        let mut settings = Settings { kind, ..Settings::default() };
        settings.alphas = [1, 2, 3, 4, 5, 6, 7, 8].map(|class| ratio(class, 4));
        settings.first_alphas = [3, 3, 5, 2, 1, 1, 1, 1].map(|class| ratio(class, 3));
        settings.write(&tables);
        let fair = Fair { share: FAIR.first_share.0, ..Fair::default() };
        Self {
            tables,
            settings,
            policy: policy(kind),
            own_pool,
            others: 0,
            now: 1,
            queues: Default::default(),
            flows: BTreeMap::new(),
            fair: [[fair; 8]; PORTS],
            random: 1,
            congested: [0; 8],
            rates: [[65_536; 8]; PORTS],
            sent: Default::default(),
            updated: 0,
            drops: BTreeMap::new(),
        }
    }

    fn held(&self) -> u64 {
        self.queues.iter().flatten().flatten().map(|held| held.length).sum()
    }

    fn buffer(&self) -> u64 {
        if self.own_pool == 0 { SHARED_POOL } else { self.own_pool }
    }

    fn free(&self) -> u64 {
        let others = if self.own_pool == 0 { self.others } else { 0 };
        self.buffer().saturating_sub(self.held() + others)
    }

    fn bytes(&self, port: usize, class: usize) -> u64 {
        self.queues[port][class].iter().map(|held| held.length).sum()
    }

    fn scaled(&self, class: usize, first: bool) -> u64 {
        let Settings { alphas, first_alphas, .. } = &self.settings;
        times(self.free(), if first { first_alphas[class] } else { alphas[class] })
    }

    /// alpha times the free buffer, divided by the congested queues.
    fn divided(&self, class: usize, first: bool) -> u64 {
        self.scaled(class, first) * 65_536 / self.congested[class].max(65_536)
    }

    fn abm(&self, port: usize, class: usize, first: bool) -> u64 {
        self.divided(class, first) * self.rates[port][class] / 65_536
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    /// Counts a packet of a flow.
    fn count(&mut self, key: (u32, u16), length: u64) -> Flow {
        let flow = self.flows.entry(key).or_default();
        if flow.seen + IDLE < self.now {
            *flow = Flow::default();
        }
        flow.seen = self.now;
        flow.bytes += length;
        flow.packets += 1;
        *flow
    }

    fn packets_before(&self, key: (u32, u16)) -> u32 {
        let flow = self.flows.get(&key).copied().unwrap_or_default();
        if flow.seen + IDLE < self.now { 0 } else { flow.packets }
    }

    /// Decision about a packet that joins queue `class` of a port, by the threshold and the buffer alone.
    fn by_threshold(
        &self,
        at: (usize, usize),
        length: u64,
        threshold: Option<u64>,
    ) -> Result<(), DropReason> {
        if threshold.is_some_and(|threshold| self.bytes(at.0, at.1) + length > threshold) {
            OVER
        } else if length > self.free() {
            FULL
        } else {
            Ok(())
        }
    }

    /// Queue of a packet, and the decision about it.
    fn judge(
        &mut self,
        port: usize,
        class: u8,
        key: (u32, u16),
        first_rtt: bool,
        length: u64,
    ) -> (u8, Result<(), DropReason>) {
        let at = (port, usize::from(class));
        let threshold = match self.settings.kind {
            Kind::DynamicThreshold => Some(self.scaled(at.1, false)),
            Kind::CompleteSharing | Kind::Bshare { .. } => None,
            Kind::Active(_) => Some(self.abm(port, at.1, first_rtt)),
            Kind::FlowAware { .. } => {
                let flow = self.count(key, length);
                Some(self.scaled(at.1, flow.bytes < SHORT))
            }
            Kind::Intelligent { fair_dropping, prioritisation, .. } => {
                return self.judge_fair(at, key, length, fair_dropping, prioritisation);
            }
        };
        (class, self.by_threshold(at, length, threshold))
    }

    fn judge_fair(
        &mut self,
        (port, own_class): (usize, usize),
        key: (u32, u16),
        length: u64,
        fair_dropping: Option<FairDropping>,
        prioritisation: Option<Prioritisation>,
    ) -> (u8, Result<(), DropReason>) {
        let is_first = prioritisation.is_some() && self.packets_before(key) < FIRST_PACKETS;
        let class = if is_first { usize::from(FIRST_CLASS) } else { own_class };
        let flow = self.count(key, length);
        let queued = self.bytes(port, class);
        let admitted = self.by_threshold((port, class), length, Some(self.scaled(class, false)));
        let Some(FairDropping { shares, .. }) = fair_dropping else {
            return (class as u8, admitted);
        };
        let now = self.now;
        let queue = &mut self.fair[port][class];
        if now >= queue.began + FAIR.window.0 {
            let desired = FAIR.desired.0;
            let more = times(queue.before, FAIR.rise) + times(desired, FAIR.fall);
            let less = times(queued, FAIR.fall) + times(desired, FAIR.rise);
            queue.share = (queue.share + more).saturating_sub(less);
            (queue.before, queue.began) = (queued, now);
            queue.arrived = [0, queue.arrived[0]];
            queue.window += 1;
        }
        let (window, share) = (queue.window, queue.share);
        let arrived = match shares {
            FairShares::Queues => {
                queue.arrived[0] += length;
                queue.arrived[1]
            }
            FairShares::Elephants(_) if flow.bytes < SHORT || is_first => 0,
            FairShares::Elephants(_) => {
                let flow = self.flows.get_mut(&key).expect("it is counted");
                if flow.window != window {
                    let before = if flow.window + 1 == window { flow.arrived[0] } else { 0 };
                    (flow.arrived, flow.window) = ([0, before], window);
                }
                flow.arrived[0] += length;
                flow.arrived[1]
            }
        };
        let arrived = arrived * u64::from(FAIR.windows);
        let outcome = admitted.and_then(|()| {
            let is_beyond = queued > FAIR.least_bytes.0 && arrived > share;
            let drops = is_beyond && self.draw() * arrived < (arrived - share) << 32;
            if drops { Err(DropReason::FairDrop) } else { Ok(()) }
        });
        (class as u8, outcome)
    }

    fn arrive(&mut self, port: u32, class: u8, flow: u16, first_rtt: bool, padding: u64) {
        let mut bytes = packet(port, 1 - port, class, Ecn::NotCapable);
        bytes[34..36].copy_from_slice(&(50_000 + flow).to_be_bytes());
        let (header, _) = Header::mut_from_prefix(&mut bytes[14..]).expect("it has a header");
        let mark = if first_rtt { FIRST_RTT << 2 } else { 0 };
        header.set_type_of_service(header.type_of_service() | mark);
        bytes.resize(bytes.len() + padding as usize, 0);
        let length = bytes.len() as u64;
        let egress = 1 - port as usize;
        let (queue, expected) = self.judge(egress, class, (port, flow), first_rtt, length);

        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let got = arrival(frame, &self.tables, self.policy, port, Nanos(self.now), &mut |_| {});
        match (got, expected) {
            (Outcome::Queued(queued), Ok(())) => {
                assert_eq!((queued.egress_port as usize, queued.queue.number()), (egress, queue));
                let (slot, arrived) = (queued.slot, self.now);
                let held = Held { slot, length, arrived, class, first_rtt };
                self.queues[egress][usize::from(queue)].push_back(held);
            }
            (Outcome::Dropped(reason), Err(expected)) => {
                assert_eq!(reason, expected);
                *self.drops.entry(reason).or_default() += 1;
            }
            (got, expected) => panic!("{got:?}, and not {expected:?}"),
        }
    }

    fn depart(&mut self, port: usize, queue: usize) {
        let Some(held) = self.queues[port][queue].front().copied() else { return };
        let Held { slot, length, arrived, class, first_rtt } = held;
        let behind = self.bytes(port, queue) - length;
        // 100 Gbit/s: 12.5 bytes per ns.
        let theta = self.divided(usize::from(class), first_rtt) * 80 / 1000;
        let is_bshare = matches!(self.settings.kind, Kind::Bshare { .. });
        let drops = is_bshare && self.now - arrived >= theta && behind >= MIN;
        let left = departure(&self.tables, self.policy, slot, Nanos(self.now), &mut |_| {});
        let fate = left.expect("the slot holds it").fate;
        if drops {
            assert_eq!(fate, Fate::Dropped(DropReason::SojournTime));
            *self.drops.entry(DropReason::SojournTime).or_default() += 1;
        } else {
            assert_eq!(fate, Fate::Sent { mark: false });
            self.sent[port][queue] += length;
        }
        self.queues[port][queue].pop_front();
    }

    /// Bytes that are dropped do not count for the drain rate.
    fn discard(&mut self, port: usize, queue: usize) {
        let Some(Held { slot, .. }) = self.queues[port][queue].pop_front() else { return };
        let (reason, now) = (DropReason::WatchdogEgress, Nanos(self.now));
        let left = Pfc::discard(&self.tables, self.policy, slot, now, reason, &mut |_| {});
        assert_eq!(left.expect("the slot holds it").fate, Fate::Dropped(reason));
        *self.drops.entry(reason).or_default() += 1;
    }

    fn update(&mut self) {
        Selected::update(&self.tables, self.policy, Nanos(self.now));
        let (Kind::Active(form) | Kind::Bshare { congestion: form, .. }) = self.settings.kind
        else {
            return;
        };
        let is_abm = matches!(self.settings.kind, Kind::Active(_));
        let part = |port: usize, class: usize| {
            let bytes = self.bytes(port, class);
            let threshold =
                if is_abm { self.abm(port, class, false) } else { self.divided(class, false) };
            let whole = |least: u64| if bytes > 0 && bytes >= least { 65_536 } else { 0 };
            match form {
                Congestion::OfThreshold(ratio) => whole(times(threshold, ratio)),
                Congestion::OfBuffer(ratio) => whole(times(self.buffer(), ratio)),
                Congestion::Bytes(most) => bytes.min(most.into()) * 65_536 / u64::from(most),
            }
        };
        self.congested = core::array::from_fn(|class| part(0, class) + part(1, class));
        if is_abm {
            let span = self.now - self.updated;
            for (rate, sent) in self.rates.iter_mut().flatten().zip(self.sent.iter_mut().flatten())
            {
                let share = (*sent * 2 * 65_536).checked_div(span * 25).unwrap_or(0);
                *rate = if (8192..=65_536).contains(&share) { share } else { 65_536 };
                *sent = 0;
            }
            self.updated = self.now;
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival { port, class, flow, first_rtt, padding } => {
                self.arrive(port, class, flow, first_rtt, padding);
            }
            Event::Turn { port, class } => self.depart(port as usize, usize::from(class)),
            Event::Discard { port, class } => self.discard(port as usize, usize::from(class)),
            Event::Others(bytes) => {
                let shared = &self.tables.switch.shared_bytes;
                let lossy = shared.load() - self.others;
                self.others = bytes.min(SHARED_POOL - lossy);
                shared.store(lossy + self.others);
            }
            Event::Update => self.update(),
            Event::Time(passes) => self.now += passes,
        }
    }

    fn check(&self) {
        let tables = &self.tables;
        let held = self.held();
        let expected =
            if self.own_pool == 0 { (held + self.others, 0) } else { (self.others, held) };
        let totals = &tables.switch;
        assert_eq!((totals.shared_bytes.load(), totals.lossy_bytes.load()), expected);
        for class in priority::all() {
            let index = class.index();
            for port in 0..PORTS {
                let bytes = tables.egress(port as u32, class.number()).bytes.load();
                assert_eq!(bytes, self.bytes(port, index), "queue {index} of port {port}");
                let row = tables.config.queue_row(port as u32, QueueId::data(class.number()));
                if matches!(self.settings.kind, Kind::Active(_)) {
                    let line = state::queue(tables, row).unwrap();
                    assert_eq!(u64::from(line.drain_rate.load()), self.rates[port][index]);
                }
                if let Kind::Intelligent { fair_dropping: Some(_), .. } = self.settings.kind {
                    let line = state::fair_queue(tables, row).unwrap();
                    let fair = &self.fair[port][index];
                    let arrived = [line.arrived_bytes.load(), line.arrived_before.load()];
                    assert_eq!(line.share_bytes.load(), fair.share);
                    assert_eq!(arrived.map(u64::from), fair.arrived);
                }
            }
            let congested = state::priority(tables, class).unwrap().congested.load();
            assert_eq!(u64::from(congested), self.congested[index], "priority {index}");
        }
        for reason in DropReason::ALL {
            let expected = self.drops.get(reason).copied().unwrap_or(0);
            assert_eq!(tables.drops(*reason).unwrap().load(), expected, "{reason}");
        }
        assert_eq!(flow_table::replaced_flows(tables), 0);
        if self.settings.flow_lines() != 0 {
            for key in self.flows.keys() {
                assert_eq!(self.found(*key), Some(self.packets_before(*key)), "{key:?}");
            }
        }
        if let Kind::Intelligent { fair_dropping: Some(_), .. } = self.settings.kind {
            assert_eq!(totals.random.load(), self.random);
        }
    }

    /// Returns the switch's count of a flow.
    fn found(&self, (port, flow): (u32, u16)) -> Option<u32> {
        let at = Ingress::new(&self.tables, self.policy, port, Priority::new(0))?;
        let fields = crate::frame::Ipv4Fields {
            source: FIRST_HOST_ADDRESS + port,
            destination: FIRST_HOST_ADDRESS + 1 - port,
            ports: u32::from(50_000 + flow) << 16 | u32::from(UDP_PORT),
            protocol: 17,
            ..Default::default()
        };
        flow_table::packets_before(&at, &fields, Nanos(self.now))
    }
}

fn run(kind: Kind, own_pool: u64, events: &[Event]) -> BTreeMap<DropReason, u64> {
    let mut model = Model::new(kind, own_pool);
    model.check();
    for event in events {
        model.happen(*event);
        model.check();
    }
    model.drops
}

proptest! {
    #[test]
    fn a_switch_decides_and_counts_as_the_model(
        kind in select(kinds()),
        own_pool in prop_oneof![Just(0), Just(12_000u64)],
        events in vec(any_event(), 1..300),
    ) {
        run(kind, own_pool, &events);
    }
}

/// Ensures that the comparison of model and switch covers drops for each reason.
#[test]
fn each_reason_to_drop_is_met() {
    use DropReason::{FairDrop, LossyBufferFull, LossyThreshold, SojournTime, WatchdogEgress};
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut met: BTreeMap<DropReason, u64> = BTreeMap::new();
    for kind in kinds() {
        for _ in 0..20 {
            let events = vec(any_event(), 300).new_tree(&mut runner).unwrap().current();
            for (reason, count) in run(kind, 0, &events) {
                *met.entry(reason).or_default() += count;
            }
        }
    }
    for reason in [LossyThreshold, LossyBufferFull, SojournTime, FairDrop, WatchdogEgress] {
        assert!(met.get(&reason).is_some_and(|count| *count > 50), "{met:?}");
    }
    assert_eq!(met.len(), 5, "{met:?}");
}
