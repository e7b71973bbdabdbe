//! Properties that hold for every order of events: random events against a plain model.
#![expect(clippy::cast_possible_truncation, reason = "a model of few ports, queues and slots")]

use std::collections::VecDeque;

use fabric_core::queue::{
    FLOW_QUEUES, MAX_DATA_QUEUES, QueueId, QueueRange, QueueRanges, QueueSet, one_per_priority_from,
};
use proptest::prelude::*;

use super::{PortQueues, Scheduler, Waiting};

const QUANTUM: u32 = 1600;
const MTU: u32 = 1600;
const SLOTS: u32 = 256;
/// Data queues and the control queue.
const PLACES: usize = 1 + MAX_DATA_QUEUES;

/// Priorities 5 and 2 have all flow queues, and each other priority has one queue.
fn ranges() -> QueueRanges {
    let mut ranges = one_per_priority_from(FLOW_QUEUES, None);
    ranges[5] = QueueRange::flow_queues(0, 66);
    ranges[2] = QueueRange::flow_queues(66, 62);
    ranges
}

fn port(scheduler: Scheduler) -> PortQueues {
    PortQueues { data_queues: MAX_DATA_QUEUES, scheduler, ranges: ranges() }
}

type TrafficManager = super::TrafficManager<u32>;
type Selection = super::Selection<u32>;

fn packet(slot: u32, length: u32, rank: u16) -> Waiting<u32> {
    Waiting::new(slot, slot, length, rank)
}

fn one_port(scheduler: Scheduler) -> TrafficManager {
    TrafficManager::new(SLOTS as usize, std::iter::once(port(scheduler)))
}

const NONE: QueueSet = QueueSet::EMPTY;

#[derive(Clone, Debug)]
enum Event {
    Enqueue { port: usize, queue: QueueId, length: u32, rank: u16 },
    Select { port: usize, paused: QueueSet },
    TakeFirst { port: usize, queue: QueueId },
}

fn event() -> impl Strategy<Value = Event> {
    // Few of the queues, so that some become long, and both ends of each half of the mask.
    let queue = || {
        let place = prop_oneof![0..4_usize, 62..68_usize, 126..PLACES];
        place.prop_map(QueueId::from_place)
    };
    prop_oneof![
        6 => (0..2_usize, queue(), 60..=9000_u32, any::<u16>()).prop_map(
            |(port, queue, length, rank)| Event::Enqueue { port, queue, length, rank }
        ),
        6 => (0..2_usize, any::<u128>(), any::<u128>(), any::<bool>()).prop_map(
            |(port, some, more, control)| {
                let control = if control { QueueSet::from_queue(QueueId::CONTROL) } else { NONE };
                Event::Select { port, paused: QueueSet::from_flow_queues(some & more).or(control) }
            }
        ),
        1 => (0..2_usize, queue()).prop_map(|(port, queue)| Event::TakeFirst { port, queue }),
    ]
}

/// Expected state of one port, indexed by the places of its queues.
struct Model {
    queues: Vec<VecDeque<Waiting<u32>>>,
    /// The data queue that was served last.
    last: QueueId,
    /// Bytes that each queue may send before its turn ends, under DWRR.
    deficits: Vec<u32>,
    /// Queue whose turn it is, for each priority under the strict scheduler, otherwise for all.
    turns: [QueueId; 8],
}

impl Model {
    fn new() -> Self {
        let last = QueueId::from_place(MAX_DATA_QUEUES);
        let queues = vec![VecDeque::new(); PLACES];
        Self { queues, last, deficits: vec![0; PLACES], turns: [last; 8] }
    }

    /// Returns the queue of a group that DWRR serves, by its definition: the turn continues while
    /// the deficit pays, and then each queue in turn gets a quantum if it lacks one.
    fn serve(&mut self, group: QueueSet, turn: usize, quantum: u32) -> QueueId {
        let Self { queues, deficits, turns, .. } = self;
        let current = &mut turns[turn];
        let pays = |queue: QueueId, deficits: &[u32]| {
            let first = queues[queue.place()].front();
            deficits[queue.place()] >= first.expect("it holds a packet").length()
        };
        while !(group.contains(*current) && pays(*current, deficits)) {
            *current = next(group, *current).expect("the group is not empty");
            if !pays(*current, deficits) {
                deficits[current.place()] += quantum;
            }
        }
        *current
    }

