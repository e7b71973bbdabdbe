//! Fabrics of several switches (Section VII-D).

use super::{
    Bound, CONTROL, Cells, Claim, Criterion, DCQCN, DCQCN_HPCC, DT_2, Decimal, Expected, MORE,
    NONE, Quantity, SCHEME, SPFC, SPFC_400, ST, Source, TIMELY, Unit, View, claim, plain,
};
use crate::Figure;

const MEGABYTE: u64 = 1_000_000;
const LARGE_RATE: Quantity = Quantity {
    name: "mean rate of flows above 1 MB",
    unit: Unit::Gigabits,
    source: Source::RateAbove(MEGABYTE),
};
pub(super) const PAUSE_DURATION: Quantity = Quantity {
    name: "pause duration",
    unit: Unit::Milliseconds,
    source: Source::Metric("pause_ordered_ns"),
};
const LARGE: Quantity =
    slowdown("slowdown above 1 MB", "labels.flows.sizes.above-1MB.slowdown.mean");
const LARGE_P99: Quantity =
    slowdown("slowdown above 1 MB p99", "labels.flows.sizes.above-1MB.slowdown.p99");
const SMALL: Quantity =
    slowdown("slowdown up to 10 kB", "labels.flows.sizes.up-to-10kB.slowdown.mean");
const SMALL_P99: Quantity =
    slowdown("slowdown up to 10 kB p99", "labels.flows.sizes.up-to-10kB.slowdown.p99");
const WORKLOAD: &str = "workload";
const W1: (&str, &str) = (WORKLOAD, "W1");
const W2: (&str, &str) = (WORKLOAD, "W2");

const fn slowdown(name: &'static str, metric: &'static str) -> Quantity {
    plain(name, Source::Metric(metric))
}

/// Makes a claim of "up to" a reduction of the first quantity, over loads.
const fn up_to(
    text: &'static str,
    permille: i32,
    against: Option<(&'static str, &'static str)>,
    cells: Cells,
) -> Claim {
    let paper = Expected::UpTo(Decimal::per_mille(permille));
    let holds = Criterion::within_a_fifth(paper);
    Claim {
        paper,
        against,
        ..claim("VII-D", text, ("", holds), (0, View::Reduction), cells, &[CONTROL, SCHEME])
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
        &[CONTROL, WORKLOAD, SCHEME],
    )],
    check: &[SPFC],
};

const PAUSES_OF_ALL: Quantity = plain("PAUSE frames", Source::Metric("pause_frames"));

