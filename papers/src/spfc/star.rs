//! One switch, a victim and a burst (Sections III-A, III-B and VII-A).

use super::{
    BUFFER, Bound, CONTROL, Cells, Claim, Criterion, DT_1, DT_2, DT_4, Decimal, Expected,
    FRAMES_TO_P0, MORE, NONE, P0_IS_PAUSED, PAUSES_OF_BURST, PAUSES_OF_P0, Quantity, SCHEME, SPFC,
    SPFC_400, ST, Source, Unit, View, XON_OFFSET, claim,
};
use crate::Figure;

const N_2: (&str, &str) = ("N", "2");
const N_4: (&str, &str) = ("N", "4");
const N_8: (&str, &str) = ("N", "8");
const N_16: (&str, &str) = ("N", "16");
const N_24: (&str, &str) = ("N", "24");
const N_29: (&str, &str) = ("N", "29");

const RATE_OF_P0: Quantity =
    Quantity { name: "rate of P0", unit: Unit::Gigabits, source: Source::MeanRate };
/// F1 is the first flow of its scenarios.
const RATE_OF_F1: Quantity =
    Quantity { name: "rate of F1", unit: Unit::Gigabits, source: Source::RateOf(0) };
const RECOVERY: Quantity =
    Quantity { name: "recovery of F1", unit: Unit::Milliseconds, source: Source::RecoveryOf(0) };
/// 64 % less than a link carries: 80 % within a fifth.
const A_FIFTH_OF_P0: Decimal = Decimal::per_mille(33_264);
const AT_MOST_A_TENTH: Criterion = Criterion::Each(Bound::AtMost(Decimal::per_mille(100)));
const ALL_READINGS: &[&str] = &[CONTROL, BUFFER, SCHEME];
const XON_READINGS: &[&str] = &[CONTROL, BUFFER, XON_OFFSET, SCHEME];

pub(super) const FIG04: Figure = Figure {
    name: "fig04",
    also: &[],
    title: "Fig. 4: a victim port during a burst (III)",
    notes: "PAUSEs are decisions from 1 to 12 ms, without refreshes. Rates are of payload, of which a link carries 92.4 Gbit/s, \
            over the same time. \"29, once\" is one flow of 64 kB from each. N = 24 is Fig. 5.",
    has_small: false,
    baseline: DT_2,
    quantities: &[
        PAUSES_OF_P0,
        PAUSES_OF_BURST,
        RATE_OF_P0,
        RATE_OF_F1,
        RECOVERY,
        FRAMES_TO_P0,
        P0_IS_PAUSED,
    ],
    claims: &[
        claim(
            "Fig. 5, IV-E",
            "PAUSEs at P0 with SPFC, N = 24",
            ("completely avoided", Criterion::Each(Bound::AtMost(NONE))),
            (0, View::Itself),
            &[SPFC, SPFC_400, N_24],
            ALL_READINGS,
        ),
        claim(
            "Fig. 5",
            "PAUSEs at P0 with DT and ST, N = 24",
            ("P0 pauses H0", MORE),
            (0, View::Itself),
            &[DT_1, DT_2, DT_4, ST, N_24],
            ALL_READINGS,
        ),
        claim(
            "Fig. 4(a)",
            "SPFC reduces PAUSEs at P0 against DT",
            ("eliminates them", Criterion::Each(Bound::AtLeast(Decimal::ONE))),
            (0, View::Reduction),
            &[SPFC, SPFC_400, N_16, N_24, N_29],
            ALL_READINGS,
        ),
        claim(
            "Fig. 4(b)",
            "rate of P0 with DT, N = 29",
            ("up to 80 % less", Criterion::Each(Bound::AtMost(A_FIFTH_OF_P0))),
            (2, View::Itself),
            &[DT_2, N_29],
            &[CONTROL, BUFFER],
        ),
        claim(
            "Fig. 4(b)",
            "throughput of P0 with SPFC against DT, increase",
            ("eliminates the victim phenomenon", MORE),
            (2, View::Increase),
            &[SPFC, SPFC_400, N_16, N_24, N_29],
            ALL_READINGS,
        ),
        claim(
            "VI",
            "rate of P0 with SPFC against DT, N of 4 and 8, reduction",
            ("the impact of misjudging ports is negligible", AT_MOST_A_TENTH),
            (2, View::Reduction),
            &[SPFC, SPFC_400, N_4, N_8],
            ALL_READINGS,
        ),
    ],
    check: &[("N", "24"), SPFC],
};

