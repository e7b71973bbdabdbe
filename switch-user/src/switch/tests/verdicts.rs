//! Decisions of a scheme about a packet whose turn it is.

use fabric_core::map_abi::{Pool, SchemeLine};
use fabric_core::queue::{QueueId, QueueSet};
use fabric_core::scheme::pfc::Pfc;
use fabric_core::scheme::{Announces, Arriving, Changes, Ingress, Leaving, Verdict, Watched};
use fabric_core::tables::Tables;

use super::*;

const NOW: Picos = Picos(1_000_000);
/// Lengths of packets by which [`Test`] decides about them.
const DROPPED: u32 = 1001;
const MOVED: u32 = 1002;
const MOVED_TWICE: u32 = 1003;
const MOVED_FOR_EVER: u32 = 1004;
const REASON: DropReason = DropReason::HeadroomPoolExhausted;
/// Queues beside those of the classes.
const BACKUPS: [QueueId; 2] = [QueueId::data(9), QueueId::data(10)];

/// PFC with verdicts. A mask in its state holds back data queues.
struct Test;

fn held<T: Tables>(tables: &T) -> Option<&SchemeLine> {
    tables.scheme_line(0)
}

impl Announces for Test {
    fn paused<T: Tables>(tables: &T, _policy: Policy, _port: u32, _now: Nanos) -> Option<QueueSet> {
        let mask = held(tables)?.0[0].load();
        Some(QueueSet::from_flow_queues(mask.into()))
    }
}

impl Watched for Test {}

impl Scheme for Test {
    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        Pfc::admit(packet)
    }

    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        Pfc::after_arrival(packet, pool, send);
    }

    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Verdict {
        let [first, second] = BACKUPS;
        let length = u32::try_from(packet.length).expect("a frame's length");
        match length {
            DROPPED => Verdict::Drop(REASON),
            MOVED if packet.queue != first => Verdict::Requeue(first),
            MOVED_TWICE if packet.queue == first => Verdict::Requeue(second),
            MOVED_TWICE if packet.queue != second => Verdict::Requeue(first),
            MOVED_FOR_EVER => Verdict::Requeue(packet.queue),
            _ => Verdict::Send(Changes::default()),
        }
    }

    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        Pfc::after_departure(packet, send);
    }

    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        Pfc::resume(at)
    }
}

impl Bench<Test> {
    fn under_test() -> Self {
        Self::with(&SchemeSettings::default())
    }

    fn hold(&self, queues: &[QueueId]) {
        let mask = queues.iter().fold(0, |mask, queue| mask | 1 << queue.number());
        held(self.switch.tables()).expect("a scheme has a line").0[0].store(mask);
    }

    /// Receives packets of these lengths from [`IN`] to [`OUT`].
    fn cross(&mut self, lengths: &[u32]) {
        for &length in lengths {
            self.packet(NOW, [IN, OUT], CLASS, length);
        }
    }

    /// Bytes in a queue of [`OUT`] by the switch's tables and by the traffic manager.
    fn bytes(&self, queue: QueueId) -> [u64; 2] {
        let (tables, queues) = (self.switch.tables(), self.switch.queues());
        [tables.egress_bytes(OUT.into(), queue), queues.queue_bytes(OUT.into(), queue)]
    }
}

const fn sent(frame: u32, length: u32, queue: QueueId, more: bool) -> Sent {
    Sent::Packet(Transmission { frame, length, queue, mark: false, more })
}

#[test]
fn a_dropped_packet_gives_back_what_it_held_and_the_next_one_goes() {
    let mut bench = Bench::under_test();
    bench.cross(&[DROPPED, LENGTH]);
    bench.observed();
    assert_eq!(bench.sends(NOW, OUT), Some(last(2)));
    let expected = [
        departed([IN, OUT], DROPPED),
        Event::Dropped { port: IN, reason: REASON, priority: Some(CLASS), length: DROPPED },
        departed([IN, OUT], LENGTH),
    ];
    assert_eq!(bench.observed(), expected);
    assert_eq!((bench.discarded(), bench.switch.tables().dropped(REASON)), (vec![1], 1));
    assert!(bench.is_empty());
}

