//! Compares CoDel with the RFC's own program, in which `dequeue` is one loop.

use std::collections::VecDeque;

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const TARGET: u64 = 50;
const INTERVAL: u64 = 1000;
const KIND: Kind = Kind::CompleteSharing;

fn settings() -> Settings {
    let codel = CoDel { target: Nanos(TARGET), interval: Nanos(INTERVAL) };
    Settings { kind: KIND, codel: Some(codel), ..Settings::default() }
}

fn tables() -> OwnedTables {
    let tables = switch(KIND, Ratio::ONE, Ratio::ONE, 0);
    settings().write(&tables);
    tables
}

/// A packet: arrival time and length.
type Packet = (u64, u64);

/// Takes packets from a queue until one is sent. Returns this packet and the dropped packets.
fn dequeue(
    tables: &OwnedTables,
    queue: &mut VecDeque<Packet>,
    now: u64,
) -> (Option<Packet>, Vec<Packet>) {
    let policy = settings().select(Policy::new(ThresholdScheme::Static, MarkingScheme::Off));
    let ingress = arriving(tables, SchemeKind::Pfc, 0, 1000).ingress;
    let egress = tables.egress(0, CLASS);
    let mut dropped = Vec::new();
    loop {
        egress.bytes.store(queue.iter().map(|(_, length)| length).sum());
        let Some((arrived, length)) = queue.pop_front() else { return (None, dropped) };
        let leaving = Leaving {
            ingress: Ingress { policy, ..ingress },
            egress_port: 0,
            queue: QueueId::data(CLASS),
            egress,
            length,
            arrived: Nanos(arrived),
            now: Nanos(now),
            note: 0,
            first_rtt: false,
        };
        match Selected::at_departure(&leaving) {
            None => return (Some((arrived, length)), dropped),
            Some(reason) => assert_eq!(reason, DropReason::Codel),
        }
        dropped.push((arrived, length));
    }
}

/// RFC 8289, Sections 5.2, 5.5 and 5.6.
#[derive(Default)]
struct Rfc {
    queue: VecDeque<Packet>,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    maxpacket: u64,
}

impl Rfc {
    fn dodequeue(&mut self, now: u64) -> (Option<Packet>, bool) {
        let Some((arrived, length)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.maxpacket = self.maxpacket.max(length).max(512);
        let bytes: u64 = self.queue.iter().map(|(_, length)| length).sum();
        let mut ok_to_drop = false;
        if now - arrived < TARGET || bytes <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some((arrived, length)), ok_to_drop)
    }

    fn control_law(&self, from: u64) -> u64 {
        from + (INTERVAL << 16) / (u64::from(self.count) << 32).isqrt()
    }