pub(super) const FIG04_XON: Figure = Figure {
    name: "fig04xon",
    also: &[],
    title: "Fig. 4 by the offset of X_on (III)",
    notes: "As Fig. 4. The paper gives no offset of X_on; HPCC's simulator has 3 kB.",
    has_small: false,
    baseline: DT_2,
    quantities: &[PAUSES_OF_P0, FRAMES_TO_P0, P0_IS_PAUSED, RATE_OF_P0, RATE_OF_F1],
    claims: &[
        claim(
            "Fig. 5, IV-E",
            "by X_on: PAUSEs at P0 with SPFC, N = 24",
            ("completely avoided", Criterion::Each(Bound::AtMost(NONE))),
            (0, View::Itself),
            &[SPFC, SPFC_400, N_24],
            XON_READINGS,
        ),
        claim(
            "Fig. 4(b)",
            "by X_on: throughput of P0 with SPFC against DT, increase",
            ("eliminates the victim phenomenon", MORE),
            (3, View::Increase),
            &[SPFC, SPFC_400],
            XON_READINGS,
        ),
    ],
    check: &[N_24, SPFC_400, (XON_OFFSET, "3 kB")],
};

pub(super) const STARTS: Figure = Figure {
    name: "starts",
    also: &[],
    title: "Fig. 4 by the start of the burst (III)",
    notes: "TIMELY, 16 MB with headroom. The paper's burst starts at 1 ms; each start finds TIMELY's rates in another phase.",
    has_small: false,
    baseline: DT_2,
    quantities: &[PAUSES_OF_P0, FRAMES_TO_P0, P0_IS_PAUSED, RATE_OF_P0, RATE_OF_F1],
    claims: &[
        claim(
            "Fig. 4(a)",
            "by start: PAUSEs at P0 with SPFC",
            ("eliminates them", Criterion::Each(Bound::AtMost(NONE))),
            (0, View::Itself),
            &[SPFC, SPFC_400, N_24, N_29],
            &["N", SCHEME, "start"],
        ),
        claim(
            "Fig. 4(b)",
            "by start: rate of P0 with DT",
            ("up to 80 % less", Criterion::Each(Bound::AtMost(A_FIFTH_OF_P0))),
            (3, View::Itself),
            &[DT_2, N_24, N_29],
            &["N", "start"],
        ),
        claim(
            "Fig. 4(b)",
            "by start: throughput of P0 with SPFC against DT, increase",
            ("eliminates the victim phenomenon", MORE),
            (3, View::Increase),
            &[SPFC, SPFC_400, N_24, N_29],
            &["N", SCHEME, "start"],
        ),
    ],
    check: &[N_24, SPFC_400],
};

pub(super) const FIG06_STARTS: Figure = Figure {
    name: "fig06starts",
    also: &[],
    title: "Fig. 6(a) by the start of the burst (III-B)",
    notes: "TIMELY, 16 MB with headroom, N = 20, a round trip of 20 us; the burst lasts for 20 ms. Each start finds TIMELY's rates in another phase.",
    has_small: false,
    baseline: DT_2,
    quantities: &[RECOVERY, PAUSES_OF_P0, RATE_OF_F1, P0_IS_PAUSED],
    claims: &[
        recovery_of_dt("by start: recovery of F1 with DT, in ms", &[DT_2], &["start"]),
        recovery_of_spfc("by start: the same with SPFC", BOTH_PERIODS, &[SCHEME, "start"]),
        longer_with_dt(
            "by start: it takes longer with DT than with SPFC",
            BOTH_PERIODS,
            &[SCHEME, "start"],
        ),
    ],
    check: &[SPFC_400],
};

/// Makes a quantity of the only switch: h0 is at port 2, h1 at port 3.
const fn level(name: &'static str, kind: &'static str, port: u32) -> Quantity {
    Quantity { name, unit: Unit::Kilobytes, source: Source::Level(kind, port) }
}

pub(super) const FIG05: Figure = Figure {
    name: "fig05",
    also: &[],
    title: "Fig. 5: ingress bytes, thresholds and rates during a burst (III)",
    notes: "N = 24, 16 MB with headroom; times are from the start of the burst on, which lasts 11 ms, and numbers are means over them, \
            from samples every 5 us. The burst port is that of h1. The threshold of a victim is the whole shared buffer.",
    has_small: false,
    baseline: DT_2,
    quantities: &[
        level("bytes of P0", "ingress", 2),
        level("threshold of P0", "threshold", 2),
        level("bytes of a burst port", "ingress", 3),
        level("its threshold", "threshold", 3),
        RATE_OF_F1,
        Quantity { name: "rate of F2", unit: Unit::Gigabits, source: Source::RateOf(1) },
        FRAMES_TO_P0,
    ],
    claims: &[],
    check: &[SPFC, ("time", "0.1 to 0.2 ms")],
};

const SHORT_TRIP: (&str, &str) = ("round trip", "20 us");
const BOTH_PERIODS: Cells = &[SPFC, SPFC_400];