    /// Charges a queue for its first packet, of `length` bytes.
    fn charge(&mut self, queue: QueueId, length: u32) {
        let deficit = &mut self.deficits[queue.place()];
        *deficit = if self.queues[queue.place()].is_empty() { 0 } else { *deficit - length };
    }

    fn non_empty(&self) -> QueueSet {
        let waiting = (0..PLACES).filter(|&place| !self.queues[place].is_empty());
        waiting.map(QueueId::from_place).map(QueueSet::from_queue).fold(NONE, QueueSet::or)
    }
}

/// Returns the first queue of a set after `queue` in circular order.
fn next(queues: QueueSet, queue: QueueId) -> Option<QueueId> {
    queues.iter().min_by_key(|it| (it.place() + PLACES - queue.place() - 1) % PLACES)
}

/// Plays `events` on two ports and checks each selection and all counters against the model.
fn play(scheduler: Scheduler, events: Vec<Event>) {
    let mut manager = TrafficManager::new(SLOTS as usize, [port(scheduler); 2].into_iter());
    let mut models = [Model::new(), Model::new()];
    let mut free: Vec<u32> = (0..SLOTS).collect();
    for (frame, event) in (1000..).zip(events) {
        match event {
            Event::Enqueue { port, queue, length, rank } => {
                let Some(slot) = free.pop() else { continue };
                let packet = Waiting::new(slot, frame, length, rank);
                manager.enqueue(port, queue, packet);
                models[port].queues[queue.place()].push_back(packet);
            }
            Event::Select { port, paused } => {
                let selection = manager.select(port, Some(paused));
                free.extend(check(&mut models[port], scheduler, paused, selection));
            }
            Event::TakeFirst { port, queue } => {
                let taken = manager.take_first(port, queue);
                let model = &mut models[port];
                let first = model.queues[queue.place()].pop_front();
                assert_eq!(taken, first.map(|packet| Selection::new(packet, queue)));
                if model.queues[queue.place()].is_empty() {
                    model.deficits[queue.place()] = 0;
                }
                free.extend(taken.map(|packet| packet.slot));
            }
        }
        for (number, model) in models.iter().enumerate() {
            assert_eq!(manager.non_empty(number), model.non_empty());
            for (place, packets) in model.queues.iter().enumerate() {
                let queue = QueueId::from_place(place);
                let bytes: u64 = packets.iter().map(|packet| u64::from(packet.length())).sum();
                assert_eq!(manager.queue_bytes(number, queue), bytes);
                assert_eq!(manager.queue_packets(number, queue) as usize, packets.len());
                assert!(manager.waiting(number, queue).eq(packets));
            }
        }
        assert_eq!(manager.total_packets(), SLOTS as usize - free.len());
    }
}

/// Checks one selection, removes it from the model and returns the freed slot.
fn check(
    model: &mut Model,
    scheduler: Scheduler,
    paused: QueueSet,
    selection: Option<Selection>,
) -> Option<u32> {
    let eligible = model.non_empty().without(paused);
    let Some(Selection { slot, queue, length, .. }) = selection else {
        assert!(eligible.is_empty(), "a port rests only if it has nothing that it may send");
        return None;
    };
    assert!(eligible.contains(queue), "a paused or an empty queue sends nothing");
    if eligible.has_control() {
        assert_eq!(queue, QueueId::CONTROL);
    } else if let Scheduler::Strict { quantum } = scheduler {
        let own = |queue: QueueId| {
            let own = |&priority: &usize| ranges()[priority].queues().contains(queue);
            (0..8).find(own).unwrap_or(0)
        };
        let highest = eligible.iter().map(own).max().expect("a queue may send");
        let group = eligible.iter().filter(|queue| own(*queue) == highest);
        let group = group.map(QueueSet::from_queue).fold(NONE, QueueSet::or);
        assert_eq!(queue, model.serve(group, highest, quantum), "the highest priority first");
    } else if let Scheduler::Dwrr { quantum } = scheduler {
        assert_eq!(queue, model.serve(eligible, 0, quantum), "the one whose turn it is");
    } else if scheduler == Scheduler::RoundRobin {
        let next = next(eligible, model.last);
        assert_eq!(Some(queue), next, "the next one that has a packet");
    } else if scheduler == Scheduler::ShortestRemaining {
        let rank = |queue: QueueId| model.queues[queue.place()].front().map(Waiting::rank);
        let least = eligible.iter().min_by_key(|queue| (rank(*queue), *queue));
        assert_eq!(Some(queue), least, "the lowest rank goes first");
    }
    if queue != QueueId::CONTROL {
        model.last = queue;
    }
    let first = model.queues[queue.place()].pop_front();
    let first = first.map(|packet| Selection::new(packet, queue));
    assert_eq!(selection, first, "a queue keeps its order, and a packet its frame");
    let has_deficit = matches!(scheduler, Scheduler::Strict { .. } | Scheduler::Dwrr { .. });
    if has_deficit && queue != QueueId::CONTROL {
        model.charge(queue, length);
    }
    Some(slot)
}

