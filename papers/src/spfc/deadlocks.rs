//! Deadlocks in a pod with a cycle of buffer dependency (Fig. 17).

use super::clos::PAUSE_DURATION;
use super::{
    BUFFER, CONTROL, Cells, Claim, Criterion, DCQCN, DT_2, Decimal, Expected, MORE, Quantity,
    SCHEME, SPFC, SPFC_400, Source, TIMELY, Unit, View, claim,
};
use crate::Figure;

const QUANTITIES: &[Quantity] = &[
    Quantity {
        name: "runs with a deadlock",
        unit: Unit::Percent,
        source: Source::Share("deadlock.at_end"),
    },
    Quantity {
        name: "onset",
        unit: Unit::Milliseconds,
        source: Source::Onset("deadlock.first_onset_ns"),
    },
    PAUSE_DURATION,
];

pub(super) const FIG17: Figure = Figure {
    name: "fig17",
    also: &[],
    title: "Fig. 17: deadlocks (VII-D)",
    notes: "A run ends at its first deadlock, or after 10 ms. t0 and t3 are asked for 600 Gbit/s over their one link of 400. The paper has 32 MB and \
            no runs without congestion control.",
    has_small: false,
    baseline: DT_2,
    quantities: QUANTITIES,
    claims: &[
        share("runs with a deadlock with DT, DCQCN", 612, &[DT_2, DCQCN, MB_32]),
        share("runs with a deadlock with SPFC, DCQCN", 237, &[SPFC, SPFC_400, DCQCN, MB_32]),
        share("runs with a deadlock with DT, TIMELY", 538, &[DT_2, TIMELY, MB_32]),
        share("runs with a deadlock with SPFC, TIMELY", 209, &[SPFC, SPFC_400, TIMELY, MB_32]),
        claim(
            "VII-D",
            "SPFC reduces the share of runs with a deadlock",
            ("from 61 to 24 %", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400, DCQCN, TIMELY, MB_32],
            &[CONTROL, SCHEME],
        ),
        claim(
            "beyond VII-D",
            "the same with 8 MB, or without congestion control",
            ("from 61 to 24 %", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400],
            &[CONTROL, BUFFER, SCHEME],
        ),
    ],
    check: &[SPFC],
};

/// Buffer of the paper.
const MB_32: (&str, &str) = (BUFFER, "32 MB");

const fn share(text: &'static str, permille: i32, cells: Cells) -> Claim {
    let paper = Expected::About(Decimal::per_mille(permille));
    let holds = Criterion::within_a_fifth(paper);
    Claim { paper, ..claim("VII-D", text, ("", holds), (0, View::Itself), cells, &[SCHEME]) }
}

pub(super) const DEADLOCKS: Figure = Figure {
    name: "deadlocks",
    also: &[],
    title: "Fig. 17 over many seeds, without congestion control (VII-D)",
    notes: "As Fig. 17, 32 MB, none of the paper's congestion controls. Seeds from 11 on: the first ten chose this setting.",
    has_small: false,
    baseline: DT_2,
    quantities: QUANTITIES,
    claims: &[fewer("many seeds, no control: SPFC reduces the share of runs with a deadlock")],
    check: &[DT_2],
};

pub(super) const DEADLOCKS_TIMELY: Figure = Figure {
    name: "deadlocks-timely",
    title: "Fig. 17 over many seeds, TIMELY with 8 MB (VII-D)",
    notes: "As Fig. 17, a quarter of the paper's buffer. Seeds from 11 on: the first ten chose this setting.",
    claims: &[fewer("many seeds, TIMELY, 8 MB: SPFC reduces the share of runs with a deadlock")],
    ..DEADLOCKS
};

const fn fewer(text: &'static str) -> Claim {
    let seen = (0, View::Reduction);
    claim("beyond VII-D", text, ("from 61 to 24 %", MORE), seen, &[SPFC, SPFC_400], &[SCHEME])
}
