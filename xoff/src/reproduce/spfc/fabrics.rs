//! The testbed (Section VII-B), fabrics of several switches (Section VII-D), and headroom of another kind.

use super::{
    BUFFER, Bound, CONTROL, Cells, Claim, Criterion, DCQCN, DCQCN_HPCC, DT_2, Decimal, Expected,
    MORE, PAUSES_OF_BURST, PAUSES_OF_P0, Quantity, SCHEME, SPFC, SPFC_400, ST, Source, TIMELY,
    Unit, View, claim, plain,
};
use crate::reproduce::Figure;

const MEGABYTE: u64 = 1_000_000;
const LARGE_RATE: Quantity = Quantity {
    name: "mean rate of flows above 1 MB",
    unit: Unit::Gigabits,
    source: Source::RateAbove(MEGABYTE),
};
const PAUSE_DURATION: Quantity = Quantity {
    name: "pause duration",
    unit: Unit::Milliseconds,
    source: Source::Metric("pause_ordered_ns"),
};
const RATE_OF_P0: Quantity =
    Quantity { name: "rate of P0", unit: Unit::Gigabits, source: Source::MeanRate };
const RATE_OF_F1: Quantity =
    Quantity { name: "rate of F1", unit: Unit::Gigabits, source: Source::RateOf(0) };

const fn slowdown(name: &'static str, metric: &'static str) -> Quantity {
    plain(name, Source::Metric(metric))
}

pub(super) const FIG12: Figure = Figure {
    name: "fig12",
    also: &[],
    title: "Fig. 12: the testbed (VII-B)",
    notes: "10 Gbit/s; the burst lasts from 10 to 120 ms. DCQCN with its paper's parameters. Two ways from a host to the switch: \
            the paper has none. The runs are emulated as all others; no testbed is involved.",
    has_small: false,
    baseline: DT_2,
    quantities: &[PAUSES_OF_P0, PAUSES_OF_BURST, RATE_OF_P0, RATE_OF_F1],
    claims: &[
        claim(
            "VII-B",
            "rate of P0 with SPFC, 1 to 6 burst ports",
            ("does not decrease", Criterion::Each(Bound::AtLeast(NINE_TENTHS))),
            (2, View::Itself),
            &[SPFC],
            &["way"],
        ),
        claim(
            "VII-B",
            "PAUSEs at P0 with ST against DT, 6 burst ports, increase",
            ("ST performs the worst", MORE),
            (0, View::Increase),
            &[ST, ("N", "6")],
            &["way"],
        ),
        claim(
            "VII-B",
            "PAUSEs at P0, SPFC against DT, 6 burst ports, reduction",
            ("not too many", MORE),
            (0, View::Reduction),
            &[SPFC, ("N", "6")],
            &["way"],
        ),
    ],
    check: &[SPFC, ("N", "6")],
};

/// Of the 9.24 Gbit/s of payload that its link carries.
const NINE_TENTHS: Decimal = Decimal::per_mille(8316);

pub(super) const FIG17: Figure = Figure {
    name: "fig17",
    also: &[],
    title: "Fig. 17: deadlocks (VII-D)",
    notes: "A run ends at its first deadlock, or after 10 ms. t0 and t3 are asked for 600 Gbit/s over their one link of 400. The paper has 32 MB and \
            no runs without congestion control.",
    has_small: false,
    baseline: DT_2,
    quantities: &[
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
    ],
    claims: &[
        share("runs with a deadlock with DT, DCQCN", 612, &[DT_2, DCQCN]),
        share("runs with a deadlock with SPFC, DCQCN", 237, &[SPFC, SPFC_400, DCQCN]),
        share("runs with a deadlock with DT, TIMELY", 538, &[DT_2, TIMELY]),
        share("runs with a deadlock with SPFC, TIMELY", 209, &[SPFC, SPFC_400, TIMELY]),
        claim(
            "VII-D",
            "SPFC reduces the share of runs with a deadlock",
            ("from 61 to 24 %", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400],
            &[CONTROL, BUFFER, SCHEME],
        ),
    ],
    check: &[SPFC],
};

const fn share(text: &'static str, permille: i32, cells: Cells) -> Claim {
    let paper = Expected::About(Decimal::per_mille(permille));
    let holds = Criterion::within_a_fifth(paper);
    Claim {
        paper,
        ..claim("VII-D", text, ("", holds), (0, View::Itself), cells, &[BUFFER, SCHEME])
    }
}

pub(super) const TABLE3: Figure = Figure {
    name: "table3",
    also: &[],
    title: "Table III: throughput of large flows (VII-D)",
    notes: "32 hosts in two pods instead of 512 in eight, load 0.5. Flows start within 4 ms, and all complete. The rate of a flow is its bytes \
            over its completion time.",
    has_small: false,
    baseline: DT_2,
    quantities: &[LARGE_RATE, PAUSES_OF_ALL, PAUSE_DURATION],
    claims: &[claim(
        "Table III",
        "mean rate of large flows, SPFC against DT, increase",
        ("15.7 to 80 % more", Criterion::Each(Bound::AtLeast(Decimal::per_mille(126)))),
        (0, View::Increase),
        &[SPFC, SPFC_400],
        &[CONTROL, "workload", SCHEME],
    )],
    check: &[SPFC],
};

const PAUSES_OF_ALL: Quantity = plain("PAUSE frames", Source::Metric("pause_frames"));

pub(super) const FIG15: Figure = Figure {
    name: "fig15",
    also: &["fig16"],
    title: "Fig. 15 and 16: slowdowns by load (VII-D)",
    notes: "As Table III, with WebSearch. Loads are parts of the hosts' links.",
    has_small: false,
    baseline: DT_2,
    quantities: &[
        slowdown("slowdown above 1 MB", "labels.flows.sizes.above-1MB.slowdown.mean"),
        slowdown("slowdown above 1 MB p99", "labels.flows.sizes.above-1MB.slowdown.p99"),
        slowdown("slowdown up to 10 kB", "labels.flows.sizes.up-to-10kB.slowdown.mean"),
        slowdown("slowdown up to 10 kB p99", "labels.flows.sizes.up-to-10kB.slowdown.p99"),
        PAUSE_DURATION,
    ],
    claims: &[
        claim(
            "VII-D",
            "mean slowdown of large flows, SPFC against DT, loads of 0.7 and 0.9, reduction",
            ("the advantages become prominent above 0.5", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400, ("load", "0.7"), ("load", "0.9")],
            &[CONTROL, SCHEME],
        ),
        claim(
            "VII-D",
            "mean slowdown of small flows, SPFC against DT, increase, DCQCN",
            ("similar", Criterion::Each(Bound::AtMost(Decimal::per_mille(100)))),
            (2, View::Increase),
            &[SPFC, SPFC_400, DCQCN, DCQCN_HPCC],
            &[CONTROL, SCHEME],
        ),
    ],
    check: &[SPFC, ("load", "0.3")],
};

pub(super) const HEADROOM: Figure = Figure {
    name: "headroom",
    also: &[],
    title: "SPFC beside DSH's headroom, no figure of the paper",
    notes: "The burst of Fig. 5, N = 24. The second buffer has 16 MB beside SIH's headroom.",
    has_small: false,
    baseline: ("headroom", "sih"),
    quantities: &[PAUSES_OF_P0, PAUSES_OF_BURST, RATE_OF_P0, RATE_OF_F1],
    claims: &[],
    check: &[SPFC, ("headroom", "dsh")],
};
