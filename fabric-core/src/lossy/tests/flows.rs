//! FAB and IB: tables of their decisions for packets of several flows.

use super::*;
use crate::frame::Ipv4Fields;
use crate::lossy::state::FairQueueLine;
use crate::map_abi::SwitchState;
use crate::marking::random_q48;

const IDLE: u64 = 5000;
/// A table of one set.
const FLOWS: FlowTable = FlowTable { flows: 4, idle: Nanos(IDLE) };

fn fields(flow: u32) -> Ipv4Fields {
    Ipv4Fields { ports: flow, type_of_service: CLASS << 5, ..Ipv4Fields::default() }
}

/// Sends a packet of `length` bytes of a flow to a queue with `queued` bytes. Returns the queue that it joins, and the
/// decision.
fn send(
    tables: &OwnedTables,
    kind: Kind,
    [now, flow, length, queued]: [u64; 4],
) -> (u8, Result<(), DropReason>) {
    let packet = arriving(tables, SchemeKind::Pfc, 0, length);
    let (fields, now) = (fields(flow as u32), Nanos(now));
    let ingress = Ingress { policy: policy(kind), ..packet.ingress };
    let queue = Selected::queue(&ingress, 0, now, &fields, packet.queue);
    let egress = tables.egress(0, queue.number());
    egress.bytes.store(queued);
    let packet = Arriving { ingress, queue, egress, fields: &fields, now, ..packet };
    (queue.number(), Selected::admit(&packet))
}

/// alpha 1/2, for short flows 1, and 8000 bytes free: thresholds of 4000 and 8000 bytes. A flow is short below 3000
/// bytes.
#[test]
fn fab_has_a_larger_alpha_for_what_short_flows_send_first() {
    let kind = Kind::FlowAware { short_bytes: Bytes(3000), flows: FLOWS };
    let tables = switch(kind, ratio(1, 2), ratio(1, 1), 0);
    tables.switch.shared_bytes.store(2000);
    for (row, outcome) in [
        // At, flow, length, bytes in its queue.
        ([0, 1, 1000, 3001], Ok(())),
        ([1, 1, 1000, 7001], OVER),
        ([2, 2, 2999, 5001], Ok(())),
        ([3, 2, 1, 4000], OVER),
        ([3, 2, 1, 3999], Ok(())),
        // The packet that was dropped counts, so these are bytes 2001 to 3000 of the flow.
        ([4, 1, 1000, 3001], OVER),
        ([4, 1, 1000, 3000], Ok(())),
        // Silent for exactly the limit, and longer.
        ([4 + IDLE, 1, 1000, 3001], OVER),
        ([5 + 2 * IDLE, 1, 1000, 3001], Ok(())),
        ([5 + 2 * IDLE, 1, 1000, 3001], Ok(())),
        ([5 + 2 * IDLE, 1, 1000, 3001], OVER),
    ] {
        assert_eq!(send(&tables, kind, row), (CLASS, outcome), "{row:?}");
    }
    assert_eq!(flow_table::replaced_flows(&tables), 0);
}

/// Counts of a flow's entry after one of its packets.
fn counted(tables: &OwnedTables, now: u64, flow: u32) -> (u32, u32) {
    let at = Ingress::new(tables, policy(Kind::DynamicThreshold), 0, Priority::new(CLASS)).unwrap();
    let entry = flow_table::count(&at, &fields(flow), 100, Nanos(now)).unwrap();
    (entry.packets.load(), entry.bytes.load())
}

#[test]
fn a_new_flow_gets_the_entry_that_has_been_silent_for_longest() {
    let kind = Kind::FlowAware { short_bytes: Bytes(3000), flows: FLOWS };
    let tables = switch(kind, Ratio::ONE, Ratio::ONE, 0);
    // At, flow, packets since it was last silent, flows that were replaced.
    for (now, flow, packets, replaced) in [
        (0, 1, 1, 0),
        (1, 2, 1, 0),
        (2, 3, 1, 0),
        (3, 4, 1, 0),
        (4, 1, 2, 0),
        // No entry is free: flow 2 has been silent for longest.
        (5, 5, 1, 1),
        (6, 1, 3, 1),
        (7, 2, 1, 2),
        (8, 4, 2, 2),
        // Flow 5 has been silent for exactly the limit, flow 1 for longer.
        (5 + IDLE, 3, 1, 3),
        (7 + IDLE, 6, 1, 3),
        (7 + IDLE, 2, 2, 3),
    ] {
        assert_eq!(counted(&tables, now, flow), (packets, packets * 100), "flow {flow} at {now}");
        assert_eq!(flow_table::replaced_flows(&tables), replaced, "flow {flow} at {now}");
    }
}

