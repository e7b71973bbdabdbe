//! Queries and WebSearch with Cubic, by load and by the size of queries (Sections V-1 to V-3).

use super::{
    ABM, ABM_MARKED, BSHARE, COMPARABLE, CS, Cells, DT, FAB, FAIR_DROPS, FULL_DROPS, IB, MARKED,
    MORE, OCCUPANCY, OCCUPANCY_P99, QUERIES_MEAN, QUERIES_P99, QUERIES_P99_FCT, SHORT_P99, SIMILAR,
    SOJOURN_DROPS, THRESHOLD_DROPS, UPLINKS, against, on_average, part, words,
};
use crate::{Bound, Claim, Criterion, Expected, Figure, Quantity, View};

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

/// Makes the claim for BSHARE with marks on ACKs, with an unchanged criterion.
const fn marked(text: &'static str, claim: Claim) -> Claim {
    against(MARKED, Claim { text, ..claim })
}

/// Makes the claim for BSHARE with marks on ACKs, against ABM with these marks.
const fn beside_marked_abm(text: &'static str, claim: Claim) -> Claim {
    against(ABM_MARKED, Claim { text, cells: &[MARKED], ..claim })
}

const TAIL_AT_40: Claim = on_average(
    "V-1",
    "p99 slowdown of queries at 40 %, BSHARE below DT, FAB, CS, IB",
    8886,
    (P99, View::BaselineReduction),
    &[DT, FAB, CS, IB, LOAD_40],
);
const TAIL_AT_80: Claim = on_average(
    "V-1",
    "the same at 80 %",
    9370,
    (P99, View::BaselineReduction),
    &[DT, FAB, CS, IB, LOAD_80],
);
const TAIL_BESIDE_ABM: Claim = against(
    ABM,
    words(
        "V-1",
        "p99 slowdown of queries, BSHARE above ABM",
        ("comparable", COMPARABLE),
        (P99, View::Increase),
        &[BSHARE],
    ),
);
const SHORT_BESIDE_ABM: Claim = against(
    ABM,
    words(
        "Fig. 2(b)",
        "the same, BSHARE above ABM",
        ("comparable", COMPARABLE),
        (SHORT, View::Increase),
        &[BSHARE],
    ),
);
const LESS_BUFFER: Claim = on_average(
    "V-2",
    "mean occupancy over all loads, BSHARE below DT, FAB, CS, IB",
    4150,
    (MEAN_OCCUPANCY, View::BaselineReduction),
    &[DT, FAB, CS, IB],
);

const CONSISTENTLY: Claim = words(
    "V-1",
    "the same at 40, 60 and 80 %, each",
    ("consistently outperforms", MORE),
    (P99, View::BaselineReduction),
    &[DT, FAB, CS, IB, LOAD_40, LOAD_60, LOAD_80],
);
const SHORT_BELOW: Claim = words(
    "Fig. 2(b)",
    "p99 slowdown of short WebSearch flows at 40, 60 and 80 %, BSHARE below DT, FAB, CS, IB",
    ("outperforms other schemes", MORE),
    (SHORT, View::BaselineReduction),
    &[DT, FAB, CS, IB, LOAD_40, LOAD_60, LOAD_80],
);
const COMPARABLE_USE: Claim = words(
    "V-3",
    "use of uplinks, BSHARE below the others",
    ("comparable at all loads", COMPARABLE),
    (THROUGHPUT, View::BaselineReduction),
    &[DT, FAB, CS, IB, ABM],
);
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
        TAIL_AT_40,
        TAIL_AT_80,
        CONSISTENTLY,
        TAIL_BESIDE_ABM,
        SHORT_BELOW,
        SHORT_BESIDE_ABM,
        LESS_BUFFER,
        COMPARABLE_USE,
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
        marked(
            "ACKs marked: p99 slowdown of queries at 40 %, BSHARE below DT, FAB, CS, IB",
            TAIL_AT_40,
        ),
        marked("ACKs marked: the same at 80 %", TAIL_AT_80),
        marked("ACKs marked: the same at 40, 60 and 80 %, each", CONSISTENTLY),
        marked(
            "ACKs marked: p99 slowdown of short WebSearch flows at 40, 60 and 80 %, BSHARE below DT, FAB, CS, IB",
            SHORT_BELOW,
        ),
        marked("ACKs marked: use of uplinks, BSHARE below the others", COMPARABLE_USE),
        beside_marked_abm(
            "ACKs marked: p99 slowdown of queries, BSHARE above ABM",
            TAIL_BESIDE_ABM,
        ),
        beside_marked_abm(
            "ACKs marked: p99 slowdown of short WebSearch flows, BSHARE above ABM",
            SHORT_BESIDE_ABM,
        ),
        marked(
            "ACKs marked: mean occupancy over all loads, BSHARE below DT, FAB, CS, IB",
            LESS_BUFFER,
        ),
    ],
    check: &[BSHARE, LOAD_40],
};

