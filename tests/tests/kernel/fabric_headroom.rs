//! Headroom schemes on the real kernel, as in memory. Needs root.

use tests::fabric::burst::Burst;
use tests::fabric::on_both;

/// Bursts for which both datapaths must give equal results, under each scheme.
const BURSTS: usize = 6;

#[test]
fn bursts_run_as_in_memory() {
    let mut seeds = 0..;
    for headroom in [
        "kind = \"dsh\", estimation = \"practical\"",
        "kind = \"dsh\", estimation = \"conceptual\"",
        "kind = \"adaptive\", period = \"20us\"",
    ] {
        for seed in seeds.by_ref().take(BURSTS) {
            Burst::from_seed(seed).run(on_both, headroom).assert_lossless();
        }
    }
}