#[test]
fn flows_are_spread_over_the_sets_of_a_table() {
    let flows = FlowTable { flows: 512, ..FLOWS };
    let kind = Kind::FlowAware { short_bytes: Bytes(3000), flows };
    let tables = switch(kind, Ratio::ONE, Ratio::ONE, 0);
    for flow in 0..200 {
        counted(&tables, 0, flow);
    }
    let kept = (0..200).filter(|flow| counted(&tables, 0, *flow).0 == 2).count();
    // 200 flows in 128 sets: with uniform hashes, 96 % of them find room in their set.
    assert!(kept > 170, "{kept}");
}

#[test]
fn what_a_flow_has_sent_has_an_end() {
    let kind = Kind::FlowAware { short_bytes: Bytes(3000), flows: FLOWS };
    let tables = switch(kind, Ratio::ONE, Ratio::ONE, 0);
    let at = Ingress::new(&tables, policy(kind), 0, Priority::new(CLASS)).unwrap();
    let entry = flow_table::count(&at, &fields(1), 100, Nanos(0)).unwrap();
    entry.bytes.store(u32::MAX - 50);
    assert_eq!(counted(&tables, 1, 1).1, u32::MAX);
}

const FAIR: FairDropping = FairDropping {
    shares: FairShares::Queues,
    window: Nanos(1000),
    windows: 15,
    first_share: Bytes(40_000),
    desired: Bytes(2000),
    least_bytes: Bytes(3000),
    ..FairDropping::DEFAULT
};

fn fair(shares: FairShares) -> Kind {
    let fair_dropping = Some(FairDropping { shares, ..FAIR });
    Kind::Intelligent { fair_dropping, prioritisation: None, flows: FLOWS }
}

fn fair_line(tables: &OwnedTables) -> &FairQueueLine {
    let row = tables.config.queue_row(0, QueueId::data(CLASS));
    state::fair_queue(tables, row).unwrap()
}

/// `M_fair` falls by 1.8 times the queue and rises by 1.7 times the previous queue, each beyond
/// 2000 bytes: with a constant queue, by a tenth of its difference from 2000 bytes.
#[test]
fn ib_computes_fair_shares_at_the_first_arrival_after_a_window() {
    let kind = fair(FairShares::Queues);
    let tables = switch(kind, ratio(100, 1), Ratio::ONE, 0);
    let line = fair_line(&tables);
    // Time, bytes of the packet and of its queue; M_fair, bytes that arrived in the last window and in this one.
    for (now, length, queued, share, before, running) in [
        (0, 1000, 0, 40_000, 0, 1000),
        (999, 500, 5000, 40_000, 0, 1500),
        (1000, 700, 2000, 36_600, 1500, 700),
        (1999, 700, 9000, 36_600, 1500, 1400),
        // 36,600 + 1.7 x (2000 - 2000) - 1.8 x (9000 - 2000).
        (2500, 300, 9000, 24_000, 1400, 300),
        (3499, 300, 9000, 24_000, 1400, 600),
        // 24,000 + 1.7 x 7000 - 1.8 x (-2000).
        (9000, 100, 0, 39_500, 600, 100),
        // + 1.7 x (-2000) - 1.8 x (-2000).
        (10_000, 100, 0, 39_700, 100, 100),
        // + 1.7 x (-2000) - 1.8 x 98,000: below zero.
        (11_000, 100, 100_000, 0, 100, 100),
    ] {
        let (queue, _) = send(&tables, kind, [now, 1, length, queued]);
        assert_eq!(queue, CLASS);
        let got = (line.share_bytes.load(), line.arrived_before.load(), line.arrived_bytes.load());
        assert_eq!(got, (share, before, running), "at {now}");
    }
}

