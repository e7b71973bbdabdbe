//! Tables of the decisions of each scheme.

use super::congestion::Congestion;
use super::state::{ONE_QUEUE, WHOLE_RATE};
use super::*;
use crate::admission::tests::{CLASS, arriving, idle};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
use crate::queue::QueueRange;
use crate::tables::owned::OwnedTables;
use units::Bytes;

mod codel;
mod flows;
mod model;
mod steady_state;

const fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio { numerator, denominator }
}

/// A switch with a shared pool of 10,000 bytes, and one alpha for all priorities.
fn switch(kind: Kind, alpha: Ratio, first_rtt_alpha: Ratio, own_pool: u64) -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 10_000,
        lossy_pool_bytes: own_pool,
        ..SwitchConfig::default()
    };
    let tables = idle(config, 10_000);
    let settings = Settings {
        kind,
        alphas: [alpha; 8],
        first_alphas: [first_rtt_alpha; 8],
        period: Some(Nanos(80_000)),
        codel: None,
    };
    settings.write(&tables);
    tables
}

fn policy(kind: Kind) -> Policy {
    let plain = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
    Settings { kind, ..Settings::default() }.select(plain)
}

/// Result for a packet of 1000 bytes that arrives at an egress queue with `queued` bytes.
fn admitted(
    tables: &OwnedTables,
    kind: Kind,
    first_rtt: bool,
    queued: u64,
) -> Result<(), DropReason> {
    let packet = arriving(tables, SchemeKind::Pfc, 0, 1000);
    let mut fields = *packet.fields;
    if first_rtt {
        fields.type_of_service |= crate::wire::ipv4::FIRST_RTT << 2;
    }
    packet.egress.bytes.store(queued);
    let ingress = Ingress { policy: policy(kind), ..packet.ingress };
    Selected::admit(&Arriving { ingress, fields: &fields, ..packet })
}

const OVER: Result<(), DropReason> = Err(DropReason::LossyThreshold);
const FULL: Result<(), DropReason> = Err(DropReason::LossyBufferFull);

/// T is alpha times the free buffer. The egress queue's bytes count, and the ingress queue's bytes do not.
#[test]
fn dt_admits_by_the_egress_queue() {
    // (alpha, bytes of all, egress queue, ingress queue, outcome)
    for (alpha, of_all, egress, ingress, outcome) in [
        (ratio(1, 2), 4000, 2000, 0, Ok(())),
        (ratio(1, 2), 4000, 2001, 0, OVER),
        (ratio(1, 2), 4000, 4000, 0, OVER),
        (ratio(1, 2), 4000, 0, 4000, Ok(())),
        (ratio(1, 2), 8000, 0, 8000, Ok(())),
        (ratio(1, 2), 8001, 0, 8001, OVER),
        (ratio(4, 1), 9000, 3000, 9000, Ok(())),
        (ratio(4, 1), 9001, 0, 9001, FULL),
    ] {
        let tables = switch(Kind::DynamicThreshold, alpha, Ratio::ONE, 0);
        tables.switch.shared_bytes.store(of_all);
        tables.queue(crate::admission::tests::PORT, CLASS).shared_bytes.store(ingress);
        for first_rtt in [false, true] {
            let got = admitted(&tables, Kind::DynamicThreshold, first_rtt, egress);
            assert_eq!(got, outcome, "{of_all}, {egress}, {ingress} at {alpha:?}");
        }
    }
}

/// Lossy packets with a separate pool use its free bytes, whatever lossless packets hold.
#[test]
fn a_pool_of_their_own_is_what_lossy_packets_share() {
    for (own, lossy, shared, outcome) in [
        (0, 0, 9000, Ok(())),
        (0, 0, 9001, FULL),
        (3000, 2000, 10_000, Ok(())),
        (3000, 2001, 0, FULL),
    ] {
        let tables = switch(Kind::CompleteSharing, Ratio::ONE, Ratio::ONE, own);
        tables.switch.shared_bytes.store(shared);
        tables.switch.lossy_bytes.store(lossy);
        let got = admitted(&tables, Kind::CompleteSharing, false, 0);
        assert_eq!(got, outcome, "{lossy} of {own}, {shared} shared");
    }
}