#[test]
fn a_port_whose_packets_are_all_dropped_sends_nothing() {
    let mut bench = Bench::under_test();
    bench.cross(&[DROPPED, DROPPED]);
    assert_eq!(bench.sends(NOW, OUT), None);
    assert_eq!((bench.discarded().len(), bench.switch.tables().dropped(REASON)), (2, 2));
    assert!(bench.is_empty());
}

#[test]
fn a_packet_that_is_dropped_may_resume_its_queue() {
    let mut bench = Bench::under_test();
    bench.cross(&[DROPPED, LENGTH, LENGTH]);
    assert_eq!(bench.sends(NOW, IN), Some(pause(IN, CLASS.bit())));
    assert_eq!(bench.sends(NOW, OUT), Some(packet(2)));
    assert_eq!(bench.woken(), [IN]);
    assert_eq!(bench.sends(NOW, IN), Some(resume(IN, CLASS.bit())));
}

/// The packets leave by their ingress port.
#[test]
fn a_resume_goes_ahead_of_the_packets_behind_a_dropped_one() {
    let mut bench = Bench::under_test();
    for length in [DROPPED, LENGTH, LENGTH] {
        bench.packet(NOW, [IN, IN], CLASS, length);
    }
    assert_eq!(bench.sends(NOW, IN), Some(pause(IN, CLASS.bit())));
    assert_eq!(bench.sends(NOW, IN), Some(resume(IN, CLASS.bit())));
    assert_eq!(bench.sends(NOW, IN), Some(packet(2)));
}

#[test]
fn a_packet_that_moves_waits_in_its_new_queue() {
    let [backup, _] = BACKUPS;
    let mut bench = Bench::under_test();
    bench.hold(&[backup]);
    bench.cross(&[MOVED, LENGTH, MOVED]);
    bench.observed();
    assert_eq!(bench.sends(NOW, OUT), Some(packet(2)));
    assert_eq!(bench.sends(NOW, OUT), None);
    assert!(bench.observed().contains(&departed([IN, OUT], LENGTH)));
    let both = 2 * u64::from(MOVED);
    assert_eq!(bench.bytes(backup), [both; 2]);
    assert_eq!(bench.bytes(QueueId::data(CLASS.number())), [0; 2]);
    let queue = bench.switch.tables().ingress(IN.into(), CLASS);
    let held = queue.shared_bytes.load() + queue.headroom_bytes.load();
    assert_eq!(held, both, "they hold their buffer");
    bench.hold(&[]);
    let both = [(1, true), (3, false)].map(|(frame, more)| Some(sent(frame, MOVED, backup, more)));
    assert_eq!([(); 2].map(|()| bench.sends(NOW, OUT)), both);
    assert_eq!(bench.woken(), [IN]);
    assert_eq!(bench.sends(NOW, IN), Some(resume(IN, CLASS.bit())));
    assert!(bench.discarded().is_empty() && bench.is_empty());
}

/// One packet goes through both backup queues before its port has no packet to send.
#[test]
fn a_packet_may_move_more_than_once_at_a_time() {
    let [first, second] = BACKUPS;
    let mut bench = Bench::under_test();
    bench.hold(&[second]);
    bench.cross(&[MOVED_TWICE]);
    assert_eq!(bench.sends(NOW, OUT), None);
    let bytes = [first, second].map(|queue| bench.bytes(queue)[0]);
    assert_eq!(bytes, [0, MOVED_TWICE.into()]);
    bench.hold(&[]);
    assert_eq!(bench.sends(NOW, OUT), Some(sent(1, MOVED_TWICE, second, false)));
    assert!(bench.is_empty());
}

#[test]
#[should_panic(expected = "port 2: the scheme moves packets from queue to queue without end")]
fn a_packet_that_moves_for_ever_is_noticed() {
    let mut bench = Bench::under_test();
    bench.cross(&[MOVED_FOR_EVER]);
    bench.sends(NOW, OUT);
}