/// Number of 4096 packets dropped, each with the next random number, and whether numbers were drawn.
fn drawn(kind: Kind, arrived: u32, share: u64, queued: u64) -> (usize, bool) {
    let tables = switch(kind, ratio(100, 1), Ratio::ONE, 0);
    tables.switch.random.store(1);
    let line = fair_line(&tables);
    line.share_bytes.store(share);
    line.arrived_before.store(arrived);
    let drop = Err(DropReason::FairDrop);
    let of = |_: &u32| send(&tables, kind, [1, 1, 1000, queued]).1 == drop;
    let dropped = (0..4096).filter(of).count();
    (dropped, tables.switch.random.load() != 1)
}

#[test]
fn ib_drops_what_is_beyond_a_fair_share() {
    // Arrived in the last window, M_fair, bytes in the queue; probability in percent.
    for (arrived, share, queued, percent) in [
        (1000, 15_000, 9000, 0),
        (1000, 15_001, 9000, 0),
        (1000, 7500, 9000, 50),
        (1000, 3750, 9000, 75),
        (1000, 13_500, 3001, 10),
        (1000, 0, 9000, 100),
        // A queue below the min length for drops.
        (1000, 7500, 3000, 0),
        (0, 0, 9000, 0),
        // Products beyond 32 bits.
        (u32::MAX, 15 * u64::from(u32::MAX) / 2, 9000, 50),
        (u32::MAX, 15 * u64::from(u32::MAX), 9000, 0),
    ] {
        let (dropped, draws) = drawn(fair(FairShares::Queues), arrived, share, queued);
        // Four standard deviations of 4096 trials at 0.5 are 128.
        assert!(dropped.abs_diff(percent * 4096 / 100) < 129, "{arrived}, {share}: {dropped}");
        assert_eq!(draws, percent != 0, "{arrived}, {share}, {queued}");
    }
}

#[test]
fn ib_drops_a_packet_whose_number_is_below_its_probability() {
    for (above, dropped) in [(0, false), (1, true)] {
        let kind = fair(FairShares::Queues);
        let tables = switch(kind, ratio(100, 1), Ratio::ONE, 0);
        let same = SwitchState::default();
        tables.switch.random.store(5);
        same.random.store(5);
        let number = random_q48(&same) >> 28;
        let line = fair_line(&tables);
        let arrived = u64::from(u32::MAX / 15) * 15;
        line.arrived_before.store(u32::MAX / 15);
        let beyond = ((number * arrived) >> 20) + above;
        line.share_bytes.store(arrived - beyond);
        let got = send(&tables, kind, [1, 1, 1000, 9000]).1;
        assert_eq!(got, if dropped { Err(DropReason::FairDrop) } else { Ok(()) }, "{above}");
    }
}

#[test]
fn ib_drops_by_threshold_what_it_would_not_drop_by_chance() {
    let kind = fair(FairShares::Queues);
    let tables = switch(kind, ratio(1, 2), Ratio::ONE, 0);
    tables.switch.random.store(1);
    assert_eq!(send(&tables, kind, [0, 1, 1000, 4001]).1, OVER);
    assert_eq!(fair_line(&tables).arrived_bytes.load(), 1000, "it has arrived");
    tables.switch.shared_bytes.store(9500);
    let tables = switch(kind, ratio(100, 1), Ratio::ONE, 0);
    tables.switch.shared_bytes.store(9500);
    assert_eq!(send(&tables, kind, [0, 1, 1000, 4001]).1, FULL);
}