#[test]
fn cs_admits_as_long_as_there_is_buffer() {
    for (of_all, egress, outcome) in
        [(0, 0, Ok(())), (9000, 9000, Ok(())), (9001, 0, FULL), (10_000, 10_000, FULL)]
    {
        let tables = switch(Kind::CompleteSharing, ratio(1, 64), Ratio::ONE, 0);
        tables.switch.shared_bytes.store(of_all);
        assert_eq!(admitted(&tables, Kind::CompleteSharing, false, egress), outcome);
    }
}

const NINE_TENTHS: Congestion = Congestion::OfThreshold(ratio(9, 10));

/// Alpha 1/2, 8000 bytes free: 4000 bytes, for the drain rate and the congested queues of the row.
#[test]
fn abm_divides_by_congested_queues_and_multiplies_with_the_drain_rate() {
    let kind = Kind::Active(NINE_TENTHS);
    for (congested, drain_rate, threshold, of_first) in [
        (0, WHOLE_RATE, 4000, 8000),
        (ONE_QUEUE, WHOLE_RATE, 4000, 8000),
        (2 * ONE_QUEUE, WHOLE_RATE, 2000, 4000),
        (ONE_QUEUE * 5 / 4, WHOLE_RATE, 3200, 6400),
        (ONE_QUEUE, WHOLE_RATE / 2, 2000, 4000),
        (3 * ONE_QUEUE, WHOLE_RATE / 4, 333, 666),
        (ONE_QUEUE, 0, 0, 0),
    ] {
        let tables = switch(kind, ratio(1, 2), ratio(1, 1), 0);
        tables.switch.shared_bytes.store(2000);
        let priority = Priority::new(CLASS);
        state::priority(&tables, priority).unwrap().congested.store(congested);
        let row = tables.config.queue_row(0, QueueId::data(CLASS));
        state::queue(&tables, row).unwrap().drain_rate.store(drain_rate);
        let at = Egress::new(&tables, policy(kind), 0, QueueId::data(CLASS), priority).unwrap();
        for (first_rtt, expected) in [(false, threshold), (true, of_first)] {
            assert_eq!(Selected::threshold(&at, first_rtt), Some(expected));
            if expected >= 1000 {
                assert_eq!(admitted(&tables, kind, first_rtt, expected - 1000), Ok(()));
                assert_eq!(admitted(&tables, kind, first_rtt, expected - 999), OVER);
            }
        }
    }
}

/// A port of 100 Gbit/s sends 12,500 bytes in a microsecond; it has eight lossy queues.
#[test]
fn abm_takes_an_implausible_drain_rate_as_the_whole() {
    let kind = Kind::Active(NINE_TENTHS);
    let tables = switch(kind, Ratio::ONE, Ratio::ONE, 0);
    let row = tables.config.queue_row(0, QueueId::data(CLASS));
    let line = state::queue(&tables, row).unwrap();
    assert_eq!(line.drain_rate.load(), WHOLE_RATE, "before the first period");
    let mut now = Nanos(0);
    for (sent, expected) in [
        (0, WHOLE_RATE),
        (1562, WHOLE_RATE),
        (1563, WHOLE_RATE * 1563 / 12_500),
        (6250, WHOLE_RATE / 2),
        (12_500, WHOLE_RATE),
        (12_501, WHOLE_RATE),
    ] {
        now.0 += 1000;
        line.sent_bytes.store(line.sent_bytes.load() + sent);
        Selected::update(&tables, policy(kind), now);
        assert_eq!(line.drain_rate.load(), expected, "{sent} bytes");
    }
}

/// An equal share of the port's queues is a plausible drain rate, and one byte less is not: with
/// eight queues, and with eleven if a priority has four.
#[test]
fn abm_believes_an_equal_share() {
    let kind = Kind::Active(NINE_TENTHS);
    // 25,000 bytes in 2 us: an eighth is 3125, an eleventh 2272.7.
    for (queues, sent, expected) in [
        (1, 3125, WHOLE_RATE / 8),
        (1, 3124, WHOLE_RATE),
        (4, 2273, WHOLE_RATE * 2273 / 25_000),
        (4, 2272, WHOLE_RATE),
    ] {
        let mut tables = switch(kind, Ratio::ONE, Ratio::ONE, 0);
        if queues > 1 {
            tables.config.queues[usize::from(CLASS)] = QueueRange::flow_queues(8, queues);
        }
        let queue = tables.config.queues_of(Priority::new(CLASS)).iter().last().unwrap();
        let line = state::queue(&tables, tables.config.queue_row(0, queue)).unwrap();
        line.sent_bytes.store(sent);
        Selected::update(&tables, policy(kind), Nanos(2000));
        assert_eq!(line.drain_rate.load(), expected, "{sent} bytes of {queues}");
    }
}

