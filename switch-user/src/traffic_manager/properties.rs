//! What every order of events must leave true, by random events against a plain model.
#![expect(clippy::cast_possible_truncation, reason = "a model of few ports, queues and slots")]

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{PortQueues, Scheduler, Selection, TrafficManager};

const QUANTUM: u32 = 1600;
const MTU: u32 = 1600;
const SLOTS: u32 = 256;
const QUEUES: usize = 32;

fn port(scheduler: Scheduler, control: Option<u8>) -> PortQueues {
    PortQueues { queues: QUEUES, control, scheduler }
}

fn one_port(scheduler: Scheduler, control: Option<u8>) -> TrafficManager<u32> {
    TrafficManager::new(SLOTS as usize, std::iter::once(port(scheduler, control)))
}

#[derive(Clone, Debug)]
enum Event {
    Enqueue { port: usize, queue: usize, length: u32 },
    MacControl { port: usize, classes: u8, frame: u32 },
    LinkDelay { port: usize, frame: u32 },
    Select { port: usize, paused: u32 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => (0..2_usize, 0..QUEUES, 60..=9000_u32)
            .prop_map(|(port, queue, length)| Event::Enqueue { port, queue, length }),
        1 => (0..2_usize, 1..8_u8, any::<u32>())
            .prop_map(|(port, classes, frame)| Event::MacControl { port, classes, frame }),
        1 => (0..2_usize, any::<u32>()).prop_map(|(port, frame)| Event::LinkDelay { port, frame }),
        5 => (0..2_usize, any::<u32>(), any::<u32>())
            .prop_map(|(port, some, more)| Event::Select { port, paused: some & more }),
    ]
}

/// What one port should hold.
struct Model {
    queues: Vec<VecDeque<(u32, u32)>>,
    mac_control: VecDeque<(u8, u32)>,
    link_delay: VecDeque<u32>,
}

impl Model {
    fn new() -> Self {
        Self {
            queues: vec![VecDeque::new(); QUEUES],
            mac_control: VecDeque::new(),
            link_delay: VecDeque::new(),
        }
    }

    fn non_empty(&self) -> u32 {
        (0..QUEUES).filter(|&n| !self.queues[n].is_empty()).fold(0, |mask, n| mask | 1 << n)
    }
}

/// Plays `events` on two ports and checks each selection and all counters against the model.
fn play(scheduler: Scheduler, control: Option<u8>, events: Vec<Event>) {
    let ports = [port(scheduler, control), port(scheduler, control)];
    let mut manager = TrafficManager::new(SLOTS as usize, ports.into_iter());
    let mut models = [Model::new(), Model::new()];
    let mut free: Vec<u32> = (0..SLOTS).collect();
    for event in events {
        match event {
            Event::Enqueue { port, queue, length } => {
                let Some(slot) = free.pop() else { continue };
                manager.enqueue(port, queue, slot, length);
                models[port].queues[queue].push_back((slot, length));
            }
            Event::MacControl { port, classes, frame } => {
                let mut superseded = Vec::new();
                manager.enqueue_mac_control(port, classes, frame, |frame| superseded.push(frame));
                let waiting = &mut models[port].mac_control;
                let obsolete = |(earlier, _): &(u8, u32)| earlier | classes == classes;
                let expected = waiting.iter().copied().filter(obsolete).map(|(_, frame)| frame);
                assert_eq!(superseded, expected.collect::<Vec<u32>>());
                waiting.retain(|waiting| !obsolete(waiting));
                waiting.push_back((classes, frame));
            }
            Event::LinkDelay { port, frame } => {
                manager.enqueue_link_delay(port, frame);
                models[port].link_delay.push_back(frame);
            }
            Event::Select { port, paused } => {
                let selection = manager.select(port, paused);
                free.extend(check(&mut models[port], scheduler, control, paused, selection));
            }
        }
        for (number, model) in models.iter().enumerate() {
            assert_eq!(manager.non_empty(number), model.non_empty());
            let waiting = model.mac_control.len() + model.link_delay.len();
            let idle = model.non_empty() == 0 && waiting == 0;
            assert_eq!(manager.is_idle(number), idle);
            for (queue, packets) in model.queues.iter().enumerate() {
                let bytes: u64 = packets.iter().map(|&(_, length)| u64::from(length)).sum();
                assert_eq!(manager.queue_bytes(number, queue), bytes);
                assert_eq!(manager.queue_packets(number, queue) as usize, packets.len());
                assert!(manager.slots(number, queue).eq(packets.iter().map(|&(slot, _)| slot)));
            }
        }
        assert_eq!(manager.total_packets(), SLOTS as usize - free.len());
    }
}

