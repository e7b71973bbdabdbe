//! State of SPFC, alone or with DSH.

use fabric_core::policy::{Policy, SchemeKind};
use fabric_core::scheme::{dsh, spfc};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{PORTS, PRIORITIES, Step};
use crate::switch::{SpfcRow, State};

/// A line for each ingress queue; where ports have states, the first of them are the ports'.
pub(super) fn lines() -> impl Strategy<Value = Vec<SpfcRow>> {
    let period = prop_oneof![1..200u64, 1..100_000u64, Just(1 << 40), Just(0)];
    let number = prop_oneof![1..4000u64, 1..100_000u64];
    let departed = prop_oneof![Just(0), 0..5000u64, 0..200_000u64];
    let paused = prop_oneof![3 => Just(0), 1 => 0..256u32];
    let line = (period, number, 0..1_000_000u64, departed, 0..100u32, paused, 0..2u32, 0..2u32);
    let line = line.prop_map(
        |(
            period_ns,
            victim_bytes,
            ends,
            departed_bytes,
            overhead_bytes,
            paused,
            victim,
            before,
        )| {
            SpfcRow {
                period_ns,
                victim_bytes,
                period_ends_ns: ends,
                departed_bytes,
                overhead_bytes,
                paused_classes: paused,
                // A PAUSE resets it.
                victim: if paused == 0 { victim } else { 0 },
                victim_before_pause: before,
            }
        },
    );
    vec(line, PORTS as usize * PRIORITIES)
}

/// Writes them to a switch whose policy has states, and configures its control plane.
pub(super) fn apply(
    mut lines: Vec<SpfcRow>,
    policy: Policy,
    state: &mut State,
    steps: &mut [Step],
) {
    let has_states = match policy.scheme() {
        SchemeKind::Spfc => true,
        SchemeKind::Dsh => dsh::Options::from_bits(policy.options).victims,
        _ => false,
    };
    if !has_states {
        return;
    }
    let beside_dsh = policy.scheme() == SchemeKind::Dsh;
    let options =
        if beside_dsh { spfc::Options::default() } else { spfc::Options::from_policy(policy) };
    state.dsh.options.victims = beside_dsh;
    if options.per == spfc::StateOf::Port {
        lines.truncate(PORTS as usize);
    }
    state.spfc = Some((options, lines));
    super::observe_with(policy, steps);
}
