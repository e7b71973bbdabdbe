//! A million PAUSEs and RESUMEs of flows into a switch that runs OFC, many of them wrong: each is obeyed or dropped by the name
//! that the specification has for it (`docs/hop-control.md`). Needs root.
//!
//! `XOFF_FRAMES` replaces the number of frames, `XOFF_SEED` the seed, which a failure prints.

use std::collections::BTreeMap;

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{FlowList, HopControl, MAX_FLOWS};
use fabric_core::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::queue::{FLOW_QUEUES, QueueRange, one_per_priority_from};
use fabric_core::scheme::ofc::{self, state as ofc_state};
use switch_user::hook::Hook;
use switch_user::tables::SwitchTables;
use tests::generated::Random;
use tests::switch::frame::{hop_control_bytes, inbound};
use tests::switch::{CAPACITY, KernelSwitch, PORTS, State, in_namespace};
use units::{Bytes, Nanos};

const FRAMES: u64 = 1_000_000;
const SEED: u64 = 0xf10;
/// The priority whose flows are paused.
const PRIORITY: Priority = Priority::new(3);
const OPTIONS: ofc::Options = ofc::Options::EVERY[0];

/// Outcome of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Obeyed,
    Dropped(DropReason),
}

/// A frame, and its expected outcome. `names` are the existing flows.
fn next(random: &mut Random, port: u32, names: &[u32], frame: &mut Vec<u8>) -> Fate {
    const BAD: Fate = Fate::Dropped(DropReason::BadHopControl);
    const UNEXPECTED: Fate = Fate::Dropped(DropReason::UnexpectedHopControl);
    let count = random.below(MAX_FLOWS as u64 + 1) as usize;
    let flows: Vec<u32> =
        (0..count).map(|_| names[random.below(names.len() as u64) as usize]).collect();
    let flows = FlowList::new(&flows).expect("no more than fit");
    let control = HopControl::Flows { priority: PRIORITY, paused: random.below(2) == 0, flows };
    frame.clear();
    frame.extend(hop_control_bytes(inbound(port).source, control));
    let byte = random.next() as u8;
    match random.below(16) {
        0 => {
            frame[19] = byte;
            if byte > 1 { BAD } else { Fate::Obeyed }
        }
        1 => {
            // A list longer than a frame.
            frame[20] = byte;
            if usize::from(byte) > MAX_FLOWS { BAD } else { Fate::Obeyed }
        }
        2 => {
            let priority = byte >> random.below(8);
            frame[18] = priority;
            match priority {
                3 => Fate::Obeyed,
                0..8 => UNEXPECTED,
                _ => BAD,
            }
        }
        3 => {
            // A kind that OFC does not take, or that does not exist.
            let kind =
                if random.below(2) == 0 { u16::from(byte % 8) } else { random.next() as u16 };
            frame[16..18].copy_from_slice(&kind.to_be_bytes());
            match kind {
                3 => Fate::Obeyed,
                1 | 2 | 4 => UNEXPECTED,
                _ => BAD,
            }
        }
        4 => {
            // Another protocol of the EtherType.
            let protocol = 3 + (random.next() as u16).min(u16::MAX - 3);
            frame[14..16].copy_from_slice(&protocol.to_be_bytes());
            Fate::Dropped(DropReason::BadLinkDelay)
        }
        5 => {
            frame.truncate(18 + random.below(42) as usize);
            Fate::Dropped(DropReason::Truncated)
        }
        6 => {
            frame.resize(60 + random.below(1000) as usize, byte);
            Fate::Obeyed
        }
        7 => {
            // What a receiver ignores: hashes beyond the list, padding.
            frame[21] = byte;
            frame[22 + 4 * count..60].fill_with(|| random.byte());
            Fate::Obeyed
        }
        _ => Fate::Obeyed,
    }
}

/// For each port: flows paused by their entries and without an entry, by counters and by tables.
fn assert_counted(tables: &SwitchTables) {
    for port in 0..PORTS {
        let class = ofc_state::class(tables, PORTS, port, PRIORITY).expect("there is room");
        let first = ofc_state::first_flow(OPTIONS, port);
        let paused = (first..ofc_state::first_flow(OPTIONS, port + 1)).filter(|&number| {
            let flow = ofc_state::flow(tables, PORTS, number).expect("there is room");
            flow.has(ofc_state::PAUSED)
        });
        let unnamed = class.unnamed_flows.load();
        assert_eq!(class.paused_flows.load(), unnamed + paused.count() as u32, "port {port}");
        assert!(!class.is_draining(), "nothing is held back");
    }
}

#[test]
fn a_million_lists_of_flows_are_obeyed_or_dropped_by_name() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (seed, frames) = (number("XOFF_SEED", SEED), number("XOFF_FRAMES", FRAMES));
    println!("XOFF_SEED={seed} XOFF_FRAMES={frames}");
    let met = in_namespace(|| run(seed, frames));
    println!("{met:?}");
    for reason in [
        DropReason::BadHopControl,
        DropReason::UnexpectedHopControl,
        DropReason::BadLinkDelay,
        DropReason::Truncated,
    ] {
        assert!(met.contains_key(&reason) || frames < 1000, "{reason}");
    }
}

/// Drops by reason.
fn run(seed: u64, frames: u64) -> BTreeMap<DropReason, u64> {
    let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off)
        .with_scheme(SchemeKind::Ofc, OPTIONS.to_bits());
    let mut state = State::fresh();
    state.config.queues = one_per_priority_from(FLOW_QUEUES, None);
    state.config.queues[PRIORITY.index()] = QueueRange::flow_queues(0, ofc_state::QUEUES);
    state.ofc = Some(ofc::Settings { options: OPTIONS, congested: Bytes(4000) });
    let mut switch = KernelSwitch::load(CAPACITY, policy, Hook::Xdp, None);
    state.write(switch.tables_mut());
    let mut random = Random::new(seed);
    // More than a table has room for.
    let names: Vec<u32> = (0..40).map(|_| random.next() as u32).collect();
    let mut dropped = BTreeMap::new();
    let mut frame = Vec::new();
    for number in 0..frames {
        let port = random.below(u64::from(PORTS)) as u32;
        let expected = next(&mut random, port, &names, &mut frame);
        let arrival = switch.arrive(port, Nanos(number * 100), &frame);
        let arrival = arrival.unwrap_or_else(|error| panic!("{number} {frame:02x?}: {error}"));
        let fate = match arrival.outcome {
            Outcome::ControlReceived(_) => Fate::Obeyed,
            Outcome::Dropped(reason) => {
                *dropped.entry(reason).or_default() += 1;
                Fate::Dropped(reason)
            }
            other => panic!("{number} {frame:02x?}: {other:?}"),
        };
        assert_eq!(fate, expected, "frame {number} {frame:02x?}");
        if number % 4096 == 0 {
            assert_counted(switch.tables());
        }
    }
    assert_counted(switch.tables());
    for (reason, count) in &dropped {
        assert_eq!(switch.tables().dropped(*reason), *count, "{reason}");
    }
    dropped
}