/// Makes a claim on F1's recovery with DT, some 9 ms (Fig. 6(a)).
const fn recovery_of_dt(
    text: &'static str,
    cells: Cells,
    readings: &'static [&'static str],
) -> Claim {
    let paper = Expected::About(Decimal::whole(9));
    let holds = Criterion::within_a_fifth(paper);
    Claim { paper, ..claim("Fig. 6(a)", text, ("", holds), (0, View::Itself), cells, readings) }
}

/// Makes a claim on F1's recovery with SPFC, less than 1 ms.
const fn recovery_of_spfc(
    text: &'static str,
    cells: Cells,
    readings: &'static [&'static str],
) -> Claim {
    let holds = Criterion::Each(Bound::AtMost(Decimal::ONE));
    claim("Fig. 6(a)", text, ("less than 1 ms", holds), (0, View::Itself), cells, readings)
}

const fn longer_with_dt(
    text: &'static str,
    cells: Cells,
    readings: &'static [&'static str],
) -> Claim {
    let paper = ("9 ms against less than 1 ms", MORE);
    claim("Fig. 6(a)", text, paper, (0, View::Reduction), cells, readings)
}

pub(super) const FIG06: Figure = Figure {
    name: "fig06",
    also: &[],
    title: "Fig. 6: a longer burst, and longer round trips (III-B)",
    notes: "N = 20; the burst lasts from 1 to 21 ms. F1 has recovered when it has nine tenths of its rate before the burst, 46 Gbit/s, and keeps \
            them to the burst's end, in intervals of 20 us.",
    has_small: false,
    baseline: DT_2,
    quantities: &[RECOVERY, PAUSES_OF_P0, RATE_OF_F1, P0_IS_PAUSED],
    claims: &[
        recovery_of_dt("recovery of F1 with DT, in ms", &[DT_2, SHORT_TRIP], &[CONTROL, BUFFER]),
        recovery_of_spfc("the same with SPFC", &[SPFC, SPFC_400, SHORT_TRIP], ALL_READINGS),
        longer_with_dt(
            "it takes longer with DT than with SPFC",
            &[SPFC, SPFC_400, SHORT_TRIP],
            ALL_READINGS,
        ),
        Claim {
            against: Some(SHORT_TRIP),
            ..claim(
                "Fig. 6(b)",
                "P0 is paused for longer with DT, round trips of 40 and 80 us, than with 20",
                ("increases with the round trip", MORE),
                (3, View::Increase),
                &[DT_2, ("round trip", "40 us"), ("round trip", "80 us")],
                &[CONTROL, BUFFER],
            )
        },
        claim(
            "Fig. 6(b)",
            "P0 is paused for less time with SPFC than with DT",
            ("less with more buffer", MORE),
            (3, View::Reduction),
            &[SPFC, SPFC_400],
            &[CONTROL, BUFFER, "round trip", SCHEME],
        ),
    ],
    check: &[SPFC],
};

const K_5: (&str, &str) = (SCHEME, "spfc, K 5");
const MIXES: &[&str] = &["flows to r2", BUFFER];

pub(super) const FIG11: Figure = Figure {
    name: "fig11",
    also: &[],
    title: "Fig. 11: the choice of K (VII-A)",
    notes: "DCQCN with its paper's parameters; the period of counting is the default, four round trips between senders, 145 us.",
    has_small: false,
    baseline: K_5,
    quantities: &[PAUSES_OF_P0, PAUSES_OF_BURST, RATE_OF_P0],
    claims: &[
        claim(
            "VII-A",
            "PAUSEs at P0 with K of 7 and 9, N = 4, against K = 5, increase",
            ("a larger pause rate", MORE),
            (0, View::Increase),
            &[(SCHEME, "spfc, K 7"), (SCHEME, "spfc, K 9"), N_4],
            MIXES,
        ),
        claim(
            "VII-A",
            "rate of P0 with K = 3, N = 29, against K = 5",
            ("not a good throughput", MORE),
            (2, View::Reduction),
            &[(SCHEME, "spfc, K 3"), N_29],
            MIXES,
        ),
        claim(
            "VII-A",
            "rate of P0 with DT against K = 5",
            ("SPFC still performs better", MORE),
            (2, View::Reduction),
            &[DT_2, N_8, N_16, N_24, N_29],
            MIXES,
        ),
        claim(
            "VI",
            "rate of P0 with DT against K = 5, N of 2 and 4, increase",
            ("the impact of misjudging ports is negligible", AT_MOST_A_TENTH),
            (2, View::Increase),
            &[DT_2, N_2, N_4],
            MIXES,
        ),
    ],
    check: &[K_5, N_24],
};