/// Flow 1 is an elephant from its third packet on; flow 2 is not.
#[test]
fn ib_by_flow_counts_and_drops_elephants_alone() {
    let kind = fair(FairShares::Elephants(Bytes(3000)));
    let tables = switch(kind, ratio(100, 1), Ratio::ONE, 0);
    tables.switch.random.store(1);
    let drop = Err(DropReason::FairDrop);
    let line = fair_line(&tables);
    // At, flow, bytes in the queue; outcome. The fair share is zero from the second window on.
    line.share_bytes.store(0);
    for ([now, flow, queued], outcome) in [
        ([0, 1, 9000], Ok(())),
        ([1, 1, 9000], Ok(())),
        ([2, 1, 9000], Ok(())),
        ([3, 2, 9000], Ok(())),
        ([1000, 1, 9000], drop),
        ([1001, 2, 9000], Ok(())),
        ([1002, 1, 3000], Ok(())),
        ([2000, 1, 9000], drop),
        // Only the last window counts, not the window before it.
        ([3000, 3, 9000], Ok(())),
        ([4000, 4, 9000], Ok(())),
        ([4001, 1, 9000], Ok(())),
        ([5000, 1, 9000], drop),
        // The flow was silent.
        ([5001 + IDLE, 1, 9000], Ok(())),
        ([6001 + IDLE, 1, 9000], Ok(())),
    ] {
        let got = send(&tables, kind, [now, flow, 1000, queued]).1;
        assert_eq!(got, outcome, "flow {flow} at {now}");
        assert_eq!(line.arrived_bytes.load(), 0, "that of the queue is not counted");
    }
}

/// Two packets of a flow join the queue of priority 0, whose alpha is 1; the other packets' alpha is 1/2.
#[test]
fn ib_gives_the_first_packets_of_flows_another_queue_and_its_alpha() {
    let first = Prioritisation { packets: 2, priority: Priority::new(0) };
    let generous = FairDropping { first_share: Bytes(1 << 40), ..FAIR };
    for fair_dropping in [None, Some(generous)] {
        let kind = Kind::Intelligent { fair_dropping, prioritisation: Some(first), flows: FLOWS };
        let tables = switch(kind, ratio(1, 2), Ratio::ONE, 0);
        let line = state::priority(&tables, Priority::new(0)).unwrap();
        line.alpha_denominator.store(1);
        tables.switch.shared_bytes.store(2000);
        for (row, queue, outcome) in [
            ([0, 1, 1000, 7000], 0, Ok(())),
            // Dropped packets count.
            ([1, 1, 1000, 7001], 0, OVER),
            ([2, 1, 1000, 3001], CLASS, OVER),
            ([3, 1, 1000, 3000], CLASS, Ok(())),
            ([4, 2, 1000, 7000], 0, Ok(())),
            ([3 + IDLE, 1, 1000, 0], CLASS, Ok(())),
            ([4 + 2 * IDLE, 1, 1000, 7000], 0, Ok(())),
        ] {
            assert_eq!(send(&tables, kind, row), (queue, outcome), "{row:?}");
        }
    }
}

/// The first packets of a flow never count for an elephant, however long they are.
#[test]
fn ib_drops_no_first_packets_by_flow() {
    let first = Prioritisation { packets: 2, priority: Priority::new(0) };
    let shares = FairShares::Elephants(Bytes(0));
    let fair_dropping = Some(FairDropping { shares, first_share: Bytes(0), ..FAIR });
    let kind = Kind::Intelligent { fair_dropping, prioritisation: Some(first), flows: FLOWS };
    let tables = switch(kind, ratio(100, 1), Ratio::ONE, 0);
    tables.switch.random.store(1);
    let drop = Err(DropReason::FairDrop);
    for (now, outcome) in [(0, Ok(())), (1000, Ok(())), (2000, Ok(())), (3000, drop), (4000, drop)]
    {
        assert_eq!(send(&tables, kind, [now, 1, 1000, 9000]).1, outcome, "at {now}");
    }
}

#[test]
fn a_flow_table_is_there_if_flows_are_counted() {
    let lines: Vec<u32> = Settings::every().map(|settings| settings.flow_lines()).collect();
    assert_eq!(lines, [0, 0, 0, 0, 2048, 0, 2048, 2048, 2048, 2048]);
}

#[test]
#[should_panic(expected = "lossy packets join queues of lossy priorities only")]
fn lossless_queues_take_no_lossy_packets() {
    let mut tables = switch(Kind::DynamicThreshold, Ratio::ONE, Ratio::ONE, 0);
    tables.config.lossless_classes = 1;
    Settings { kind: Kind::EVERY[9], ..Settings::default() }.write(&tables);
}

#[test]
#[should_panic(expected = "a table has whole sets")]
fn a_flow_table_has_whole_sets() {
    let flows = FlowTable { flows: 12, ..FLOWS };
    switch(Kind::FlowAware { short_bytes: Bytes(1), flows }, Ratio::ONE, Ratio::ONE, 0);
}
