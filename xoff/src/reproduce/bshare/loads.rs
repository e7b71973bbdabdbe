//! Queries and WebSearch with Cubic, by load and by the size of queries (Sections V-1 to V-3).

use super::{
    ABM, ABM_MARKED, BSHARE, COMPARABLE, CS, Cells, DT, FAB, FAIR_DROPS, FULL_DROPS, IB, MARKED,
    MORE, OCCUPANCY, OCCUPANCY_P99, QUERIES_MEAN, QUERIES_P99, QUERIES_P99_FCT, SHORT_P99, SIMILAR,
    SOJOURN_DROPS, THRESHOLD_DROPS, UPLINKS, against, on_average, part, words,
};
use crate::reproduce::{Bound, Claim, Criterion, Expected, Figure, Quantity, View};

const QUANTITIES: &[Quantity] = &[
    QUERIES_P99,
    QUERIES_MEAN,
    QUERIES_P99_FCT,
    SHORT_P99,
    OCCUPANCY,
    OCCUPANCY_P99,
    UPLINKS,
    THRESHOLD_DROPS,
    FULL_DROPS,
    SOJOURN_DROPS,
    FAIR_DROPS,
];
const P99: usize = 0;
const SHORT: usize = 3;
const MEAN_OCCUPANCY: usize = 4;
const TAIL_OCCUPANCY: usize = 5;
const THROUGHPUT: usize = 6;

const LOAD: &str = "load";
const LOAD_20: (&str, &str) = (LOAD, "0.2");
const LOAD_40: (&str, &str) = (LOAD, "0.4");
const LOAD_60: (&str, &str) = (LOAD, "0.6");
const LOAD_80: (&str, &str) = (LOAD, "0.8");

pub(super) const FIG02: Figure = Figure {
    name: "fig02",
    also: &["fig2"],
    title: "Fig. 2: by load (V-1 to V-3)",
    notes: "256 servers at full size, Cubic, queries of 0.3 of a leaf's buffer. Flows start within 100 ms. Occupancy and use of links are \
            those of these 100 ms. Drops are those of all switches. \"ACKs marked\": as packets of a first round trip, which ABM's simulator \
            does; the other schemes do not look at marks.",
    has_small: true,
    baseline: BSHARE,
    quantities: QUANTITIES,
    claims: &[
        words(
            "V-1",
            "p99 slowdown of queries at 20 %, BSHARE below DT, FAB, CS, IB, ABM",
            ("similar", SIMILAR),
            (P99, View::BaselineReduction),
            &[DT, FAB, CS, IB, ABM, LOAD_20],
        ),
        on_average(
            "V-1",
            "p99 slowdown of queries at 40 %, BSHARE below DT, FAB, CS, IB",
            8886,
            (P99, View::BaselineReduction),
            &[DT, FAB, CS, IB, LOAD_40],
        ),
        on_average(
            "V-1",
            "the same at 80 %",
            9370,
            (P99, View::BaselineReduction),
            &[DT, FAB, CS, IB, LOAD_80],
        ),
        words(
            "V-1",
            "the same at 40, 60 and 80 %, each",
            ("consistently outperforms", MORE),
            (P99, View::BaselineReduction),
            &[DT, FAB, CS, IB, LOAD_40, LOAD_60, LOAD_80],
        ),
        against(
            ABM,
            words(
                "V-1",
                "p99 slowdown of queries, BSHARE above ABM",
                ("comparable", COMPARABLE),
                (P99, View::Increase),
                &[BSHARE],
            ),
        ),
        words(
            "Fig. 2(b)",
            "p99 slowdown of short WebSearch flows at 40, 60 and 80 %, BSHARE below DT, FAB, CS, IB",
            ("outperforms other schemes", MORE),
            (SHORT, View::BaselineReduction),
            &[DT, FAB, CS, IB, LOAD_40, LOAD_60, LOAD_80],
        ),
        against(
            ABM,
            words(
                "Fig. 2(b)",
                "the same, BSHARE above ABM",
                ("comparable", COMPARABLE),
                (SHORT, View::Increase),
                &[BSHARE],
            ),
        ),
        on_average(
            "V-2",
            "mean occupancy over all loads, BSHARE below DT, FAB, CS, IB",
            4150,
            (MEAN_OCCUPANCY, View::BaselineReduction),
            &[DT, FAB, CS, IB],
        ),
        words(
            "V-3",
            "use of uplinks, BSHARE below the others",
            ("comparable at all loads", COMPARABLE),
            (THROUGHPUT, View::BaselineReduction),
            &[DT, FAB, CS, IB, ABM],
        ),
        against(
            MARKED,
            words(
                "V-1",
                "ACKs marked: p99 slowdown of queries at 20 %, BSHARE below DT, FAB, CS, IB",
                ("similar", SIMILAR),
                (P99, View::BaselineReduction),
                &[DT, FAB, CS, IB, LOAD_20],
            ),
        ),
        against(
            MARKED,
            on_average(
                "V-1",
                "ACKs marked: p99 slowdown of queries at 40 %, BSHARE below DT, FAB, CS, IB",
                8886,
                (P99, View::BaselineReduction),
                &[DT, FAB, CS, IB, LOAD_40],
            ),
        ),
        against(
            MARKED,
            on_average(
                "V-1",
                "ACKs marked: the same at 80 %",
                9370,
                (P99, View::BaselineReduction),
                &[DT, FAB, CS, IB, LOAD_80],
            ),
        ),
        against(
            ABM_MARKED,
            words(
                "V-1",
                "ACKs marked: p99 slowdown of queries, BSHARE above ABM",
                ("comparable", COMPARABLE),
                (P99, View::Increase),
                &[MARKED],
            ),
        ),
        against(
            ABM_MARKED,
            words(
                "Fig. 2(b)",
                "ACKs marked: p99 slowdown of short WebSearch flows, BSHARE above ABM",
                ("comparable", COMPARABLE),
                (SHORT, View::Increase),
                &[MARKED],
            ),
        ),
        against(
            MARKED,
            on_average(
                "V-2",
                "ACKs marked: mean occupancy over all loads, BSHARE below DT, FAB, CS, IB",
                4150,
                (MEAN_OCCUPANCY, View::BaselineReduction),
                &[DT, FAB, CS, IB],
            ),
        ),
    ],
    check: &[BSHARE, LOAD_40],
};

