//! What the verifier makes of the XDP program under each scheme.

use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::scheme::SchemeSettings;
use tests::switch::{CAPACITY, KernelSwitch, in_namespace};

/// A quarter of the verifier's limit, of a million instructions: kernels follow more or fewer paths.
const MOST: u32 = 250_000;

#[test]
fn every_scheme_stays_far_below_the_verifiers_limit() {
    in_namespace(|| {
        for scheme in SchemeSettings::every() {
            let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue);
            let policy = scheme.select(policy);
            let steps = KernelSwitch::load(CAPACITY, policy, None).verified_instructions();
            println!("{steps} instructions: {scheme:?}");
            assert!((1000..MOST).contains(&steps), "{steps} instructions: {scheme:?}");
        }
    });
}