proptest! {
    #[test]
    fn strict_matches_the_model(events in proptest::collection::vec(event(), 0..400)) {
        play(Scheduler::Strict { quantum: QUANTUM }, events);
    }

    #[test]
    fn round_robin_matches_the_model(events in proptest::collection::vec(event(), 0..400)) {
        play(Scheduler::RoundRobin, events);
    }

    /// With any lengths, no queue sends a second packet before another queue's first.
    #[test]
    fn round_robin_shares_packets_equally_among_backlogged_queues(
        backlogged in 1..=u128::MAX,
        lengths in proptest::collection::vec(60..=MTU, 1..97),
    ) {
        let mut manager = one_port(Scheduler::RoundRobin);
        let queues: Vec<QueueId> = QueueSet::from_flow_queues(backlogged).iter().collect();
        let length_of = |slot: u32| lengths[slot as usize % lengths.len()];
        for (slot, &queue) in (0..).zip(&queues) {
            manager.enqueue(0, queue, packet(slot, length_of(slot), 0));
        }
        let mut sent = [0_u32; PLACES];
        for _ in 0..1000 {
            let Some(Selection { slot, queue, .. }) = manager.select(0, None) else {
                panic!("a backlogged port rested");
            };
            sent[queue.place()] += 1;
            manager.enqueue(0, queue, packet(slot, length_of(slot), 0));
            let counts = || queues.iter().map(|queue| sent[queue.place()]);
            prop_assert!(counts().max().unwrap() - counts().min().unwrap() <= 1);
        }
    }

    #[test]
    fn shortest_remaining_matches_the_model(events in proptest::collection::vec(event(), 0..400)) {
        play(Scheduler::ShortestRemaining, events);
    }

    #[test]
    fn dwrr_matches_the_model(
        quantum in 500..10_000_u32,
        events in proptest::collection::vec(event(), 0..400),
    ) {
        play(Scheduler::Dwrr { quantum }, events);
    }

    /// The bound of deficit round robin, at every time and not only in the long run: among all queues, and under the
    /// strict scheduler among the queues of a priority, however often a higher priority intervenes.
    #[test]
    fn dwrr_shares_bytes_equally_among_backlogged_queues(
        backlogged in 1..=u128::MAX,
        lengths in proptest::collection::vec(60..=MTU, 1..97),
        urgent in proptest::option::of(1..9_usize),
    ) {
        let scheduler = match urgent {
            Some(_) => Scheduler::Strict { quantum: QUANTUM },
            None => Scheduler::Dwrr { quantum: QUANTUM },
        };
        let mut manager = one_port(scheduler);
        let several = ranges()[2].queues().flow_queues();
        let backlogged = match urgent {
            Some(_) => backlogged & several | 1 << 70,
            None => backlogged,
        };
        let queues: Vec<QueueId> = QueueSet::from_flow_queues(backlogged).iter().collect();
        let length_of =
            |slot: u32, turn: usize| lengths[(slot as usize * 7 + turn) % lengths.len()];
        for (n, &queue) in queues.iter().enumerate() {
            // Two packets each, so that a queue never empties.
            for slot in [2 * n as u32, 2 * n as u32 + 1] {
                manager.enqueue(0, queue, packet(slot, length_of(slot, 0), 0));
            }
        }
        let mut sent = [0_u64; PLACES];
        for turn in 1..3000 {
            if urgent.is_some_and(|urgent| turn % urgent == 0) {
                manager.enqueue(0, QueueId::data(7), packet(SLOTS - 1, 1000, 0));
                prop_assert_eq!(manager.select(0, None).map(|it| it.queue.number()), Some(7));
            }
            let Some(Selection { slot, queue, length, .. }) = manager.select(0, None) else {
                panic!("a backlogged port rested");
            };
            sent[queue.place()] += u64::from(length);
            manager.enqueue(0, queue, packet(slot, length_of(slot, turn), 0));
            let most = queues.iter().map(|queue| sent[queue.place()]).max();
            let least = queues.iter().map(|queue| sent[queue.place()]).min();
            prop_assert!(most.unwrap() - least.unwrap() <= u64::from(QUANTUM + MTU));
        }
    }

    /// Pauses within its turns do not let a queue save quanta for a burst: the bound holds over
    /// every interval, in the rounds after the pauses too.
    #[test]
    fn a_queue_that_is_paused_now_and_then_gets_no_more_than_its_share(
        pauses in proptest::collection::vec(any::<bool>(), 1..40),
        short in 60..=MTU,
        long in 60..=MTU,
    ) {
        let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM });
        for slot in 0..4 {
            let queue = slot as u8 / 2;
            let length = [short, long][usize::from(queue)];
            manager.enqueue(0, QueueId::data(queue), packet(slot, length, 0));
        }
        let mut lead = 0;
        let mut least_lead = 0;
        for turn in 0..2000 {
            let paused = u128::from(turn < 1000 && pauses[turn % pauses.len()]);
            let paused = QueueSet::from_flow_queues(paused);
            let Some(Selection { slot, queue, length, .. }) = manager.select(0, Some(paused)) else {
                panic!("queue 1 is never paused");
            };
            let of_first = queue == QueueId::data(0);
            lead += if of_first { i64::from(length) } else { -i64::from(length) };
            manager.enqueue(0, queue, packet(slot, length, 0));
            least_lead = least_lead.min(lead);
            // Both start an interval with less than a quantum and a packet of deficit, and one of
            // them may have one round more in it.
            prop_assert!(lead - least_lead <= i64::from(2 * (QUANTUM + MTU) + QUANTUM));
        }
    }
}

