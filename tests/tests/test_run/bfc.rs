//! BFC frame by frame: the same rows on the eBPF program, through `BPF_PROG_TEST_RUN`, and on the native
//! functions. Needs root.

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{HopControl, Order, PauseLevel};
use fabric_core::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::queue::{QueueId, QueueRange};
use fabric_core::scheme::bfc::{Options, Settings, state as bfc};
use fabric_core::wire::roce::Ecn;
use tests::switch::frame::{bytes, data, hop_control_bytes, inbound};
use tests::switch::{Arrival, BfcState, State, Twins, in_namespace};
use units::Nanos;

/// Frames come in here.
const PORT: u32 = 1;
/// Egress port of the packets.
const EGRESS: u32 = 2;
const NOW: u64 = 1 << 45;
const STICKY: u64 = 100;
/// Length of a packet with 1000 bytes of payload.
const LENGTH: u64 = 1058;
/// Threshold of a queue that is alone, 12.5 bytes a nanosecond.
const THRESHOLD: u64 = 2000;
const QUEUES: QueueRange = QueueRange::flow_queues(8, 2);

/// A packet of the flow with this source port that has left a queue of the neighbour, by its place; 0 for no queue.
fn packet(flow: u16, place: u8) -> Vec<u8> {
    let mut packet = data(EGRESS, 3, Ecn::NotCapable, 1000);
    packet.source_port = flow;
    let mut frame = bytes(&packet, &inbound(PORT));
    frame[8] = place;
    frame
}

const fn place(queue: u8) -> u8 {
    QueueId::data(queue).place() as u8
}

fn twins() -> Twins {
    twins_with(Options::EVERY[0], &[])
}

/// Twins with egress ports to which packets from [`PORT`] trigger no backpressure.
fn twins_with(options: Options, elided: &[u32]) -> Twins {
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off)
        .with_scheme(SchemeKind::Bfc, options.to_bits());
    let mut twins = Twins::load(policy);
    let threshold = Nanos(THRESHOLD * 2 / 25);
    let settings = Settings { options, sticky: Nanos(STICKY), threshold, ..Settings::default() };
    let mut bfc = BfcState::fresh(settings);
    bfc.ports[PORT as usize].elided = elided.to_vec();
    let mut state = State { bfc: Some(bfc), ..State::fresh() };
    state.config.queues[3] = QUEUES;
    twins.reset(&state);
    twins
}

/// An arrival, and if the packet is queued its slot and queue.
fn arrive(twins: &mut Twins, after: u64, frame: &[u8]) -> (Arrival, Option<(u32, QueueId)>) {
    let now = Nanos(NOW + after);
    let arrival = twins.arrive(PORT, now, frame).unwrap_or_else(|error| panic!("{error}"));
    let queued = match arrival.outcome {
        Outcome::Queued(queued) => Some((queued.slot, queued.queue)),
        _ => None,
    };
    (arrival, queued)
}

/// Queues a packet; returns its slot, its queue, and the orders to the neighbour.
fn queue(twins: &mut Twins, after: u64, frame: &[u8]) -> (u32, QueueId, Vec<Order>) {
    let (arrival, queued) = arrive(twins, after, frame);
    let (slot, queue) = queued.unwrap_or_else(|| panic!("{arrival:?}"));
    let (_, sent) = arrival.queued.as_ref().expect("a queued packet has bytes");
    assert_eq!(usize::from(sent[8]), queue.place(), "the next switch reads the queue");
    (slot, queue, arrival.orders())
}

fn depart(twins: &mut Twins, after: u64, slot: u32) -> Vec<Order> {
    let departure =
        twins.depart(slot, Nanos(NOW + after)).unwrap_or_else(|error| panic!("{error}"));
    departure.expect("the slot holds a packet").1
}

/// Delivers a hop control frame of the neighbour; returns its outcome.
fn receive(twins: &mut Twins, control: HopControl) -> Outcome {
    arrive(twins, 0, &hop_control_bytes(inbound(PORT).source, control)).0.outcome
}