const SIZE: &str = "size";
const EIGHTH: (&str, &str) = (SIZE, "0.125");
const HALF: (&str, &str) = (SIZE, "0.5");
const LARGE: (&str, &str) = (SIZE, "0.75");
const WHOLE: (&str, &str) = (SIZE, "1.0");

/// Makes a claim of more buffer at large requests. The paper does not say whether this is the mean or the tail.
const fn more_buffer(
    text: &'static str,
    basis_points: i32,
    quantity: usize,
    cells: Cells,
) -> Claim {
    on_average("V-2", text, basis_points, (quantity, View::BaselineIncrease), cells)
}

const TAIL_OF_AN_EIGHTH: Claim = on_average(
    "V-1",
    "p99 slowdown of queries of 12.5 %, BSHARE below DT, FAB, CS, IB",
    2585,
    (P99, View::BaselineReduction),
    &[DT, FAB, CS, IB, EIGHTH],
);
const TAIL_OF_A_HALF: Claim = Claim {
    paper: Expected::Over(part(8521)),
    ..words(
        "V-1",
        "the same of 50 %",
        ("", Criterion::Mean(Bound::AtLeast(part(8521)))),
        (P99, View::BaselineReduction),
        &[DT, FAB, CS, IB, HALF],
    )
};
const TAIL_CLOSE_TO_ABM: Claim = against(
    ABM,
    words(
        "V-1",
        "p99 slowdown of queries, BSHARE above ABM",
        ("comparable, close", COMPARABLE),
        (P99, View::Increase),
        &[BSHARE],
    ),
);
const MORE_BUFFER: Claim = more_buffer(
    "mean occupancy at large requests, BSHARE above DT, FAB, IB",
    1292,
    MEAN_OCCUPANCY,
    &[DT, FAB, IB, LARGE, WHOLE],
);

const STABLE_USE: Claim = words(
    "V-3",
    "use of uplinks, BSHARE below the others",
    ("stable at all sizes", COMPARABLE),
    (THROUGHPUT, View::BaselineReduction),
    &[DT, FAB, CS, IB, ABM],
);
const SHORT_SUPERIOR: Claim = words(
    "Fig. 3(b)",
    "p99 slowdown of short WebSearch flows, BSHARE below DT, FAB, CS, IB",
    ("superior", MORE),
    (SHORT, View::BaselineReduction),
    &[DT, FAB, CS, IB],
);
const MORE_IN_THE_TAIL: Claim = more_buffer(
    "p99 of occupancy at large requests, likewise",
    1292,
    TAIL_OCCUPANCY,
    &[DT, FAB, IB, LARGE, WHOLE],
);
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
        TAIL_OF_AN_EIGHTH,
        TAIL_OF_A_HALF,
        TAIL_CLOSE_TO_ABM,
        SHORT_SUPERIOR,
        MORE_BUFFER,
        MORE_IN_THE_TAIL,
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
        STABLE_USE,
        marked(
            "ACKs marked: p99 slowdown of queries of 12.5 %, BSHARE below DT, FAB, CS, IB",
            TAIL_OF_AN_EIGHTH,
        ),
        marked("ACKs marked: the same of 50 %", TAIL_OF_A_HALF),
        beside_marked_abm(
            "ACKs marked: p99 slowdown of queries, BSHARE above ABM",
            TAIL_CLOSE_TO_ABM,
        ),
        marked(
            "ACKs marked: mean occupancy at large requests, BSHARE above DT, FAB, IB",
            MORE_BUFFER,
        ),
        marked("ACKs marked: p99 of occupancy at large requests, likewise", MORE_IN_THE_TAIL),
        marked(
            "ACKs marked: p99 slowdown of short WebSearch flows, BSHARE below DT, FAB, CS, IB",
            SHORT_SUPERIOR,
        ),
        marked("ACKs marked: use of uplinks, BSHARE below the others", STABLE_USE),
        against(
            MARKED,
            more_buffer(
                "ACKs marked: mean occupancy at large requests, BSHARE above ABM",
                718,
                MEAN_OCCUPANCY,
                &[ABM_MARKED, LARGE, WHOLE],
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
