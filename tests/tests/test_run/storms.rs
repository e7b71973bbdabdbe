//! Effects of a switch's watchdog on frames, in eBPF and natively. Needs root.

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::policy::{MarkingScheme, Policy, StormAction, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::tables::Tables;
use fabric_core::wire::PfcFrame;
use fabric_core::wire::roce::Ecn;
use tests::switch::frame::{bytes, data, inbound, pfc_bytes};
use tests::switch::{State, StormRow, Twins, class_row, in_namespace};
use units::Nanos;

const NOW: Nanos = Nanos(1_000_000);
/// Port 2, and the priority of the storm there.
const STORM: usize = class_row(2, 3);
const LENGTH: u64 = 1058;
const ACTIONS: [StormAction; 3] = [StormAction::Drop, StormAction::Forward, StormAction::None];

fn policy(action: StormAction) -> Policy {
    Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off).with_storm_action(action)
}

/// A switch in a storm, or not.
fn state(active: u64) -> State {
    let mut state = State::fresh();
    state.storms[STORM].active = active;
    state
}

#[test]
fn packets_for_and_from_a_stormed_port_are_dropped_in_its_priority() {
    let (egress, ingress) = (Some(DropReason::WatchdogEgress), Some(DropReason::WatchdogIngress));
    // Where a packet comes in, its host, which is behind the port of that number, its priority, and why it is dropped.
    let rows = [
        (1, 2, 3, egress),
        (2, 1, 3, ingress),
        (2, 2, 3, ingress),
        (1, 2, 4, None),
        (2, 1, 4, None),
        (1, 3, 3, None),
    ];
    in_namespace(|| {
        for action in ACTIONS {
            let mut twins = Twins::load(policy(action));
            for (port, host, priority, reason) in rows {
                let reason = reason.filter(|_| action == StormAction::Drop);
                twins.reset(&state(1));
                let frame = bytes(&data(host, priority, Ecn::Capable0, 1000), &inbound(port));
                let outcome = twins.arrive(port, NOW, &frame).expect("both agree").outcome;
                let what = format!("{action:?} from {port} to {host} in {priority}: {outcome:?}");
                match reason {
                    Some(reason) => assert_eq!(outcome, Outcome::Dropped(reason), "{what}"),
                    None => assert!(matches!(outcome, Outcome::Queued(_)), "{what}"),
                }
                let row = twins.native.tables().storm(STORM as u32);
                let is = |other| u64::from(reason.is_some() && reason == other);
                let expected = StormRow {
                    active: 1,
                    egress_packets: is(egress),
                    egress_bytes: LENGTH * is(egress),
                    ingress_packets: is(ingress),
                    ingress_bytes: LENGTH * is(ingress),
                };
                assert_eq!(StormRow::new(row.expect("a row of the table")), expected, "{what}");
            }
        }
    });
}

#[test]
fn a_pause_is_ignored_only_where_the_watchdog_forwards() {
    let pause = pfc_bytes(&PfcFrame::xoff([2, 9, 0, 0, 0, 2], 1 << 3, 1000));
    in_namespace(|| {
        for action in ACTIONS {
            let mut twins = Twins::load(policy(action));
            for active in [0, 1] {
                twins.reset(&state(active));
                twins.arrive(2, NOW, &pause).expect("both agree");
                let later = Nanos(NOW.0 + 1000);
                let paused = twins.native.tables().is_paused(2, Priority::new(3), later);
                let is_ignored = action == StormAction::Forward && active == 1;
                assert_eq!(paused, !is_ignored, "{action:?}, {active}");
            }
        }
    });
}