/// An order for a queue of the neighbour, of whose packets the switch holds `packets`, all of them in the queue.
fn order(queue: u8, paused: bool, packets: u64, threshold: u64) -> Order {
    Order {
        control: HopControl::Queue { queue: QueueId::data(queue), paused },
        level: PauseLevel::Queue,
        resumes: !paused,
        pause: 0,
        occupancy_bytes: packets * LENGTH,
        threshold_bytes: threshold,
        // The ingress queue's private buffer has room for two.
        shared_free_bytes: 100_000 - packets.saturating_sub(2) * LENGTH,
    }
}

#[test]
fn a_queue_is_paused_from_its_first_packet_beyond_th_to_its_last() {
    in_namespace(|| {
        let mut twins = twins();
        let mut next = |place| queue(&mut twins, 0, &packet(1, place));
        let (first, _, orders) = next(place(9));
        assert_eq!(orders, [], "{LENGTH} bytes");
        let (second, _, orders) = next(place(9));
        assert_eq!(orders, [order(9, true, 2, THRESHOLD)], "0 -> 1");
        let (third, _, orders) = next(place(9));
        assert_eq!(orders, [], "1 -> 2");
        let (fourth, _, orders) = next(place(127));
        assert_eq!(orders, [order(127, true, 4, THRESHOLD)], "another queue");
        assert_eq!(depart(&mut twins, 0, first), [], "it does not count");
        assert_eq!(depart(&mut twins, 0, second), [], "2 -> 1");
        assert_eq!(depart(&mut twins, 0, third), [order(9, false, 1, THRESHOLD)], "1 -> 0");
        assert_eq!(depart(&mut twins, 0, fourth), [order(127, false, 0, THRESHOLD)]);
    });
}

#[test]
fn a_pause_is_sent_as_a_frame() {
    in_namespace(|| {
        let mut twins = twins();
        queue(&mut twins, 0, &packet(1, place(9)));
        let (arrival, _) = arrive(&mut twins, 0, &packet(1, place(9)));
        let control = HopControl::Queue { queue: QueueId::data(9), paused: true };
        let frames: Vec<_> = arrival.control.iter().map(|(_, frame)| frame).collect();
        assert_eq!(frames, [&hop_control_bytes(inbound(PORT).destination, control)]);
    });
}

#[test]
fn a_packet_that_names_no_queue_pauses_nothing() {
    in_namespace(|| {
        let mut twins = twins();
        // Places beyond 128 are of no data queue that a port can have.
        for place in [0, 129, 200, 255] {
            for _ in 0..3 {
                assert_eq!(queue(&mut twins, 0, &packet(1, place)).2, [], "place {place}");
            }
        }
        assert_eq!(queue(&mut twins, 0, &packet(1, 128)).2, [order(127, true, 13, THRESHOLD)]);
    });
}

#[test]
fn a_packet_whose_turn_is_elided_pauses_nothing_and_resumes_nothing() {
    in_namespace(|| {
        for (elided, pauses) in [(&[0, 1, 3][..], true), (&[EGRESS], false), (&[], true)] {
            let mut twins = twins_with(Options { elides: true, ..Options::EVERY[0] }, elided);
            let (first, ..) = queue(&mut twins, 0, &packet(1, place(9)));
            let (second, _, orders) = queue(&mut twins, 0, &packet(1, place(9)));
            assert_eq!(!orders.is_empty(), pauses, "{elided:?}");
            depart(&mut twins, 0, first);
            assert_eq!(!depart(&mut twins, 0, second).is_empty(), pauses, "{elided:?}");
        }
    });
}

