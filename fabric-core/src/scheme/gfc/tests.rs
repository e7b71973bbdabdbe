//! Stages by a table, the messages of a queue that fills and empties, and the effect of a rate on an egress queue.

use units::{BitsPerSecond, Bytes};

use super::*;
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::scheme::Configure as _;
use crate::scheme::held::Held;
use crate::tables::owned::{MAX_SLOTS, OwnedTables};

const CLASS: u8 = 3;
const LENGTH: u64 = 1058;
/// The stages begin at two, three and four packets: 4 - 2, 4 - 1 and, rounded, 4 - 1/2.
const SETTINGS: Settings = Settings {
    form: Form::Halving,
    first: Bytes(2 * LENGTH),
    most: Bytes(4 * LENGTH),
    stages: 3,
    overhead: Bytes(24),
};

fn policy() -> Policy {
    Policy::new(ThresholdScheme::Static, MarkingScheme::Off).with_scheme(SchemeKind::Gfc, 0)
}

/// Two ports of 100 Gbit/s; X_off is six packets.
fn tables() -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: 1_000_000,
        static_xoff_bytes: 6 * LENGTH,
        pause_quanta: 500,
        lossless_classes: 1 << CLASS,
        lossless_queues: 1,
        ..SwitchConfig::default()
    };
    let mut tables = OwnedTables::new(config, 5000);
    tables.config.slots = MAX_SLOTS as u32;
    tables.switch.slots_limit.store(MAX_SLOTS as u64);
    let room = Gfc::room(policy(), 2);
    for line in (0..room.lines).filter_map(|line| tables.scheme_line(line)) {
        line.0.iter().for_each(|word| word.store(0));
    }
    SETTINGS.write(&tables, [(BitsPerSecond(100_000_000_000), Bytes(0)); 2]);
    tables
}

fn line(tables: &OwnedTables, port: u32) -> &state::QueueLine {
    state::queue(tables, 2, port, Priority::new(CLASS)).expect("it has its line")
}

#[test]
fn a_stage_begins_where_it_says() {
    let tables = tables();
    let stages = state::stages(&tables).expect("a line");
    for (bytes, stage) in [
        (0, 0),
        (2 * LENGTH - 1, 0),
        (2 * LENGTH, 1),
        (3 * LENGTH - 1, 1),
        (3 * LENGTH, 2),
        (4 * LENGTH - LENGTH / 2 - 1, 2),
        (4 * LENGTH - LENGTH / 2, 3),
        (1_000_000_000, 3),
    ] {
        assert_eq!(stages.stage(bytes), stage, "{bytes} B");
    }
    let begins: Vec<u64> = (0..=4).map(|stage| stages.begins(stage)).collect();
    let of_last = 4 * LENGTH - LENGTH / 2;
    assert_eq!(begins, [0, 2 * LENGTH, 3 * LENGTH, of_last, u32::MAX.into()]);
    assert_eq!(stages.begins(99), 0, "there is no such stage");
}

/// Message to the neighbour: a rate in Gbit/s, or PFC.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    Rate(u32),
    LineRate,
    Pause,
}

fn sent(order: Option<Order>) -> Option<Sent> {
    order.map(|order| match order.control {
        HopControl::Rate { priority, kilobits_per_second } => {
            assert_eq!(priority, Priority::new(CLASS));
            match kilobits_per_second {
                LINE_RATE => Sent::LineRate,
                slower => Sent::Rate(slower / 1_000_000),
            }
        }
        HopControl::Classes(pauses) if pauses.paused() == 1 << CLASS => Sent::Pause,
        other => panic!("{other:?}"),
    })
}

/// Rates fall with each stage, one message per stage; PFC is above all stages; rates rise again as the queue empties.
#[test]
fn a_queue_sends_each_stage_once() {
    use Sent::{LineRate, Pause, Rate};
    let (tables, policy) = (tables(), policy());
    let mut held = Held::default();
    let comes = [None, Some(Rate(50)), Some(Rate(25)), Some(Rate(12)), None, Some(Pause)];
    for (now, expected) in (0..).zip(comes) {
        let order = held.arrive::<Gfc>(&tables, policy, (0, CLASS), now);
        assert_eq!(sent(order.expect("there is room")), expected, "packet {now}");
    }
    // One packet is in headroom. After the RESUME of the second departure no rate is sent, because the stage is
    // unchanged.
    let orders = |held: &mut Held, now| held.depart::<Gfc>(&tables, policy, (0, CLASS), now);
    assert_eq!(tables.queue(0, CLASS).off.load(), 1);
    let resumed = orders(&mut held, 10).expect("it holds no headroom any more");
    assert!(resumed.resumes);
    let leaves = [None, Some(Rate(25)), Some(Rate(50)), Some(LineRate), None];
    for (now, expected) in (11..).zip(leaves) {
        assert_eq!(sent(orders(&mut held, now)), expected, "at {now}");
    }
}

/// 1082 bytes on the wire take 87 ns at 100 Gbit/s, and 86,560 ns at 100 Mbit/s.
#[test]
fn a_rate_keeps_a_queue_back_for_a_packets_time() {
    let (tables, policy) = (tables(), policy());
    let priority = Priority::new(CLASS);
    let rate = |kilobits_per_second| HopControl::Rate { priority, kilobits_per_second };
    let receive = |control: &HopControl| Gfc::receive(&tables, policy, 1, control, Nanos(0));
    let mut held = Held::default();
    held.arrive::<Gfc>(&tables, policy, (0, CLASS), 0).expect("there is room");
    held.depart::<Gfc>(&tables, policy, (0, CLASS), 1000);
    assert_eq!((line(&tables, 1).start_ns.load(), line(&tables, 1).bytes.load()), (1000, 1082));
    let stops = |now| {
        let paused = Gfc::paused(&tables, policy, 1, Nanos(now));
        let reopens = Gfc::reopens(&tables, policy, 1, Nanos(now));
        assert_eq!(paused.is_some(), reopens.is_some());
        assert!(paused.is_none_or(|queues| queues.contains(QueueId::data(CLASS))));
        reopens.map(|Nanos(at)| at)
    };
    assert_eq!(stops(1000), None, "at line rate nothing is kept back");
    receive(&rate(100_000)).expect("a rate");
    assert_eq!(stops(1001), Some(87_560));
    assert_eq!(stops(87_559), Some(87_560));
    assert_eq!(stops(87_560), None);
    // A new rate changes the running gap, and line rate ends it.
    receive(&rate(300_000)).expect("a rate");
    assert_eq!(stops(1001), Some(1000 + 28_854));
    receive(&rate(100_000_000)).expect("a rate");
    assert_eq!(stops(1001), None);
    for wrong in [
        rate(0),
        HopControl::Rate { priority: Priority::new(5), kilobits_per_second: 7 },
        HopControl::Queue { queue: QueueId::data(3), paused: true },
    ] {
        assert_eq!(receive(&wrong), Err(DropReason::UnexpectedHopControl), "{wrong:?}");
    }
}
