//! The simulations of 128 hosts (Sections 6.2 and 6.3, Appendices A.10 to A.12).

use sweep::Decimal;

use super::{
    BFC, COLLISIONS, Cells, DCQCN, DCTCP, DROPS, HPCC, NO_DROPS, NONE, PFC_PAUSES, SIMILAR, WORSE,
    plain, times, words,
};
use crate::{Bound, Claim, Criterion, Figure, Quantity, Source, Unit, View};

const SHORT: Quantity =
    plain("slowdown up to 3 kB p99", "labels.background.sizes.up-to-3kB.slowdown.p99");
const SHORT_P95: Quantity =
    plain("slowdown up to 3 kB p95", "labels.background.sizes.up-to-3kB.slowdown.p95");
const SHORT_MEAN: Quantity =
    plain("slowdown up to 3 kB mean", "labels.background.sizes.up-to-3kB.slowdown.mean");
const TO_30_KB: Quantity =
    plain("slowdown 3 to 30 kB p99", "labels.background.sizes.3kB-to-30kB.slowdown.p99");
const TO_200_KB: Quantity =
    plain("slowdown 30 to 200 kB p99", "labels.background.sizes.30kB-to-200kB.slowdown.p99");
const MEDIUM: Quantity =
    plain("slowdown 200 kB to 1 MB p99", "labels.background.sizes.200kB-to-1MB.slowdown.p99");
const LONG: Quantity =
    plain("slowdown above 3 MB mean", "labels.background.sizes.above-3MB.slowdown.mean");
const LONG_P99: Quantity =
    plain("slowdown above 3 MB p99", "labels.background.sizes.above-3MB.slowdown.p99");
const INCAST_MEAN: Quantity = plain("slowdown of incast mean", "labels.incast.slowdown.mean");
const INCAST: Quantity = plain("slowdown of incast p99", "labels.incast.slowdown.p99");
const BUFFER: Quantity = Quantity {
    name: "what a switch holds p99",
    unit: Unit::Kilobytes,
    source: Source::Metric("window.buffer_bytes.p99"),
};
const BUFFER_MOST: Quantity = Quantity {
    name: "most that a switch holds",
    unit: Unit::Kilobytes,
    source: Source::Metric("window.buffer_bytes.max"),
};
const RESENT: Quantity = Quantity {
    name: "packets sent again",
    unit: Unit::Plain,
    source: Source::Metric("retransmitted_packets"),
};

const RESENT_OF_HOPS: Quantity = Quantity {
    name: "packets sent again by packet-hops",
    unit: Unit::Percent,
    source: Source::Ratio("retransmitted_packets", "packet_hops"),
};

/// All quantities of these figures; each figure uses a prefix.
const ALL: &[Quantity] = &[
    SHORT,
    SHORT_P95,
    SHORT_MEAN,
    TO_30_KB,
    TO_200_KB,
    MEDIUM,
    LONG,
    LONG_P99,
    BUFFER,
    BUFFER_MOST,
    PFC_PAUSES,
    DROPS,
    RESENT,
    INCAST_MEAN,
    INCAST,
    COLLISIONS,
    RESENT_OF_HOPS,
];
pub(super) const QUANTITIES: &[Quantity] = ALL.split_at(RESENT_PACKETS + 1).0;
const WITH_INCAST: &[Quantity] = ALL.split_at(INCAST_TAIL + 1).0;
pub(super) const VARIANTS: &[Quantity] = ALL.split_at(COLLIDED + 1).0;
pub(super) const DEPLOYMENT: &[Quantity] = ALL;

