//! The verifier's results for the arrival programs under each scheme.

use fabric_core::lossy;
use fabric_core::policy::{MarkingScheme, Policy, StormAction, ThresholdScheme};
use fabric_core::scheme::{Configure, SchemeSettings, ofc};
use switch_user::hook::Hook;
use tests::switch::{CAPACITY, KernelSwitch, in_namespace};

/// Little more than half of the verifier's limit, of a million instructions: kernels follow more or fewer paths (Linux 6.1 takes 404,000 for OFC at
/// TC, this one 94,000: `xoff doctor --programs`). Most schemes take some 20,000; BFC takes some 170,000, and 502,000 with labels, sampling and elided turns together.
const MAX: u32 = 550_000;

#[test]
fn every_scheme_stays_far_below_the_verifiers_limit() {
    in_namespace(|| {
        for scheme in SchemeSettings::every() {
            let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue);
            check(scheme.select(policy), &format!("{scheme:?}"));
        }
        // The largest table.
        let most = ofc::Options::new(1 << 3, ofc::Options::MAX_ENTRIES).expect("so many");
        let most = SchemeSettings::Ofc(ofc::Settings { options: most, ..Default::default() });
        let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue);
        check(most.select(policy), &format!("{most:?}"));
        for settings in lossy::Settings::every() {
            let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue);
            check(settings.select(policy), &format!("{:?}", settings.kind));
        }
        for action in [StormAction::Drop, StormAction::Forward] {
            let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue);
            let policy = policy.with_storm_action(action);
            let mut switch = KernelSwitch::load(CAPACITY, policy, Hook::Xdp, None);
            let steps = switch.verified_instructions();
            println!("{steps} instructions: a watchdog's {action:?}");
            assert!((1000..MAX).contains(&steps), "{steps} instructions: {action:?}");
        }
    });
}

/// At each hook.
fn check(policy: Policy, what: &str) {
    for hook in [Hook::Xdp, Hook::Tc] {
        let mut switch = KernelSwitch::load(CAPACITY, policy, hook, None);
        let steps = switch.verified_instructions();
        println!("{steps} instructions: {hook:?}, {what}");
        assert!((1000..MAX).contains(&steps), "{steps} instructions: {hook:?}, {what}");
    }
}