#[test]
fn a_flow_keeps_its_queue_while_it_has_packets_and_a_moment_longer() {
    in_namespace(|| {
        let mut twins = twins();
        let (first, own, _) = queue(&mut twins, 0, &packet(1, 0));
        let other = QUEUES.iter().find(|queue| *queue != own).expect("there are two");
        // The neighbour at the egress port pauses it: no new flow would get it.
        let control = HopControl::Queue { queue: own, paused: true };
        let frame = hop_control_bytes(inbound(EGRESS).source, control);
        twins.arrive(EGRESS, Nanos(NOW), &frame).unwrap_or_else(|error| panic!("{error}"));
        let (second, again, _) = queue(&mut twins, 10 * STICKY, &packet(1, 0));
        assert_eq!(again, own, "it has packets");
        depart(&mut twins, 10 * STICKY, first);
        depart(&mut twins, 20 * STICKY, second);
        let (third, again, _) = queue(&mut twins, 21 * STICKY, &packet(1, 0));
        assert_eq!(again, own, "it had some until {STICKY} ns ago");
        depart(&mut twins, 21 * STICKY, third);
        let (_, moved, _) = queue(&mut twins, 22 * STICKY + 1, &packet(1, 0));
        assert_eq!(moved, other, "empty and not paused");
    });
}

#[test]
fn flows_share_queues_when_all_are_in_use() {
    in_namespace(|| {
        let mut twins = twins();
        let mut of = |flow| queue(&mut twins, 0, &packet(flow, place(9)));
        let (first, second) = (of(1), of(2));
        assert_ne!(first.1, second.1, "each has its own");
        assert_eq!(
            second.2,
            [order(9, true, 1, THRESHOLD / 2)]
                .map(|order| Order { shared_free_bytes: 100_000, ..order }),
            "two active queues share the rate"
        );
        for flow in 3..40 {
            let (_, queue, _) = of(flow);
            assert!(QUEUES.iter().any(|own| own == queue), "flow {flow}: queue {queue}");
        }
    });
}

#[test]
fn a_bitmap_replaces_all_pauses() {
    in_namespace(|| {
        let mut twins = twins();
        for (queue, paused) in [(8, true), (70, true), (8, false)] {
            let control = HopControl::Queue { queue: QueueId::data(queue), paused };
            assert_eq!(receive(&mut twins, control), Outcome::ControlReceived(control));
        }
        let paused = |twins: &Twins, port| {
            bfc::port(twins.kernel.tables(), port).expect("a port").paused.words()
        };
        assert_eq!(paused(&twins, PORT), [0, 1 << 6]);
        let control = HopControl::Queues { paused: [1 << 9, 1 << 63] };
        assert_eq!(receive(&mut twins, control), Outcome::ControlReceived(control));
        assert_eq!(paused(&twins, PORT), [1 << 9, 1 << 63]);
        assert_eq!(paused(&twins, EGRESS), [0, 0]);
    });
}

#[test]
fn hop_control_that_is_wrong_is_dropped_by_name() {
    let control = HopControl::Queue { queue: QueueId::data(9), paused: true };
    let frame = hop_control_bytes(inbound(PORT).source, control);
    let with = |at: usize, value| {
        let mut frame = frame.clone();
        frame[at] = value;
        frame
    };
    let rate = HopControl::Rate { priority: Priority::new(3), kilobits_per_second: 1 };
    let rows = [
        ("a queue that no port has", with(18, 128), DropReason::BadHopControl),
        ("neither a pause nor a resume", with(19, 2), DropReason::BadHopControl),
        ("kind 0", with(17, 0), DropReason::BadHopControl),
        ("kind 5", with(17, 5), DropReason::BadHopControl),
        ("a rate", hop_control_bytes(inbound(PORT).source, rate), DropReason::UnexpectedHopControl),
    ];
    in_namespace(|| {
        let mut twins = twins();
        for (about, frame, reason) in rows {
            let outcome = arrive(&mut twins, 0, &frame).0.outcome;
            assert_eq!(outcome, Outcome::Dropped(reason), "{about}");
        }
        let port = bfc::port(twins.kernel.tables(), PORT).expect("a port");
        assert_eq!(port.paused.words(), [0, 0]);
    });
}
