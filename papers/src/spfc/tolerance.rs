//! Bursts among flows of WebSearch (Section VII-C).

use super::clos::PAUSE_DURATION;
use super::{
    Bound, CONTROL, Cells, Claim, Criterion, DCQCN, DCQCN_HPCC, DT_1, Decimal, Expected,
    FRAMES_TO_P0, MORE, NONE, P0, P0_IS_PAUSED, PAUSES_OF_BURST, PAUSES_OF_P0, Peers, Quantity,
    SCHEME, SPFC, SPFC_400, Source, TIMELY, Unit, View, XON_OFFSET, against_st, claim, plain,
};
use crate::Figure;

const H0: &str = "load of h0";
const BURSTS: &str = "bursts";
const READINGS: &[&str] = &[CONTROL, H0, BURSTS, SCHEME];

const PAUSES: Quantity = plain("PAUSEs", Source::Pauses(Peers::All));
const FRAMES: Quantity = plain("PAUSE frames", Source::PauseFrames(Peers::All));
const LARGE: Quantity =
    plain("slowdown of h0 above 1 MB", metric("labels.h0.sizes.above-1MB.slowdown.mean"));
const LARGE_P95: Quantity =
    plain("slowdown of h0 above 1 MB p95", metric("labels.h0.sizes.above-1MB.slowdown.p95"));
const SMALL: Quantity =
    plain("slowdown of h0 up to 10 kB", metric("labels.h0.sizes.up-to-10kB.slowdown.mean"));
const MIDDLE: Quantity =
    plain("slowdown of h0 100 kB to 1 MB", metric("labels.h0.sizes.100kB-to-1MB.slowdown.mean"));
const BURST_SMALL: Quantity =
    plain("slowdown of bursts up to 10 kB", metric("labels.burst.sizes.up-to-10kB.slowdown.mean"));
const BURST_LARGE: Quantity =
    plain("slowdown of bursts above 1 MB", metric("labels.burst.sizes.above-1MB.slowdown.mean"));

const BY_DCQCN: Cells = &[DCQCN, DCQCN_HPCC, SPFC, SPFC_400];
const BY_TIMELY: Cells = &[TIMELY, SPFC, SPFC_400];

const fn metric(name: &'static str) -> Source {
    Source::Metric(name)
}

/// Makes a claim on a reduction against DT that the paper gives in numbers.
const fn reduction(text: &'static str, permille: i32, quantity: usize, cells: Cells) -> Claim {
    reduction_of(text, permille, (quantity, View::Reduction), cells)
}

/// Makes a claim on PAUSEs summed over all seeds.
const fn in_all(text: &'static str, permille: i32, cells: Cells) -> Claim {
    reduction_of(text, permille, (0, View::TotalReduction), cells)
}

const fn reduction_of(
    text: &'static str,
    permille: i32,
    seen: (usize, View),
    cells: Cells,
) -> Claim {
    let paper = Expected::About(Decimal::per_mille(permille));
    let holds = Criterion::within_a_fifth(paper);
    Claim { paper, holds, ..claim("VII-C", text, ("", holds), seen, cells, READINGS) }
}

pub(super) const FIG13: Figure = Figure {
    name: "fig13",
    also: &["table2"],
    title: "Fig. 13 and Table II: burst tolerance (VII-C)",
    notes: "alpha 1. Flows start within 200 ms, and PAUSEs are counted in this time, over all ports and at P0; all flows complete. \
            WebSearch is W1 of Table II. The paper says \"pause rate\" of the switch here and \"on non-bursty ports\" in its abstract: both are judged.",
    has_small: false,
    baseline: DT_1,
    quantities: &[
        PAUSES,
        PAUSES_OF_P0,
        LARGE,
        LARGE_P95,
        SMALL,
        BURST_SMALL,
        BURST_LARGE,
        FRAMES,
        FRAMES_TO_P0,
        P0_IS_PAUSED,
        MIDDLE,
        PAUSE_DURATION,
    ],
    claims: &[
        reduction("SPFC reduces PAUSEs against DT, DCQCN", 316, 0, BY_DCQCN),
        reduction("PAUSEs at P0, likewise", 316, 1, BY_DCQCN),
        reduction("SPFC reduces PAUSEs against DT, TIMELY", 365, 0, BY_TIMELY),
        reduction("PAUSEs at P0, likewise", 365, 1, BY_TIMELY),
        reduction("mean slowdown of large flows of h0, DCQCN", 579, 2, BY_DCQCN),
        reduction("mean slowdown of large flows of h0, TIMELY", 394, 2, BY_TIMELY),
        in_all("PAUSEs against DT in all seeds, DCQCN", 316, BY_DCQCN),
        in_all("PAUSEs against DT in all seeds, TIMELY", 365, BY_TIMELY),
        against_st(reduction("SPFC reduces PAUSEs against ST, DCQCN", 690, 0, BY_DCQCN)),
        against_st(reduction("SPFC reduces PAUSEs against ST, TIMELY", 497, 0, BY_TIMELY)),
        against_st(in_all("PAUSEs against ST in all seeds, DCQCN", 690, BY_DCQCN)),
        against_st(in_all("PAUSEs against ST in all seeds, TIMELY", 497, BY_TIMELY)),
        against_st(reduction("large flows of h0 against ST, DCQCN", 835, 2, BY_DCQCN)),
        against_st(reduction("large flows of h0 against ST, TIMELY", 709, 2, BY_TIMELY)),
        claim(
            "VII-C",
            "slowdown of small flows of h0, increase, DCQCN",
            ("similar", Criterion::Each(Bound::AtMost(Decimal::per_mille(100)))),
            (4, View::Increase),
            BY_DCQCN,
            READINGS,
        ),
        middle("slowdown of h0's flows of 100 kB to 1 MB against DT, reduction, DCQCN", BY_DCQCN),
        against_st(middle("the same against ST, DCQCN", BY_DCQCN)),
        claim(
            "VII-C",
            "slowdown of large flows of bursts, increase",
            ("only small flows of H1-H29 take longer", Criterion::Each(Bound::AtMost(NONE))),
            (6, View::Increase),
            &[SPFC, SPFC_400],
            READINGS,
        ),
    ],
    check: &[("bursts", "without control"), SPFC],
};