/// Indices in [`ALL`].
pub(super) const SHORT_TAIL: usize = 0;
pub(super) const SHORT_AVERAGE: usize = 2;
const MEDIUM_TAIL: usize = 5;
pub(super) const LONG_MEAN: usize = 6;
pub(super) const LONG_TAIL: usize = 7;
pub(super) const HELD: usize = 8;
pub(super) const HELD_MOST: usize = 9;
const PFC_PAUSED: usize = 10;
pub(super) const DROPPED: usize = 11;
const RESENT_PACKETS: usize = 12;
pub(super) const INCAST_AVERAGE: usize = 13;
const INCAST_TAIL: usize = 14;
pub(super) const COLLIDED: usize = 15;
pub(super) const RESENT_SHARE: usize = 16;

const FAIR_QUEUES: (&str, &str) = ("scheme", "fair queues");
const GOOGLE: (&str, &str) = ("workload", "google");
const FACEBOOK: (&str, &str) = ("workload", "facebook");

pub(super) const fn each(bound: Bound) -> Criterion {
    Criterion::Each(bound)
}

pub(super) const fn increase(
    place: &'static str,
    text: &'static str,
    paper: (&'static str, Criterion),
    quantity: usize,
    cells: Cells,
) -> Claim {
    words(place, text, paper, (quantity, View::Increase), cells)
}

const DEPLOYED: Cells = &[HPCC, DCTCP, DCQCN];

/// The abstract's sentence is about both figures, so its lowest and highest values are searched for in each.
const TAIL: Claim = increase(
    "abstract",
    "p99 of short flows above BFC's, each of HPCC, DCTCP and DCQCN",
    ("2.3 times at least", each(times(23))),
    SHORT_TAIL,
    DEPLOYED,
);
const TAIL_MOST: Claim = increase(
    "abstract",
    "likewise, the largest",
    ("up to 60 times", Criterion::Largest(times(600))),
    SHORT_TAIL,
    DEPLOYED,
);
const AVERAGE: Claim = increase(
    "abstract",
    "mean of long flows above BFC's, each of HPCC, DCTCP and DCQCN",
    ("1.6 times at least", each(times(16))),
    LONG_MEAN,
    DEPLOYED,
);
const AVERAGE_MOST: Claim = increase(
    "abstract",
    "likewise, the largest",
    ("up to 5 times", Criterion::Largest(times(50))),
    LONG_MEAN,
    DEPLOYED,
);
const MEDIUM_FLOWS: Claim = increase(
    "6.2.2",
    "p99 of medium flows above BFC's",
    ("slightly better with existing schemes", each(Bound::AtMost(NONE))),
    MEDIUM_TAIL,
    DEPLOYED,
);
const SMALLER_BUFFERS: Claim = increase(
    "Fig. 9",
    "p99 of what a switch holds above BFC's",
    ("BFC reduces buffer occupancy", WORSE),
    HELD,
    DEPLOYED,
);

pub(super) const FIG09: Figure = Figure {
    name: "fig09",
    also: &["fig9", "fig11", "fig29"],
    title: "Fig. 9, 11(a) and 29: flows by size with incasts (6.2.2, A.12)",
    notes: "Loads of 55 % and 5 %, arrivals for 5 ms. \"fair queues\" is the nearest to the paper's Ideal-FQ: 128 dynamic queues, no \
            pauses, 200 MB, a window of one BDP. \"hpcc without pfc\" repairs losses by selective repeat, where the paper's \
            switches tell the sender. \"one bdp\" caps flows \
            at a window, which the paper says of no scheme but Ideal-FQ. \
            \"not sticky\" is no choice of the paper's: a flow that has nothing in a switch for a moment gives up its queue. \
            ExpressPass is not there.",
    has_small: true,
    baseline: BFC,
    quantities: WITH_INCAST,
    claims: &[
        TAIL,
        TAIL_MOST,
        AVERAGE,
        AVERAGE_MOST,
        increase(
            "6.2.2",
            "p99 of short flows with HPCC above BFC's, Google",
            ("5 to 30 times", each(times(50))),
            SHORT_TAIL,
            &[HPCC, GOOGLE],
        ),
        increase(
            "6.2.2, Fig. 11(a)",
            "likewise, Facebook",
            ("similar trends", each(times(50))),
            SHORT_TAIL,
            &[HPCC, FACEBOOK],
        ),
        increase(
            "6.2.2, A.12",
            "p99 of incast flows with HPCC above BFC's, Google",
            ("2 times", each(times(20))),
            INCAST_TAIL,
            &[HPCC, GOOGLE],
        ),
        MEDIUM_FLOWS,
        SMALLER_BUFFERS,
        words(
            "6.2.2",
            "drops of HPCC without PFC",
            ("suffers packet loss", Criterion::Largest(Bound::Above(NONE))),
            (DROPPED, View::Itself),
            &[("scheme", "hpcc without pfc")],
        ),
        words(
            "6.2.2",
            "drops of BFC over a lossy buffer",
            NO_DROPS,
            (DROPPED, View::Itself),
            &[BFC],
        ),
    ],
    check: &[FACEBOOK, BFC],
};

pub(super) const FIG10: Figure = Figure {
    name: "fig10",
    also: &["fig11b"],
    title: "Fig. 10 and 11(b): flows by size without incasts (6.2.2)",
    notes: "A load of 60 %, arrivals for 5 ms; schemes as in the figure before.",
    has_small: true,
    baseline: BFC,
    quantities: QUANTITIES,
    claims: &[
        TAIL,
        AVERAGE,
        increase(
            "6.2.2",
            "p99 of short flows with HPCC above BFC's, Google",
            ("2.3 to 3 times", each(times(23))),
            SHORT_TAIL,
            &[HPCC, GOOGLE],
        ),
        increase(
            "6.2.2, Fig. 11(b)",
            "likewise, Facebook",
            ("similar trends", each(times(23))),
            SHORT_TAIL,
            &[HPCC, FACEBOOK],
        ),
        words(
            "6.2.2",
            "p99 of short flows with fair queues below BFC's",
            ("BFC closely tracks optimal", SIMILAR),
            (SHORT_TAIL, View::Reduction),
            &[FAIR_QUEUES],
        ),
        words(
            "6.2.2",
            "mean of long flows with fair queues below BFC's",
            ("BFC closely tracks optimal", SIMILAR),
            (LONG_MEAN, View::Reduction),
            &[FAIR_QUEUES],
        ),
        MEDIUM_FLOWS,
        words(
            "Fig. 10",
            "time paused by PFC",
            ("PFC was never triggered", each(Bound::AtMost(NONE))),
            (PFC_PAUSED, View::Itself),
            DEPLOYED,
        ),
    ],
    check: &[FACEBOOK, HPCC],
};

const UP_TO_80: [(&str, &str); 4] =
    [("load", "0.5"), ("load", "0.6"), ("load", "0.7"), ("load", "0.8")];

pub(super) const FIG12: Figure = Figure {
    name: "fig12",
    also: &[],
    title: "Fig. 12: by load (6.3)",
    notes: "Facebook, no incasts, arrivals for 5 ms. A fabric at 95 % fills for longer: a load at which flows pile up without bound is \
            not told from one at which they do not.",
    has_small: true,
    baseline: BFC,
    quantities: QUANTITIES,
    claims: &[
        increase(
            "6.3",
            "p99 of short flows above BFC 32's, loads up to 80 %",
            ("BFC 32 has the lower one", WORSE),
            SHORT_TAIL,
            &[HPCC, DCTCP, DCQCN, UP_TO_80[0], UP_TO_80[1], UP_TO_80[2], UP_TO_80[3]],
        ),
        increase(
            "6.3",
            "mean of long flows above BFC 32's, loads up to 80 %",
            ("BFC 32 has the higher throughput", WORSE),
            LONG_MEAN,
            &[HPCC, DCTCP, DCQCN, UP_TO_80[0], UP_TO_80[1], UP_TO_80[2], UP_TO_80[3]],
        ),
        words(
            "6.3",
            "p99 of short flows with BFC 32, loads up to 80 %",
            ("close to the perfect value of 1", each(Bound::AtMost(Decimal::per_mille(1100)))),
            (SHORT_TAIL, View::Itself),
            &[BFC, UP_TO_80[0], UP_TO_80[1], UP_TO_80[2], UP_TO_80[3]],
        ),
        words(
            "6.3",
            "p99 of short flows with BFC 128 below BFC 32's, loads from 90 %",
            ("BFC 128 has the better one", WORSE),
            (SHORT_TAIL, View::Reduction),
            &[("scheme", "bfc 128"), ("load", "0.9"), ("load", "0.95")],
        ),
    ],
    check: &[BFC, ("load", "0.95")],
};

pub(super) const FIG13: Figure = Figure {
    name: "fig13",
    also: &[],
    title: "Fig. 13: by degree of incasts (6.3)",
    notes: "Facebook, 55 % and 5 %, arrivals for 5 ms. The degrees between 10 and 2000 are ours.",
    has_small: true,
    baseline: BFC,
    quantities: WITH_INCAST,
    claims: &[
        increase(
            "6.3",
            "p99 of short flows with HPCC above BFC 32's, a degree of 2000",
            ("HPCC has the better one", each(Bound::AtMost(NONE))),
            SHORT_TAIL,
            &[HPCC, ("degree", "2000")],
        ),
        increase(
            "6.3",
            "mean of long flows with HPCC and DCTCP above BFC 32's, a degree of 2000",
            ("BFC 32 retains some of its advantage", WORSE),
            LONG_MEAN,
            &[HPCC, DCTCP, ("degree", "2000")],
        ),
        words(
            "6.3",
            "p99 of short flows with BFC 128 below BFC 32's",
            ("increasing the number of queues reduces collisions", WORSE),
            (SHORT_TAIL, View::Reduction),
            &[("scheme", "bfc 128"), ("degree", "500"), ("degree", "1000"), ("degree", "2000")],
        ),
    ],
    check: &[BFC, ("degree", "2000")],
};

const STOCHASTIC: (&str, &str) = ("scheme", "stochastic");

const fn stochastic(text: &'static str, quantity: usize) -> Claim {
    increase("A.10", text, ("much worse for all flow sizes", WORSE), quantity, &[STOCHASTIC])
}

pub(super) const FIG27: Figure = Figure {
    name: "fig27",
    also: &[],
    title: "Fig. 27: queues by hash (A.10)",
    notes: "The setup of Fig. 11(a). Collisions (Fig. 27(b)) are not counted.",
    has_small: true,
    baseline: BFC,
    quantities: WITH_INCAST,
    claims: &[
        stochastic("p99 of short flows with stochastic assignment, increase", SHORT_TAIL),
        stochastic("p99 of medium flows, likewise", MEDIUM_TAIL),
        stochastic("p99 of long flows, likewise", LONG_TAIL),
    ],
    check: &[STOCHASTIC],
};

const DEFAULT_TABLE: (&str, &str) = ("flow table", "100x");

pub(super) const FIG28: Figure = Figure {
    name: "fig28",
    also: &[],
    title: "Fig. 28: size of the flow table (A.11)",
    notes: "The setup of Fig. 11(a), 32 queues. Sizes are multiples of a port's queues; those but 100x are ours.",
    has_small: true,
    baseline: DEFAULT_TABLE,
    quantities: WITH_INCAST,
    claims: &[
        increase(
            "A.11",
            "p99 of short flows with a table of 10x, increase",
            ("degrades", WORSE),
            SHORT_TAIL,
            &[("flow table", "10x")],
        ),
        words(
            "A.11",
            "p99 of short flows with a table of 200x, reduction",
            ("moderately improves", WORSE),
            (SHORT_TAIL, View::Reduction),
            &[("flow table", "200x")],
        ),
    ],
    check: &[("flow table", "10x")],
};
