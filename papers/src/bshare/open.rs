//! Questions that the paper leaves open, and claims without a figure.

use sweep::Decimal;

use super::{
    ABM, COMPARABLE, DT, FAIR_DROPS, FULL_DROPS, OCCUPANCY, OCCUPANCY_P99, QUERIES_MEAN,
    QUERIES_P99, QUERIES_P99_FCT, SCHEME, SHORT_P99, SOJOURN_DROPS, THRESHOLD_DROPS, UPLINKS,
    against, part, plain, read_by, words,
};
use crate::{Bound, Criterion, Figure, Quantity, Source, Unit, View};

const SETTING: &str = "setting";
/// All readings of BSHARE.
const ANY_BSHARE: super::Cells = &[
    super::BSHARE,
    (SCHEME, "bshare, MinBytes 15 kB"),
    (SCHEME, "bshare, MinBytes 100 kB"),
    (SCHEME, "bshare, first alpha 1"),
    (SCHEME, "bshare, first alpha 8"),
    (SCHEME, "bshare, c_p of the buffer"),
];
const READINGS: &[&str] = &[SETTING, SCHEME];

pub(super) const FIG2_OPEN: Figure = Figure {
    name: "fig2open",
    also: &[],
    title: "Fig. 2 at 40 % load, by what the paper leaves open",
    notes: "As Fig. 2. The FIFO is that of ABM's simulator below the queues of each port. Marks on ACKs are its as well, and so is an alpha of 1024 \
            in the first round trip. The paper has one queue for each output link in its Fig. 1, so ACKs may wait behind data. \
            \"c_p of the buffer\": a queue is congested that holds 9/10 of the buffer. \
            A p99 of the completion times of 5 ms or more has a retransmission timeout in it, of 5 or of 10 ms.",
    has_small: true,
    baseline: DT,
    quantities: &[
        QUERIES_P99,
        QUERIES_MEAN,
        QUERIES_P99_FCT,
        SHORT_P99,
        OCCUPANCY,
        OCCUPANCY_P99,
        UPLINKS,
        FULL_DROPS,
        SOJOURN_DROPS,
    ],
    claims: &[
        words(
            "V-1",
            "p99 completion time of queries with ABM",
            ("no timeout in it", Criterion::Each(Bound::AtMost(Decimal::whole(5)))),
            (2, View::Itself),
            &[ABM],
        ),
        read_by(
            words(
                "V-1",
                "p99 completion time of queries with BSHARE",
                ("no timeout in it", Criterion::Each(Bound::AtMost(Decimal::whole(5)))),
                (2, View::Itself),
                ANY_BSHARE,
            ),
            READINGS,
        ),
        read_by(
            words(
                "V-1",
                "p99 slowdown of queries, BSHARE below DT",
                ("88.86 % below four schemes", Criterion::Each(Bound::AtLeast(part(7109)))),
                (0, View::Reduction),
                ANY_BSHARE,
            ),
            READINGS,
        ),
        against(
            ABM,
            read_by(
                words(
                    "V-1",
                    "p99 slowdown of queries, BSHARE above ABM",
                    ("comparable", COMPARABLE),
                    (0, View::Increase),
                    ANY_BSHARE,
                ),
                READINGS,
            ),
        ),
    ],
    check: &[(SCHEME, "bshare, MinBytes 15 kB"), (SETTING, "FIFO of 100 packets")],
};

pub(super) const LOSSLESS: Figure = Figure {
    name: "lossless",
    also: &[],
    title: "Lossless traffic beside lossy buffers, no figure of the paper",
    notes: "Half of the switches' load is RoCE in a lossless priority with DCQCN, half Cubic and queries of 0.3 of the buffer in a lossy \
            one; SIH's headroom, DT with alpha 1 for PFC. Every switch has 3.93 MB here. \"Shared\": both take from one shared pool, of 2.48 MB \
            in leaves; \"apart\": lossy packets have 1 MB of their own, and lossless ones the rest. Flows start within 100 ms.",
    has_small: true,
    baseline: (SCHEME, "dt, shared"),
    quantities: &[
        plain("PAUSE frames", "pause_frames"),
        Quantity {
            name: "paused time of all ports",
            unit: Unit::Milliseconds,
            source: Source::Metric("paused_ns"),
        },
        plain("RoCE p99 slowdown", "labels.roce.slowdown.p99"),
        plain("RoCE mean slowdown", "labels.roce.slowdown.mean"),
        plain("RoCE up to 100 kB p99 slowdown", "labels.roce.sizes.up-to-100kB.slowdown.p99"),
        QUERIES_P99,
        QUERIES_MEAN,
        SHORT_P99,
        OCCUPANCY,
        THRESHOLD_DROPS,
        FULL_DROPS,
        SOJOURN_DROPS,
        FAIR_DROPS,
    ],
    claims: &[],
    check: &[(SCHEME, "cs, shared")],
};