/// "For flows (10KB-1MB), SPFC outperforms the other two schemes."
const fn middle(text: &'static str, cells: Cells) -> Claim {
    claim(
        "VII-C",
        text,
        ("outperforms the other two", MORE),
        (10, View::Reduction),
        cells,
        READINGS,
    )
}

pub(super) const FIG14: Figure = Figure {
    name: "fig14",
    also: &[],
    title: "Fig. 14: ingress queues that pause (VII-C)",
    notes: "DCQCN with its paper's parameters; h0 asks for 0.4 of r2's link. The ratio is the paper's: the bytes of P0 at its PAUSEs, \
            summed, over those of the other ports at theirs.",
    has_small: false,
    baseline: DT_1,
    quantities: &[
        Quantity {
            name: "burst queue at a PAUSE",
            unit: Unit::Kilobytes,
            source: Source::OccupancyAtPause(Peers::Except("h0")),
        },
        plain("P0's to the burst ports'", Source::OccupancyRatio(P0, Peers::Except("h0"))),
        PAUSES_OF_P0,
        PAUSES_OF_BURST,
    ],
    claims: &[
        claim(
            "Fig. 14(a)",
            "burst queue when it pauses, SPFC against DT, reduction",
            ("lowest with SPFC", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400],
            &[BURSTS, SCHEME],
        ),
        against_st(claim(
            "Fig. 14(a)",
            "burst queue when it pauses, SPFC against ST, reduction",
            ("lowest with SPFC", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400],
            &[BURSTS, SCHEME],
        )),
        claim(
            "Fig. 14(b)",
            "the ratio, SPFC against DT, reduction",
            ("significantly lower", Criterion::Each(Bound::AtLeast(Decimal::per_mille(100)))),
            (1, View::Reduction),
            &[SPFC, SPFC_400],
            &[BURSTS, SCHEME],
        ),
    ],
    check: &[("bursts", "without control"), SPFC],
};

const XON_READINGS: &[&str] = &[CONTROL, XON_OFFSET, SCHEME];

pub(super) const XON: Figure = Figure {
    name: "xon",
    also: &[],
    title: "Fig. 13 by the offset of X_on (VII-C)",
    notes: "h0 asks for 0.4 of r2's link, and nothing controls the bursts; DCQCN with its paper's parameters. The paper gives no offset of X_on; \
            HPCC's simulator has 3 kB.",
    has_small: false,
    baseline: DT_1,
    quantities: &[PAUSES, PAUSES_OF_P0, FRAMES, FRAMES_TO_P0, P0_IS_PAUSED, PAUSE_DURATION],
    claims: &[
        Claim {
            readings: XON_READINGS,
            ..reduction("by X_on: PAUSEs against DT, DCQCN", 316, 0, XON_DCQCN)
        },
        Claim {
            readings: XON_READINGS,
            ..in_all("by X_on: the same in all seeds, DCQCN", 316, XON_DCQCN)
        },
        Claim {
            readings: XON_READINGS,
            ..reduction("by X_on: PAUSEs at P0, DCQCN", 316, 1, XON_DCQCN)
        },
        Claim {
            readings: XON_READINGS,
            ..reduction("by X_on: PAUSEs against DT, TIMELY", 365, 0, BY_TIMELY)
        },
        Claim {
            readings: XON_READINGS,
            ..in_all("by X_on: the same in all seeds, TIMELY", 365, BY_TIMELY)
        },
        Claim {
            readings: XON_READINGS,
            ..reduction("by X_on: PAUSEs at P0, TIMELY", 365, 1, BY_TIMELY)
        },
    ],
    check: &[SPFC_400, (XON_OFFSET, "3 kB")],
};

const XON_DCQCN: Cells = &[DCQCN, SPFC, SPFC_400];
