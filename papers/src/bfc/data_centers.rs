//! Traffic between two data centers (Appendix A.9).

use sweep::Decimal;

use super::{BFC, DCQCN, DROPS, HPCC, PFC_PAUSES, WORSE, plain, words};
use crate::{Bound, Criterion, Figure, Quantity, Source, Unit, View};

const SHORT: usize = 0;
const BETWEEN: usize = 4;

pub(super) const FIG26: Figure = Figure {
    name: "fig26",
    also: &[],
    title: "Fig. 26: two data centers (A.9)",
    notes: "Facebook, 60 % of the links between leaves and spines of each data center; 20 long flows each way, five from each rack. The \
            rate between them is of payload, of both directions: two links of 200 Gbit/s carry 381.7. Of 6 ms, after 4 ms. The \
            paper says 64 servers and two gateways: here 64 in 4 racks and 8 spines in each data center, and each gateway has a \
            link of 100 Gbit/s to each spine. The base round trip that HPCC is told of is the longest of its flows'.",
    has_small: true,
    baseline: BFC,
    quantities: &[
        plain("slowdown up to 3 kB p99", "window.labels.local.sizes.up-to-3kB.slowdown.p99"),
        plain("slowdown 30 to 200 kB p99", "window.labels.local.sizes.30kB-to-200kB.slowdown.p99"),
        plain("slowdown 200 kB to 1 MB p99", "window.labels.local.sizes.200kB-to-1MB.slowdown.p99"),
        plain("slowdown above 3 MB p99", "window.labels.local.sizes.above-3MB.slowdown.p99"),
        Quantity {
            name: "rate between data centers",
            unit: Unit::Gigabits,
            source: Source::MeanRate,
        },
        PFC_PAUSES,
        DROPS,
    ],
    claims: &[
        words(
            "A.9",
            "rate between data centers with BFC",
            (
                "close to 100 % of the link",
                Criterion::Each(Bound::AtLeast(Decimal::per_mille(362_600))),
            ),
            (BETWEEN, View::Itself),
            &[BFC],
        ),
        words(
            "A.9",
            "rate below BFC's, HPCC and DCQCN",
            ("neither keeps the link full", WORSE),
            (BETWEEN, View::Reduction),
            &[HPCC, DCQCN],
        ),
        words(
            "A.9",
            "p99 of short flows above BFC's, HPCC and DCQCN",
            ("BFC is better", WORSE),
            (SHORT, View::Increase),
            &[HPCC, DCQCN],
        ),
    ],
    check: &[BFC],
};