    fn dequeue(&mut self, now: u64) -> (Option<Packet>, Vec<Packet>) {
        let mut dropped = Vec::new();
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            self.dropping &= ok_to_drop;
            while now >= self.drop_next && self.dropping {
                dropped.extend(packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            dropped.extend(packet);
            (packet, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            let is_recent = now.saturating_sub(self.drop_next) < 16 * INTERVAL;
            self.count = if delta > 1 && is_recent { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        (packet, dropped)
    }
}

proptest! {
    /// Packets arrive faster than they leave, always or mostly, and a queue may run empty.
    #[test]
    fn drops_are_those_of_the_rfc(
        events in vec((0..400u64, prop_oneof![0..3u32, 0..30u32], 60..1500u64), 1..400),
    ) {
        let tables = tables();
        let (mut queue, mut rfc) = (VecDeque::new(), Rfc::default());
        // Time zero is before the first interval.
        let mut now = 1;
        for (wait, count, length) in events {
            now += wait;
            for _ in 0..count {
                queue.push_back((now, length));
                rfc.queue.push_back((now, length));
            }
            prop_assert_eq!(dequeue(&tables, &mut queue, now), rfc.dequeue(now), "at {}", now);
            prop_assert_eq!(&queue, &rfc.queue);
        }
    }
}

/// Drops of a queue that is always too long and sends a packet every 10 ns: the first when the target has been exceeded
/// for one interval, then after one interval, after 1 / sqrt(2) intervals, and so on.
#[test]
fn drops_come_closer_with_the_root_of_their_number() {
    let tables = tables();
    let mut queue: VecDeque<Packet> = (0..1000).map(|_| (0, 1000)).collect();
    let mut drops = Vec::new();
    for instant in (100..6000).step_by(10) {
        let (sent, dropped) = dequeue(&tables, &mut queue, instant);
        assert!(sent.is_some());
        drops.extend(dropped.iter().map(|_| instant));
    }
    // 1100, + 1000, + 707.1, + 577.3, + 500, + 447.2, + 408.2, + 377.9, + 353.6: each rounded down,
    // and due at the next multiple of 10 ns.
    assert_eq!(drops, [1100, 2100, 2810, 3390, 3890, 4340, 4740, 5120, 5470, 5810]);
}

#[test]
fn codel_drops_only_what_the_scheme_does_not() {
    let kind = Kind::Bshare { congestion: NINE_TENTHS, least_bytes: Bytes(0) };
    let with_codel = Settings { kind, alphas: [ratio(1, 2); 8], ..settings() };
    let policy = with_codel.select(Policy::new(ThresholdScheme::Static, MarkingScheme::Off));
    assert_eq!(
        (policy.lossy(), policy.lossy_options),
        (crate::policy::LossyKind::Bshare, OPTION_CODEL)
    );
    let tables = switch(kind, ratio(1, 2), Ratio::ONE, 0);
    with_codel.write(&tables);
    let line =
        state::codel_queue(&tables, tables.config.queue_row(0, QueueId::data(CLASS))).unwrap();
    line.first_above_ns.store(1);
    let egress = tables.egress(0, CLASS);
    egress.bytes.store(9000);
    // Theta is 5000 bytes at 100 Gbit/s, 400 ns.
    for (waited, expected) in
        [(400, Some(DropReason::SojournTime)), (399, Some(DropReason::Codel)), (TARGET - 1, None)]
    {
        let ingress = arriving(&tables, SchemeKind::Pfc, 0, 1000).ingress;
        let leaving = Leaving {
            ingress: Ingress { policy, ..ingress },
            egress_port: 0,
            queue: QueueId::data(CLASS),
            egress,
            length: 1000,
            arrived: Nanos(5000 - waited),
            now: Nanos(5000),
            note: 0,
            first_rtt: false,
        };
        assert_eq!(Selected::at_departure(&leaving), expected, "{waited}");
    }
}

/// A queue re-enters drop state when 1000 packets of 1000 bytes wait. Its count of drops then depends on its earlier
/// drops.
#[test]
fn drop_state_begins_where_it_was_if_that_is_recent() {
    const LAST: u64 = 5000;
    // (count, last count, now, count afterwards)
    for (count, last_count, now, expected) in [
        (7, 3, LAST, 4),
        (7, 3, LAST + 16 * INTERVAL - 1, 4),
        (7, 3, LAST + 16 * INTERVAL, 1),
        (5, 3, LAST, 2),
        (4, 3, LAST, 1),
        (3, 3, LAST, 1),
    ] {
        let tables = tables();
        let row = tables.config.queue_row(0, QueueId::data(CLASS));
        let line = state::codel_queue(&tables, row).unwrap();
        line.first_above_ns.store(1);
        line.drop_next_ns.store(LAST);
        line.count.store(count);
        line.last_count.store(last_count);
        let mut queue: VecDeque<Packet> = (0..1000).map(|_| (0, 1000)).collect();
        assert_eq!(dequeue(&tables, &mut queue, now).1, [(0, 1000)]);
        assert_eq!((line.count.load(), line.last_count.load()), (expected, expected), "{now}");
        let next = now + (INTERVAL << 16) / (u64::from(expected) << 32).isqrt();
        assert_eq!(line.drop_next_ns.load(), next);
    }
}

/// The bytes behind the packet are at most the longest packet so far, so its delay never counts as above the target.
#[test]
fn a_queue_of_one_longest_packet_is_not_above_the_target() {
    // (longest so far, length, behind, above)
    for (longest, length, behind, above) in [
        (0, 60, 512, false),
        (0, 60, 513, true),
        (0, 1000, 1000, false),
        (0, 1000, 1001, true),
        (1500, 1000, 1500, false),
        (1500, 1000, 1501, true),
    ] {
        let tables = tables();
        let row = tables.config.queue_row(0, QueueId::data(CLASS));
        let line = state::codel_queue(&tables, row).unwrap();
        line.longest_packet.store(longest);
        let mut queue = VecDeque::from([(0, length), (0, behind)]);
        assert_eq!(dequeue(&tables, &mut queue, 2000), (Some((0, length)), vec![]));
        let expected = if above { 2000 + INTERVAL } else { 0 };
        assert_eq!(line.first_above_ns.load(), expected, "{longest}, {length}, {behind}");
    }
}