/// Selects packets of one port until it is empty. Returns the queue numbers.
fn drain(manager: &mut TrafficManager) -> Vec<u8> {
    std::iter::from_fn(|| manager.select(0, None)).map(|it| it.queue.number()).collect()
}

#[test]
fn dwrr_serves_a_quantum_from_each_queue_in_the_order_of_their_numbers() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM });
    for (slot, (queue, length)) in
        [(4, 800), (4, 800), (4, 800), (1, 1600), (1, 1600), (0, 1000), (0, 1000), (0, 1000)]
            .into_iter()
            .enumerate()
    {
        manager.enqueue(0, QueueId::data(queue), packet(slot as u32, length, 0));
    }
    // Queue 0 keeps 600 bytes of its first round, so its second round pays for two packets.
    assert_eq!(drain(&mut manager), [0, 1, 4, 4, 0, 0, 1, 4]);
}

#[test]
fn round_robin_serves_a_packet_from_each_queue_and_skips_those_that_are_paused() {
    let mut manager = one_port(Scheduler::RoundRobin);
    for (slot, (queue, length)) in
        [(4, 60), (4, 60), (4, 60), (1, 9000), (1, 9000), (0, 1000)].into_iter().enumerate()
    {
        manager.enqueue(0, QueueId::data(queue), packet(slot as u32, length, 0));
    }
    let first = QueueSet::from_flow_queues(1);
    assert_eq!(manager.select(0, Some(first)).map(|it| it.queue.number()), Some(1));
    assert_eq!(manager.prefetch_next(0).map(|packet| packet.slot), Some(0));
    assert_eq!(drain(&mut manager), [4, 0, 1, 4, 4]);
}

#[test]
fn the_control_queue_goes_first_and_takes_no_turn() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM });
    for slot in 0..4 {
        let queue = if slot < 2 { QueueId::data(0) } else { QueueId::CONTROL };
        manager.enqueue(0, queue, packet(slot, 800, 0));
    }
    let control = QueueSet::from_queue(QueueId::CONTROL);
    assert_eq!(
        manager.select(0, Some(control)).unwrap().queue,
        QueueId::data(0),
        "it can be paused"
    );
    let control = QueueId::CONTROL.number();
    assert_eq!(drain(&mut manager), [control, control, 0]);
}

#[test]
fn dwrr_forgets_the_deficit_of_a_queue_that_empties() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM });
    manager.enqueue(0, QueueId::data(0), packet(0, 100, 0));
    assert_eq!(drain(&mut manager), [0]);
    for slot in 0..3 {
        manager.enqueue(0, QueueId::data(0), packet(slot, 1600, 0));
    }
    manager.enqueue(0, QueueId::data(1), packet(3, 1600, 0));
    // Its turn ended with its last packet, so queue 1 is next.
    assert_eq!(drain(&mut manager), [1, 0, 0, 0]);
}