/// Checks one selection, takes it from the model and returns the slot that became free.
fn check(
    model: &mut Model,
    scheduler: Scheduler,
    control: Option<u8>,
    paused: u32,
    selection: Option<Selection<u32>>,
) -> Option<u32> {
    let eligible = model.non_empty() & !paused;
    let mac_control = model.mac_control.pop_front().map(|(_, frame)| frame);
    let before_packets = mac_control.or_else(|| model.link_delay.pop_front());
    if let Some(frame) = before_packets {
        assert_eq!(selection, Some(Selection::MacControl(frame)), "MAC control, then link delay");
        return None;
    }
    match selection {
        None => {
            assert_eq!(eligible, 0, "a port rests only if it has nothing that it may send");
            None
        }
        Some(Selection::MacControl(frame)) => panic!("invented MAC control frame {frame}"),
        Some(Selection::Packet { slot, queue, length }) => {
            assert_ne!(eligible & (1 << queue), 0, "a paused or an empty queue sends nothing");
            match control.filter(|control| eligible & (1 << control) != 0) {
                Some(control) => assert_eq!(queue, usize::from(control)),
                None if scheduler == Scheduler::Strict => {
                    assert_eq!(queue, eligible.ilog2() as usize, "the highest queue goes first");
                }
                None => {}
            }
            let first = model.queues[queue].pop_front();
            assert_eq!(first, Some((slot, length)), "a queue keeps its order");
            Some(slot)
        }
    }
}

proptest! {
    #[test]
    fn strict_matches_the_model(
        control in proptest::option::of(0..QUEUES as u8),
        events in proptest::collection::vec(event(), 0..400),
    ) {
        play(Scheduler::Strict, control, events);
    }

    #[test]
    fn dwrr_matches_the_model(
        control in proptest::option::of(0..QUEUES as u8),
        quantum in 500..10_000_u32,
        events in proptest::collection::vec(event(), 0..400),
    ) {
        play(Scheduler::Dwrr { quantum }, control, events);
    }

    /// The bound of deficit round robin, at every instant and not only in the long run.
    #[test]
    fn dwrr_shares_bytes_equally_among_backlogged_queues(
        backlogged in 1..=u32::MAX,
        lengths in proptest::collection::vec(60..=MTU, 1..97),
    ) {
        let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM }, None);
        let queues: Vec<usize> = (0..QUEUES).filter(|n| backlogged & (1 << n) != 0).collect();
        let length_of =
            |slot: u32, turn: usize| lengths[(slot as usize * 7 + turn) % lengths.len()];
        for (n, &queue) in queues.iter().enumerate() {
            // Two packets each, so that a queue never empties.
            for slot in [2 * n as u32, 2 * n as u32 + 1] {
                manager.enqueue(0, queue, slot, length_of(slot, 0));
            }
        }
        let mut sent = [0_u64; QUEUES];
        for turn in 1..3000 {
            let Some(Selection::Packet { slot, queue, length }) = manager.select(0, 0) else {
                panic!("a backlogged port rested");
            };
            sent[queue] += u64::from(length);
            manager.enqueue(0, queue, slot, length_of(slot, turn));
            let most = queues.iter().map(|&queue| sent[queue]).max();
            let least = queues.iter().map(|&queue| sent[queue]).min();
            prop_assert!(most.unwrap() - least.unwrap() <= u64::from(QUANTUM + MTU));
        }
    }

    /// Being paused in the middle of its turns does not let a queue save up quanta for a burst: the
    /// bound holds over every interval, in the rounds after the pauses too.
    #[test]
    fn a_queue_that_is_paused_now_and_then_gets_no_more_than_its_share(
        pauses in proptest::collection::vec(any::<bool>(), 1..40),
        short in 60..=MTU,
        long in 60..=MTU,
    ) {
        let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM }, None);
        for slot in 0..4 {
            let queue = slot as usize / 2;
            manager.enqueue(0, queue, slot, [short, long][queue]);
        }
        let mut lead = 0;
        let mut least_lead = 0;
        for turn in 0..2000 {
            let paused = u32::from(turn < 1000 && pauses[turn % pauses.len()]);
            let Some(Selection::Packet { slot, queue, length }) = manager.select(0, paused) else {
                panic!("queue 1 is never paused");
            };
            lead += if queue == 0 { i64::from(length) } else { -i64::from(length) };
            manager.enqueue(0, queue, slot, length);
            least_lead = least_lead.min(lead);
            // Both start an interval with less than a quantum and a packet of deficit, and one of
            // them may have one round more in it.
            prop_assert!(lead - least_lead <= i64::from(2 * (QUANTUM + MTU) + QUANTUM));
        }
    }
}