/// Two queues of the priority hold the bytes in the row and share a buffer of 10,000 bytes. alpha is 1.
#[test]
fn congested_queues_are_counted_in_three_ways() {
    let count = |form, held: [u64; 2]| {
        let kind = Kind::Bshare { congestion: form, least_bytes: Bytes(0) };
        let tables = switch(kind, Ratio::ONE, Ratio::ONE, 0);
        tables.switch.shared_bytes.store(held.iter().sum());
        for (port, bytes) in (0..).zip(held) {
            tables.egress(port, CLASS).bytes.store(bytes);
        }
        Selected::update(&tables, policy(kind), Nanos(1));
        state::priority(&tables, Priority::new(CLASS)).unwrap().congested.load()
    };
    let half = ONE_QUEUE / 2;
    for (form, held, expected) in [
        (Congestion::OfThreshold(ratio(1, 1)), [0, 0], 0),
        (Congestion::OfThreshold(ratio(1, 1)), [5000, 0], ONE_QUEUE),
        (Congestion::OfThreshold(ratio(1, 1)), [4999, 0], 0),
        (NINE_TENTHS, [4737, 0], ONE_QUEUE),
        (NINE_TENTHS, [4736, 0], 0),
        (NINE_TENTHS, [4000, 4000], 2 * ONE_QUEUE),
        (Congestion::OfBuffer(ratio(9, 10)), [9000, 0], ONE_QUEUE),
        (Congestion::OfBuffer(ratio(9, 10)), [8999, 1001], 0),
        (Congestion::Bytes(4000), [2000, 0], half),
        (Congestion::Bytes(4000), [2000, 6000], half + ONE_QUEUE),
    ] {
        assert_eq!(count(form, held), expected, "{form:?}, {held:?}");
    }
}

/// Alpha 1/2 and 8000 bytes free at 100 Gbit/s: theta is 4000 bytes, 320 ns, for one congested queue.
#[test]
fn bshare_drops_what_has_waited_theta() {
    // (congested queues, first round trip, waited, behind the packet, dropped)
    for (congested, first_rtt, waited, behind, dropped) in [
        (0, false, 319, 5000, false),
        (0, false, 320, 5000, true),
        (1, false, 320, 5000, true),
        (2, false, 159, 5000, false),
        (2, false, 160, 5000, true),
        (2, true, 319, 5000, false),
        (2, true, 320, 5000, true),
        (2, false, 160, 2999, false),
        (2, false, 160, 3000, true),
        (2, false, 1_000_000, 0, false),
    ] {
        let kind = Kind::Bshare { congestion: NINE_TENTHS, least_bytes: Bytes(3000) };
        let tables = switch(kind, ratio(1, 2), ratio(1, 1), 0);
        tables.switch.shared_bytes.store(2000);
        let priority = Priority::new(CLASS);
        state::priority(&tables, priority).unwrap().congested.store(congested * ONE_QUEUE);
        let egress = tables.egress(0, CLASS);
        egress.bytes.store(behind + 1000);
        let ingress = arriving(&tables, SchemeKind::Pfc, 0, 1000).ingress;
        let leaving = Leaving {
            ingress: Ingress { policy: policy(kind), ..ingress },
            egress_port: 0,
            queue: QueueId::data(CLASS),
            egress,
            length: 1000,
            arrived: Nanos(7),
            now: Nanos(7 + waited),
            note: 0,
            first_rtt,
        };
        let expected = dropped.then_some(DropReason::SojournTime);
        let row = format!("{congested}, {first_rtt}, {waited}, {behind}");
        assert_eq!(Selected::at_departure(&leaving), expected, "{row}");
    }
}

#[test]
fn a_policy_names_the_buffer_management() {
    use crate::policy::LossyKind;
    let kinds: Vec<LossyKind> = Kind::EVERY.iter().map(|kind| policy(*kind).lossy()).collect();
    let expected = [
        LossyKind::DynamicThreshold,
        LossyKind::CompleteSharing,
        LossyKind::Active,
        LossyKind::Bshare,
        LossyKind::FlowAware,
        LossyKind::Intelligent,
        LossyKind::Intelligent,
        LossyKind::Intelligent,
        LossyKind::Intelligent,
        LossyKind::Intelligent,
    ];
    assert_eq!(kinds, expected);
}
