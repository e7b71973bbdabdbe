//! Traffic classes in strict order (Appendix A.3).

use sweep::Decimal;

use super::{BFC, COLLISIONS, DCTCP, DROPS, HPCC, SIMILAR, WORSE, plain, words};
use crate::{Bound, Claim, Criterion, Figure, Quantity, Source, Unit, View};

/// Quantities of the classes; class 1 has the highest priority.
const QUANTITIES: &[Quantity] = &[
    plain("class 1 up to 3 kB p99", "labels.class 1.sizes.up-to-3kB.slowdown.p99"),
    plain("class 2 up to 3 kB p99", "labels.class 2.sizes.up-to-3kB.slowdown.p99"),
    plain("class 3 up to 3 kB p99", "labels.class 3.sizes.up-to-3kB.slowdown.p99"),
    plain("class 4 up to 3 kB p99", "labels.class 4.sizes.up-to-3kB.slowdown.p99"),
    plain("class 1 above 3 MB mean", "labels.class 1.sizes.above-3MB.slowdown.mean"),
    plain("class 2 above 3 MB mean", "labels.class 2.sizes.above-3MB.slowdown.mean"),
    plain("class 3 above 3 MB mean", "labels.class 3.sizes.above-3MB.slowdown.mean"),
    plain("class 4 above 3 MB mean", "labels.class 4.sizes.above-3MB.slowdown.mean"),
    Quantity {
        name: "p99 of class 1 above 3 MB over that of class 4 up to 3 kB",
        unit: Unit::Plain,
        source: Source::Ratio(
            "labels.class 1.sizes.above-3MB.slowdown.p99",
            "labels.class 4.sizes.up-to-3kB.slowdown.p99",
        ),
    },
    Quantity {
        name: "what a switch holds p99",
        unit: Unit::Kilobytes,
        source: Source::Metric("window.buffer_bytes.p99"),
    },
    COLLISIONS,
    DROPS,
];
const LONG_OVER_SHORT: usize = 8;

const EIGHT: (&str, &str) = ("scheme", "bfc 8");

/// Makes a claim on short flows of a class; the index of their quantity is `class` - 1.
const fn with_dctcp(text: &'static str, class: usize, paper: (&'static str, Criterion)) -> Claim {
    words("A.3", text, paper, (class - 1, View::Increase), &[DCTCP])
}

const fn with_more_queues(text: &'static str, class: usize) -> Claim {
    let paper = ("only slightly better", SIMILAR);
    words("A.3", text, paper, (class - 1, View::Reduction), &[BFC])
}

/// BFC is up to 5 times better than DCTCP in a class that the paper does not name: it is better if the two do not
/// converge.
const BETTER: (&str, Criterion) = ("worse than BFC", WORSE);

pub(super) const FIG20: Figure = Figure {
    name: "fig20",
    also: &[],
    title: "Fig. 20: four classes in strict order (A.3)",
    notes: "Facebook, four classes of 15 %, no incasts, arrivals for 5 ms. \"bfc 8\" has 8 queues for each class, \"bfc 32\" 32. A claim is about one class: the paper's \"up to 5 times\" over all of them is not \
            judged, and the tables have each class divided by BFC's. A queue length in HPCC's telemetry is that of the class, \
            where the paper has aggregates of the switch.",
    has_small: true,
    baseline: EIGHT,
    quantities: QUANTITIES,
    claims: &[
        with_dctcp("p99 of short flows of class 1 with DCTCP above BFC's", 1, BETTER),
        with_dctcp("likewise, class 2", 2, BETTER),
        with_dctcp("likewise, class 3", 3, BETTER),
        with_dctcp("likewise, class 4", 4, ("converges to BFC's", SIMILAR)),
        with_more_queues("p99 of short flows of class 1 with 32 queues below that with 8", 1),
        with_more_queues("likewise, class 2", 2),
        with_more_queues("likewise, class 3", 3),
        with_more_queues("likewise, class 4", 4),
        words(
            "A.3",
            "p99 of long flows of class 1 over that of short flows of class 4, HPCC",
            ("significantly worse", Criterion::Each(Bound::AtLeast(Decimal::per_mille(1100)))),
            (LONG_OVER_SHORT, View::Itself),
            &[HPCC],
        ),
    ],
    check: &[EIGHT],
};
