//! Many long flows to one host (Appendix A.1).

use sweep::Decimal;

use super::{Cells, DROPS, SIMILAR, plain, words};
use crate::{Bound, Claim, Criterion, Figure, Quantity, Source, Unit, View};

const DIRECT: usize = 0;
const INDIRECT: usize = 1;

const BFC: (&str, &str) = ("scheme", "bfc 32");
const WITH_RTT_TARGET: (&str, &str) = ("scheme", "bfc 32, rtt target");
const FAIR_QUEUES: (&str, &str) = ("scheme", "fair queues");
/// Worse by at least a tenth.
const DEGRADED: (&str, Criterion) =
    ("degrades", Criterion::Each(Bound::AtLeast(Decimal::per_mille(100))));
const CLOSE: (&str, Criterion) = ("close to Ideal-FQ in all cases", SIMILAR);
const NOT_DEGRADED: (&str, Criterion) = ("does not degrade", SIMILAR);

const fn above_fair_queues(
    text: &'static str,
    paper: (&'static str, Criterion),
    quantity: usize,
    cells: Cells,
) -> Claim {
    words("A.1", text, paper, (quantity, View::Increase), cells)
}

pub(super) const FIG15: Figure = Figure {
    name: "fig15",
    also: &[],
    title: "Fig. 15: mice beside elephants (A.1)",
    notes: "Elephants to one host; mice of 1 kB to it (direct) and to another host of its rack (indirect), at 3 % of these hosts' \
            links each. \"rtt target\" is Algorithm 1. \"fair queues\" has 128 queues, so beyond 128 elephants it is no bound for \
            direct mice. The numbers of elephants are ours.",
    has_small: false,
    baseline: FAIR_QUEUES,
    quantities: &[
        plain("slowdown of direct mice p50", "window.labels.direct.slowdown.p50"),
        plain("slowdown of indirect mice p50", "window.labels.indirect.slowdown.p50"),
        plain("slowdown of direct mice mean", "window.labels.direct.slowdown.mean"),
        plain("slowdown of indirect mice mean", "window.labels.indirect.slowdown.mean"),
        Quantity {
            name: "what a switch holds p99",
            unit: Unit::Kilobytes,
            source: Source::Metric("window.buffer_bytes.p99"),
        },
        DROPS,
    ],
    claims: &[
        above_fair_queues(
            "direct mice with BFC 32 above fair queues, fewer elephants than queues",
            NOT_DEGRADED,
            DIRECT,
            &[BFC, ("elephants", "8")],
        ),
        above_fair_queues(
            "direct mice with BFC 32 above fair queues, more elephants than queues",
            DEGRADED,
            DIRECT,
            &[BFC, ("elephants", "64"), ("elephants", "128")],
        ),
        above_fair_queues(
            "indirect mice with BFC 32 above fair queues, up to 4 times as many elephants as queues",
            NOT_DEGRADED,
            INDIRECT,
            &[
                BFC,
                ("elephants", "8"),
                ("elephants", "32"),
                ("elephants", "64"),
                ("elephants", "128"),
            ],
        ),
        above_fair_queues(
            "likewise, 8 times as many",
            NOT_DEGRADED,
            INDIRECT,
            &[BFC, ("elephants", "256")],
        ),
        above_fair_queues(
            "indirect mice with BFC 32 above fair queues, 16 times as many",
            DEGRADED,
            INDIRECT,
            &[BFC, ("elephants", "512")],
        ),
        above_fair_queues(
            "direct mice with BFC 32 and Algorithm 1 above fair queues, all numbers of elephants",
            CLOSE,
            DIRECT,
            &[WITH_RTT_TARGET],
        ),
        above_fair_queues("indirect mice, likewise", CLOSE, INDIRECT, &[WITH_RTT_TARGET]),
    ],
    check: &[BFC, ("elephants", "256")],
};