pub(super) const FIG15: Figure = Figure {
    name: "fig15",
    also: &["fig16"],
    title: "Fig. 15 and 16: slowdowns by load (VII-D)",
    notes: "As Table III, with WebSearch. Loads are parts of the hosts' links; the links above the racks are asked for 1.55 times as much of their rate, 1.94 times \
            in the paper's fabric.",
    has_small: false,
    baseline: DT_2,
    quantities: &[LARGE, LARGE_P99, SMALL, SMALL_P99, PAUSE_DURATION],
    claims: &[
        claim(
            "VII-D",
            "mean slowdown of large flows, SPFC against DT, loads of 0.7 and 0.9, reduction",
            ("the advantages become prominent above 0.5", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400, ("load", "0.7"), ("load", "0.9")],
            &[CONTROL, SCHEME],
        ),
        up_to(
            "mean slowdown of large flows, DCQCN",
            461,
            None,
            &[SPFC, SPFC_400, DCQCN, DCQCN_HPCC],
        ),
        up_to("the same against ST, DCQCN", 538, Some(ST), &[SPFC, SPFC_400, DCQCN, DCQCN_HPCC]),
        up_to("mean slowdown of large flows, TIMELY", 323, None, &[SPFC, SPFC_400, TIMELY]),
        up_to("the same against ST, TIMELY", 389, Some(ST), &[SPFC, SPFC_400, TIMELY]),
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

pub(super) const FIG15_FULL: Figure = Figure {
    name: "fig15full",
    also: &[],
    title: "Fig. 15 and 16 and Table III at full size (VII-D)",
    notes: "512 hosts in eight pods, load 0.7 alone, WebSearch (W1) and Hadoop (W2). Flows start within 4 ms, and all complete. The links above the racks are asked \
            for 1.36 of their rate, so slowdowns grow with the time in which flows start. Table III has a load of 0.5.",
    has_small: false,
    baseline: DT_2,
    quantities: &[LARGE, LARGE_P99, SMALL, SMALL_P99, LARGE_RATE, PAUSES_OF_ALL, PAUSE_DURATION],
    claims: &[
        claim(
            "VII-D",
            "512 hosts: mean slowdown of large flows, SPFC against DT, reduction",
            ("the advantages become prominent above 0.5", MORE),
            (0, View::Reduction),
            &[SPFC, SPFC_400, W1],
            &[CONTROL, SCHEME],
        ),
        up_to(
            "512 hosts: mean slowdown of large flows, DCQCN",
            461,
            None,
            &[SPFC, SPFC_400, DCQCN, W1],
        ),
        up_to("512 hosts: the same against ST, DCQCN", 538, Some(ST), &[SPFC, SPFC_400, DCQCN, W1]),
        up_to(
            "512 hosts: mean slowdown of large flows, TIMELY",
            323,
            None,
            &[SPFC, SPFC_400, TIMELY, W1],
        ),
        up_to(
            "512 hosts: the same against ST, TIMELY",
            389,
            Some(ST),
            &[SPFC, SPFC_400, TIMELY, W1],
        ),
        claim(
            "VII-D",
            "512 hosts: mean slowdown of small flows, SPFC against DT, increase, DCQCN",
            ("similar", Criterion::Each(Bound::AtMost(Decimal::per_mille(100)))),
            (2, View::Increase),
            &[SPFC, SPFC_400, DCQCN, W1],
            &[SCHEME],
        ),
        claim(
            "Table III",
            "512 hosts, load 0.7 instead of 0.5: mean rate of large flows, SPFC against DT, increase",
            ("15.7 to 80 % more", Criterion::Each(Bound::AtLeast(Decimal::per_mille(126)))),
            (4, View::Increase),
            &[SPFC, SPFC_400],
            &[CONTROL, WORKLOAD, SCHEME],
        ),
    ],
    check: &[SPFC, W2, DCQCN],
};

pub(super) const FIG18: Figure = Figure {
    name: "fig18",
    also: &[],
    title: "Fig. 18: completion times in the pod with a circle (VII-D)",
    notes: "Load 0.5, as in Fig. 17. Flows start within 4 ms; a run goes on until all are done, or to 100 ms where a deadlock holds them.",
    has_small: false,
    baseline: ST,
    quantities: &[
        slowdown("slowdown up to 10 kB p95", "labels.flows.sizes.up-to-10kB.slowdown.p95"),
        LARGE,
        SMALL,
        PAUSES_OF_ALL,
        PAUSE_DURATION,
        Quantity {
            name: "runs with a deadlock",
            unit: Unit::Percent,
            source: Source::Share("deadlock.at_end"),
        },
    ],
    claims: &[
        claim(
            "Fig. 18",
            "slowdown of large flows, SPFC against ST, W1, reduction",
            ("slightly better than ST", Criterion::Each(Bound::Above(NONE))),
            (1, View::Reduction),
            &[SPFC, SPFC_400, W1],
            &[CONTROL, SCHEME],
        ),
        Claim {
            against: Some(DT_2),
            ..claim(
                "Fig. 18",
                "slowdown of large flows, SPFC against DT, W1, increase",
                ("similar to DT", Criterion::Each(Bound::AtMost(Decimal::per_mille(100)))),
                (1, View::Increase),
                &[SPFC, SPFC_400, W1],
                &[CONTROL, SCHEME],
            )
        },
        fig18("p95 of small flows, SPFC against ST, W2", 459, 0, &[SPFC, SPFC_400, W2]),
        fig18("mean of large flows, SPFC against ST, W2", 533, 1, &[SPFC, SPFC_400, W2]),
        fig18("p95 of small flows, SPFC against ST, W1 or W2", 459, 0, &[SPFC, SPFC_400]),
        fig18("mean of large flows, SPFC against ST, W1 or W2", 533, 1, &[SPFC, SPFC_400]),
    ],
    check: &[SPFC, W2, TIMELY],
};

/// Makes a claim "up to", for any congestion control. The sentence follows one on W2, and does not name the workload.
const fn fig18(text: &'static str, permille: i32, quantity: usize, cells: Cells) -> Claim {
    let paper = Expected::UpTo(Decimal::per_mille(permille));
    let holds = Criterion::within_a_fifth(paper);
    let seen = (quantity, View::Reduction);
    Claim { paper, ..claim("Fig. 18", text, ("", holds), seen, cells, &[SCHEME]) }
}