const SIZE: &str = "size";
const EIGHTH: (&str, &str) = (SIZE, "0.125");
const HALF: (&str, &str) = (SIZE, "0.5");
const LARGE: (&str, &str) = (SIZE, "0.75");
const WHOLE: (&str, &str) = (SIZE, "1.0");

/// More buffer at large requests; the paper does not say whether in the mean or in the tail.
const fn more_buffer(
    text: &'static str,
    basis_points: i32,
    quantity: usize,
    cells: Cells,
) -> Claim {
    on_average("V-2", text, basis_points, (quantity, View::BaselineIncrease), cells)
}

pub(super) const FIG03: Figure = Figure {
    name: "fig03",
    also: &["fig3"],
    title: "Fig. 3: by the size of queries (V-1 to V-3)",
    notes: "As Fig. 2, at 40 % load. Sizes are parts of a leaf's buffer, up to the whole of it, as the text has it. \
            \"Large requests\" are 0.75 and 1.",
    has_small: true,
    baseline: BSHARE,
    quantities: QUANTITIES,
    claims: &[
        on_average(
            "V-1",
            "p99 slowdown of queries of 12.5 %, BSHARE below DT, FAB, CS, IB",
            2585,
            (P99, View::BaselineReduction),
            &[DT, FAB, CS, IB, EIGHTH],
        ),
        Claim {
            paper: Expected::Over(part(8521)),
            ..words(
                "V-1",
                "the same of 50 %",
                ("", Criterion::Mean(Bound::AtLeast(part(8521)))),
                (P99, View::BaselineReduction),
                &[DT, FAB, CS, IB, HALF],
            )
        },
        against(
            ABM,
            words(
                "V-1",
                "p99 slowdown of queries, BSHARE above ABM",
                ("comparable, close", COMPARABLE),
                (P99, View::Increase),
                &[BSHARE],
            ),
        ),
        words(
            "Fig. 3(b)",
            "p99 slowdown of short WebSearch flows, BSHARE below DT, FAB, CS, IB",
            ("superior", MORE),
            (SHORT, View::BaselineReduction),
            &[DT, FAB, CS, IB],
        ),
        more_buffer(
            "mean occupancy at large requests, BSHARE above DT, FAB, IB",
            1292,
            MEAN_OCCUPANCY,
            &[DT, FAB, IB, LARGE, WHOLE],
        ),
        more_buffer(
            "p99 of occupancy at large requests, likewise",
            1292,
            TAIL_OCCUPANCY,
            &[DT, FAB, IB, LARGE, WHOLE],
        ),
        more_buffer(
            "mean occupancy at large requests, BSHARE above ABM",
            718,
            MEAN_OCCUPANCY,
            &[ABM, LARGE, WHOLE],
        ),
        more_buffer(
            "p99 of occupancy at large requests, likewise",
            718,
            TAIL_OCCUPANCY,
            &[ABM, LARGE, WHOLE],
        ),
        words(
            "V-3",
            "use of uplinks, BSHARE below the others",
            ("stable at all sizes", COMPARABLE),
            (THROUGHPUT, View::BaselineReduction),
            &[DT, FAB, CS, IB, ABM],
        ),
        against(
            MARKED,
            on_average(
                "V-1",
                "ACKs marked: p99 slowdown of queries of 12.5 %, BSHARE below DT, FAB, CS, IB",
                2585,
                (P99, View::BaselineReduction),
                &[DT, FAB, CS, IB, EIGHTH],
            ),
        ),
        against(
            MARKED,
            Claim {
                paper: Expected::Over(part(8521)),
                ..words(
                    "V-1",
                    "ACKs marked: the same of 50 %",
                    ("", Criterion::Mean(Bound::AtLeast(part(8521)))),
                    (P99, View::BaselineReduction),
                    &[DT, FAB, CS, IB, HALF],
                )
            },
        ),
        against(
            ABM_MARKED,
            words(
                "V-1",
                "ACKs marked: p99 slowdown of queries, BSHARE above ABM",
                ("comparable, close", COMPARABLE),
                (P99, View::Increase),
                &[MARKED],
            ),
        ),
        against(
            MARKED,
            more_buffer(
                "ACKs marked: mean occupancy at large requests, BSHARE above DT, FAB, IB",
                1292,
                MEAN_OCCUPANCY,
                &[DT, FAB, IB, LARGE, WHOLE],
            ),
        ),
        against(
            MARKED,
            more_buffer(
                "ACKs marked: p99 of occupancy at large requests, BSHARE above ABM",
                718,
                TAIL_OCCUPANCY,
                &[ABM_MARKED, LARGE, WHOLE],
            ),
        ),
    ],
    check: &[BSHARE, HALF],
};