/// Removing a packet out of turn ends the turn like sending it, if it was the last.
#[test]
fn dwrr_forgets_the_deficit_of_a_queue_whose_last_packet_is_dropped() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM });
    for slot in 0..2 {
        manager.enqueue(0, QueueId::data(0), packet(slot, 100, 0));
    }
    assert_eq!(manager.select(0, None).map(|sent| sent.slot), Some(0));
    assert_eq!(manager.take_first(0, QueueId::data(0)).map(|taken| taken.slot), Some(1));
    for slot in 0..3 {
        // The queue's former deficit would pay for one packet.
        manager.enqueue(0, QueueId::data(0), packet(slot, QUANTUM - 100, 0));
    }
    manager.enqueue(0, QueueId::data(1), packet(3, QUANTUM - 100, 0));
    assert_eq!(drain(&mut manager), [1, 0, 0, 0]);
}

#[test]
fn a_paused_queue_resumes_its_turn_with_the_deficit_it_kept() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM });
    for slot in 0..8 {
        manager.enqueue(0, QueueId::data(slot as u8 / 4), packet(slot, 800, 0));
    }
    let order = [0, 1, 1, 1, 0, 0, 0, 0].map(|data| {
        let selection = manager.select(0, Some(QueueSet::from_flow_queues(data)));
        selection.unwrap().queue.number()
    });
    // Queue 0 sends one packet, misses a round and a half, and comes back with 800 bytes of credit.
    assert_eq!(order, [0, 1, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn equal_ranks_go_by_queue_and_a_rank_is_that_of_the_first_packet() {
    let mut manager = one_port(Scheduler::ShortestRemaining);
    for (slot, (queue, rank)) in [(4, 9), (9, 5), (4, 1), (2, 5), (3, 0)].into_iter().enumerate() {
        manager.enqueue(0, QueueId::data(queue), packet(slot as u32, 1000, rank));
    }
    assert_eq!(drain(&mut manager), [3, 2, 9, 4, 4]);
}

#[test]
fn a_selected_packet_can_move_to_another_queue() {
    let mut manager = one_port(Scheduler::Strict { quantum: QUANTUM });
    let (nine, two) = (QueueId::data(9), QueueId::data(2));
    manager.enqueue(0, nine, packet(17, 1000, 0));
    let selection = manager.select(0, None);
    assert_eq!(selection, Some(Selection { slot: 17, frame: 17, queue: nine, length: 1000 }));
    manager.enqueue(0, two, packet(17, 1000, 0));
    assert_eq!((manager.queue_bytes(0, nine), manager.queue_bytes(0, two)), (0, 1000));
}

#[test]
#[should_panic(expected = "port 0 has 8 data queues, no 8")]
fn a_queue_of_another_port_is_out_of_reach() {
    let port = PortQueues::default();
    TrafficManager::new(SLOTS as usize, [port; 2].into_iter()).enqueue(
        0,
        QueueId::data(8),
        packet(0, 60, 0),
    );
}

/// Three of four packets of queue 0 are dropped at their turn. The bytes sent by the queues never differ by more than a
/// round.
#[test]
fn dwrr_shares_out_what_is_sent_and_not_what_is_dropped() {
    for scheduler in [Scheduler::Dwrr { quantum: QUANTUM }, Scheduler::Strict { quantum: QUANTUM }]
    {
        let mut manager = one_port(scheduler);
        // Both are flow queues of priority 5.
        let queues = [QueueId::data(0), QueueId::data(1)];
        for slot in 0..200 {
            manager.enqueue(0, queues[usize::from(slot % 10 == 0)], packet(slot, 1000, 0));
        }
        let mut sent = [0_i64; 2];
        let mut of_first = 0;
        while manager.queue_packets(0, queues[1]) > 0 {
            let Selection { queue, length, .. } = manager.select(0, None).expect("packets wait");
            of_first += u32::from(queue == queues[0]);
            if queue == queues[0] && of_first % 4 != 0 {
                manager.refund(0, queue, length);
                continue;
            }
            sent[usize::from(queue == queues[1])] += i64::from(length);
            let lead = sent[0] - sent[1];
            assert!(lead.abs() <= i64::from(QUANTUM + 1000), "{scheduler:?}: {sent:?}");
        }
        assert_eq!(sent[1], 20_000, "{scheduler:?}");
    }
}
