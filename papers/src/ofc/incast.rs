//! The incast scenario (Section IV-C1), and its unpublished constants.

use super::{
    Bound, CA_PFC, Cells, Claim, Criterion, Decimal, Figure, G_PFC, GFC, GFC_OFC, MORE, OFC, P_PFC,
    P_PFC_OFC, PAUSES, PFC, Quantity, Source, UNIFORM, View, below, kilobytes, microseconds, up_to,
    words,
};
use crate::Unit;

const ALL: usize = 0;
const UNCONGESTED: usize = 1;
const ALIKE: usize = 3;
const MEAN_UNCONGESTED: usize = 6;
const QUEUES: usize = 12;
const UNCONGESTED_QUEUES: usize = 13;
const CONGESTED_QUEUES: usize = 14;

const QUANTITIES: &[Quantity] = &[
    microseconds("longest FCT of all", "fct_ns.max"),
    microseconds("longest FCT of uncongested flows", "labels.uncongested.fct_ns.max"),
    microseconds("longest FCT of congested flows", "labels.congested.fct_ns.max"),
    Quantity {
        name: "mean FCT of long uncongested flows by congested ones",
        unit: Unit::Plain,
        source: Source::Ratio(
            "labels.uncongested.sizes.above-200kB.fct_ns.mean",
            "labels.congested.sizes.above-200kB.fct_ns.mean",
        ),
    },
    microseconds("shortest FCT of uncongested flows", "labels.uncongested.fct_ns.min"),
    microseconds("first quartile of uncongested flows", "labels.uncongested.fct_ns.p25"),
    microseconds("mean FCT of uncongested flows", "labels.uncongested.fct_ns.mean"),
    microseconds("third quartile of uncongested flows", "labels.uncongested.fct_ns.p75"),
    microseconds("shortest FCT of congested flows", "labels.congested.fct_ns.min"),
    microseconds("first quartile of congested flows", "labels.congested.fct_ns.p25"),
    microseconds("mean FCT of congested flows", "labels.congested.fct_ns.mean"),
    microseconds("third quartile of congested flows", "labels.congested.fct_ns.p75"),
    kilobytes("mean queue of all ports", "port_queues.mean"),
    kilobytes("mean queue of uncongested ports", "port_queues.labels.uncongested.mean"),
    kilobytes("mean queue of congested ports", "port_queues.labels.congested.mean"),
    microseconds("mean FCT of all", "fct_ns.mean"),
    PAUSES,
];

const INCAST: &str = "incast";
const TO_4: (&str, &str) = (INCAST, "4:1");
const TO_10: (&str, &str) = (INCAST, "10:1");

macro_rules! others {
    ($($more:expr),*) => {
        &[PFC, CA_PFC, P_PFC_OFC, P_PFC, GFC_OFC, GFC, G_PFC, $($more),*]
    };
}

/// All schemes except G-PFC.
const ONE_PRIORITY: Cells = &[PFC, CA_PFC, P_PFC_OFC, P_PFC, GFC_OFC, GFC];

/// The first number belongs to the kind of flows that gains least, the second to the kind that gains most: the
/// uncongested flows, according to the paper.
const fn fct(text: &'static str, basis_points: i32, cells: Cells) -> Claim {
    below("IV-C1", text, up_to(basis_points), UNCONGESTED, cells)
}

const fn queue(text: &'static str, basis_points: i32, cells: Cells) -> Claim {
    below("IV-C1", text, up_to(basis_points), QUEUES, cells)
}

pub(super) const FIG04: Figure = Figure {
    name: "fig04",
    also: &["fig05", "fig4", "fig5"],
    title: "Fig. 4 and 5: incasts (IV-C1)",
    notes: "The uncongested flows are those to a server at which there is no incast, the congested ones all that go to the one with the incast, \
            under every scheme. \"The time needed to transmit a group of flows\" is read as the longest. Queues are means over the 100 ms in which \
            flows start, of the ports that data of these flows leaves by. G-PFC: the bursts have the high priority.",
    has_small: true,
    baseline: OFC,
    quantities: QUANTITIES,
    claims: &[
        fct("longest FCT of uncongested flows, 4:1, OFC below the others", 2260, others![TO_4]),
        fct("the same, 6:1", 4306, others![(INCAST, "6:1")]),
        fct("the same, 8:1", 5455, others![(INCAST, "8:1")]),
        fct("the same, 10:1", 6028, others![TO_10]),
        words(
            "IV-C1",
            "the same of all flows, each ratio and scheme",
            ("lowers FCT of all network flows", MORE),
            (ALL, View::BaselineReduction),
            others![],
        ),
        words(
            "IV-C1",
            "the same without G-PFC, whose second priority has queues of its own",
            ("lowers FCT of all network flows", MORE),
            (ALL, View::BaselineReduction),
            ONE_PRIORITY,
        ),
        words(
            "beyond IV-C1",
            "mean FCT of uncongested flows, each ratio and scheme but G-PFC, OFC below",
            ("notably lower", MORE),
            (MEAN_UNCONGESTED, View::BaselineReduction),
            ONE_PRIORITY,
        ),
        words(
            "IV-C1",
            "mean FCT of long-lived flows, uncongested by congested, the others",
            ("uniform FCT levels", UNIFORM),
            (ALIKE, View::Itself),
            others![],
        ),
        words(
            "IV-C1",
            "the same, OFC",
            ("notably lower", Criterion::Each(Bound::AtMost(Decimal::per_mille(900)))),
            (ALIKE, View::Itself),
            &[OFC],
        ),
        queue("mean queue of all ports, 4:1, OFC below the others", 4933, others![TO_4]),
        queue("the same, 6:1", 5000, others![(INCAST, "6:1")]),
        queue("the same, 8:1", 5147, others![(INCAST, "8:1")]),
        queue("the same, 10:1", 4974, others![TO_10]),
        words(
            "IV-C1",
            "mean queue of uncongested ports, each ratio and scheme, OFC below",
            ("effectively reduces", MORE),
            (UNCONGESTED_QUEUES, View::BaselineReduction),
            others![],
        ),
        words(
            "IV-C1",
            "the same without G-PFC",
            ("effectively reduces", MORE),
            (UNCONGESTED_QUEUES, View::BaselineReduction),
            ONE_PRIORITY,
        ),
        words(
            "IV-C1",
            "mean queue of congested ports, each ratio and scheme, OFC below",
            ("effectively reduces", MORE),
            (CONGESTED_QUEUES, View::BaselineReduction),
            others![],
        ),
        Claim {
            against: Some(TO_4),
            ..words(
                "IV-C1",
                "mean queue of all ports, each scheme, 10:1 above 4:1",
                ("a concurrent increase", MORE),
                (QUEUES, View::Increase),
                &[TO_10],
            )
        },
    ],
    check: &[OFC, TO_10],
};

pub(super) const CONSTANTS: Figure = Figure {
    name: "constants",
    also: &[],
    title: "Constants that nobody has published, in the incast of 10:1",
    notes: "As Fig. 4. \"egress\" is the threshold of caPFC's egress queues, the first size of each scheme its first threshold of ingress queues; the \
            last number of GFC is its stages. The variants of Fig. 4 are among these.",
    has_small: true,
    baseline: OFC,
    quantities: QUANTITIES,
    claims: &[],
    check: &[OFC],
};