/// Plays selections of one port until it rests, as queue numbers.
fn drain(manager: &mut TrafficManager<u32>) -> Vec<usize> {
    std::iter::from_fn(|| manager.select(0, 0))
        .map(|selection| match selection {
            Selection::Packet { queue, .. } => queue,
            Selection::MacControl(_) => usize::MAX,
        })
        .collect()
}

#[test]
fn dwrr_serves_a_quantum_from_each_queue_in_the_order_of_their_numbers() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM }, None);
    for (slot, (queue, length)) in
        [(4, 800), (4, 800), (4, 800), (1, 1600), (1, 1600), (0, 1000), (0, 1000), (0, 1000)]
            .into_iter()
            .enumerate()
    {
        manager.enqueue(0, queue, slot as u32, length);
    }
    // Queue 0 keeps 600 bytes of its first round, so its second pays for two packets.
    assert_eq!(drain(&mut manager), [0, 1, 4, 4, 0, 0, 1, 4]);
}

#[test]
fn dwrr_forgets_the_deficit_of_a_queue_that_empties() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM }, None);
    manager.enqueue(0, 0, 0, 100);
    assert_eq!(drain(&mut manager), [0]);
    for slot in 0..3 {
        manager.enqueue(0, 0, slot, 1600);
    }
    manager.enqueue(0, 1, 3, 1600);
    // Its turn ended with its last packet, so queue 1 is next.
    assert_eq!(drain(&mut manager), [1, 0, 0, 0]);
}

#[test]
fn a_paused_queue_resumes_its_turn_with_the_deficit_it_kept() {
    let mut manager = one_port(Scheduler::Dwrr { quantum: QUANTUM }, None);
    for slot in 0..8 {
        manager.enqueue(0, slot as usize / 4, slot, 800);
    }
    let mut order = Vec::new();
    for paused in [0, 1, 1, 1, 0, 0, 0, 0] {
        match manager.select(0, paused) {
            Some(Selection::Packet { queue, .. }) => order.push(queue),
            other => panic!("{other:?}"),
        }
    }
    // Queue 0 sends one packet, misses a round and a half, and comes back with 800 bytes of credit.
    assert_eq!(order, [0, 1, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn a_selected_packet_can_move_to_another_queue() {
    let mut manager = one_port(Scheduler::Strict, None);
    manager.enqueue(0, 9, 17, 1000);
    let selection = manager.select(0, 0);
    assert_eq!(selection, Some(Selection::Packet { slot: 17, queue: 9, length: 1000 }));
    manager.enqueue(0, 2, 17, 1000);
    assert_eq!((manager.queue_bytes(0, 9), manager.queue_bytes(0, 2)), (0, 1000));
}

#[test]
#[should_panic(expected = "port 0 has 32 queues, no queue 32")]
fn a_queue_of_another_port_is_out_of_reach() {
    one_port(Scheduler::Strict, None).enqueue(0, 32, 0, 60);
}
