//! Settings and state of the PFC family and GFC.

use fabric_core::policy::{Policy, SchemeKind};
use fabric_core::scheme::pfc_family::{MeanOf, Options, Rule, Settings};
use fabric_core::scheme::{SchemeSettings, gfc};
use proptest::collection::vec;
use proptest::prelude::*;
use units::{Bytes, Nanos};

use super::{PORTS, PRIORITIES, Step};
use crate::switch::{RuleState, State};

/// Settings of any rule, and lines of any numbers that a switch may have come to, and of some others.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    low: Bytes,
    egress: Bytes,
    of: MeanOf,
    horizon: Nanos,
    interval: Nanos,
    weight_shift: u8,
    classes: u8,
    lines: Vec<[u64; 3]>,
}

pub(super) fn drawn() -> impl Strategy<Value = Drawn> {
    let bytes = || prop_oneof![0..5000u64, 0..60_000u64];
    let of = prop_oneof![Just(MeanOf::All), Just(MeanOf::NonEmpty)];
    let times = (1..100_000u64, prop_oneof![0..100u64, 0..10_000u64], 0..=6u8);
    // A time, a length and a growth, or bytes and queues of a class, or bytes of a port, or stage and rate.
    let growth = prop_oneof![0..100_000u64, (0..100_000u64).prop_map(u64::wrapping_neg)];
    let line = prop_oneof![
        3 => (0..200_000u64, 0..100u64, Just(0)).prop_map(|(a, b, c)| [a, b, c]),
        2 => (0..1_000_000u64, 0..60_000u64, growth).prop_map(|(a, b, c)| [a, b, c]),
        1 => any::<[u64; 3]>(),
    ];
    let lines = vec(line, PORTS as usize * PRIORITIES);
    (bytes(), bytes(), of, times, any::<u8>(), lines).prop_map(
        |(low, egress, of, (horizon, interval, weight_shift), classes, lines)| Drawn {
            low: Bytes(low),
            egress: Bytes(egress),
            of,
            horizon: Nanos(horizon),
            interval: Nanos(interval),
            weight_shift,
            classes,
            lines,
        },
    )
}

/// Writes them to a switch whose policy has the rule, and configures its control plane.
pub(super) fn apply(drawn: Drawn, policy: Policy, state: &mut State, steps: &mut [Step]) {
    let Drawn { low, egress, of, horizon, interval, weight_shift, classes, mut lines } = drawn;
    let settings = match policy.scheme() {
        SchemeKind::PfcFamily => {
            SchemeSettings::PfcFamily(match Options::from_policy(policy).rule {
                Rule::CongestionAware => Settings::CongestionAware { low, egress },
                Rule::MeanOfEgress => Settings::MeanOfEgress { low, of },
                Rule::Predictive => Settings::Predictive { horizon, interval, weight_shift },
                Rule::PriorityAware => Settings::PriorityAware { low, classes },
            })
        }
        SchemeKind::Gfc => SchemeSettings::Gfc(gfc::Settings {
            form: if classes & 1 == 0 { gfc::Form::Halving } else { gfc::Form::Linear },
            first: low,
            most: Bytes(low.0 + egress.0),
            stages: 1 + classes % 14,
            overhead: Bytes(24),
        }),
        _ => return,
    };
    let (first, all) = RuleState::lines(&settings);
    lines.truncate((all - first) as usize);
    state.rule = Some(RuleState { settings, lines });
    super::observe_with(policy, steps);
}
