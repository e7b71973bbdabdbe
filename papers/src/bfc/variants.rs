//! Variants of BFC in the simulations of 128 hosts: with end-to-end control, shortest remaining flow first, labels of
//! incasts, NICs without backpressure, and sampling (Appendices A.1, A.2, A.7 and A.8).

use sweep::Decimal;

use super::clos::{
    COLLIDED, DEPLOYMENT, DROPPED, HELD, HELD_MOST, INCAST_AVERAGE, LONG_MEAN, LONG_TAIL,
    QUANTITIES, RESENT_SHARE, SHORT_AVERAGE, SHORT_TAIL, VARIANTS, each, increase,
};
use super::{BFC, Cells, NO_DROPS, NONE, SIMILAR, WORSE, words};
use crate::{Bound, Claim, Criterion, Expected, Figure, View};

const WITH_RTT_TARGET: (&str, &str) = ("scheme", "bfc 32, rtt target");

const fn parts(least: i32, most: i32) -> Criterion {
    each(Bound::Between(Decimal::per_mille(least), Decimal::per_mille(most)))
}

/// "Within" a tenth means at most six fifths of a tenth, up and down.
const LONG_FLOWS_KEPT: Claim = increase(
    "A.1",
    "p99 of long flows with Algorithm 1, increase",
    ("similar (within 10 %)", parts(-120, 120)),
    LONG_TAIL,
    &[WITH_RTT_TARGET],
);

/// Makes a claim that Algorithm 1 reduces a quantity by about 30 %.
const fn thirty_off(text: &'static str, quantity: usize) -> Claim {
    let paper = Expected::About(Decimal::per_mille(300));
    let holds = Criterion::within_a_fifth(paper);
    let (view, cells) = (View::Reduction, &[WITH_RTT_TARGET]);
    Claim { place: "A.1", text, paper, holds, quantity, view, cells, readings: &[], against: None }
}

pub(super) const FIG16: Figure = Figure {
    name: "fig16",
    also: &["fig16a"],
    title: "Fig. 16(a): Algorithm 1 beside BFC, with incasts (A.1)",
    notes: "The setup of Fig. 11(a). \"peak buffer occupancy\" is read as the most that any switch holds.",
    has_small: true,
    baseline: BFC,
    quantities: VARIANTS,
    claims: &[
        LONG_FLOWS_KEPT,
        thirty_off("p99 of short flows with Algorithm 1, reduction", SHORT_TAIL),
        thirty_off("most that a switch holds with Algorithm 1, reduction", HELD_MOST),
    ],
    check: &[WITH_RTT_TARGET],
};

pub(super) const FIG16_WITHOUT: Figure = Figure {
    name: "fig16-without",
    also: &["fig16b"],
    title: "Fig. 16(b): Algorithm 1 beside BFC, without incasts (A.1)",
    notes: "The setup of Fig. 11(b).",
    has_small: true,
    baseline: BFC,
    quantities: QUANTITIES,
    claims: &[LONG_FLOWS_KEPT],
    check: &[WITH_RTT_TARGET],
};

const SRF: (&str, &str) = ("scheme", "bfc 32, srf");
const SRF_WITHOUT_PAUSES: (&str, &str) = ("scheme", "no pauses, srf");

pub(super) const FIG19: Figure = Figure {
    name: "fig19",
    also: &[],
    title: "Fig. 19: shortest remaining flow first, with incasts (A.2)",
    notes: "Loads of 55 % and 5 %, as in Fig. 9. Homa and IdealSRF are not there. \"no pauses, srf\" is the nearest to \
            IdealSRF+ECMP: 128 dynamic queues, no pauses, 200 MB, a window of one BDP. The paper's average is above that of the \
            other schemes; here it is compared with \"no pauses, srf\". \"bfc 128, srf\" is ours.",
    has_small: true,
    baseline: SRF_WITHOUT_PAUSES,
    quantities: VARIANTS,
    claims: &[increase(
        "A.2",
        "mean of short flows with BFC-SRF above that without pauses",
        ("higher with BFC-SRF, for it has collisions", WORSE),
        SHORT_AVERAGE,
        &[SRF],
    )],
    check: &[("workload", "facebook"), SRF],
};

const LABELS: (&str, &str) = ("scheme", "bfc 32, labels");
/// Incasts with more flows than a port has queues.
const LARGE_INCASTS: Cells = &[
    LABELS,
    ("degree", "100"),
    ("degree", "250"),
    ("degree", "500"),
    ("degree", "1000"),
    ("degree", "2000"),
];
const BEST: (&str, Criterion) =
    ("the best performance in all scenarios", each(Bound::AtMost(NONE)));

pub(super) const FIG24: Figure = Figure {
    name: "fig24",
    also: &[],
    title: "Fig. 24: incast flows in a queue of their own (A.7)",
    notes: "The setup of Fig. 13, whose degrees between 10 and 2000 are ours. Labelled flows share the last of a port's 32 \
            queues, which no other flow gets, and do not count among collisions. NICs have 32 queues as well, and do not keep \
            labelled flows apart.",
    has_small: true,
    baseline: BFC,
    quantities: VARIANTS,
    claims: &[
        increase("A.7", "p99 of short flows with labels, increase", BEST, SHORT_TAIL, &[LABELS]),
        increase("A.7", "mean of long flows, likewise", BEST, LONG_MEAN, &[LABELS]),
        words(
            "A.7",
            "share of collisions with labels, reduction, degrees above the number of queues",
            ("reduces collisions", each(Bound::AtLeast(Decimal::per_mille(100)))),
            (COLLIDED, View::Reduction),
            LARGE_INCASTS,
        ),
        increase(
            "A.7",
            "mean of incast flows with labels, increase",
            ("higher", WORSE),
            INCAST_AVERAGE,
            &[LABELS],
        ),
    ],
    check: &[LABELS, ("degree", "10")],
};

const WITHOUT_NIC: (&str, &str) = ("scheme", "bfc - nic");
const SAMPLING: (&str, &str) = ("scheme", "sampling");
/// By at most a tenth, up or down.
const NEARLY_IDENTICAL: (&str, Criterion) = ("nearly identical", parts(-100, 100));
/// 0.04 % of packets. Each packet and its ACK cross at most eight links, so this share of the hops is at least as much.
const FEW: Bound = Bound::AtMost(Decimal(50));

pub(super) const FIG25: Figure = Figure {
    name: "fig25",
    also: &[],
    title: "Fig. 25: NICs without backpressure, and sampling (A.8)",
    notes: "The setup of Fig. 11(a). \"sampling\" counts each packet with a probability of 1/2. Packets are not counted, hops are: a \
            packet and its ACK cross eight links between racks and four within one, so 0.04 % of the packets are 0.005 to 0.01 % of \
            the hops. With sampling a flow's own packets that are not counted are collisions, too: that share says nothing.",
    has_small: true,
    baseline: BFC,
    quantities: DEPLOYMENT,
    claims: &[
        increase(
            "A.8",
            "p99 of short flows without NICs, increase",
            ("similar", SIMILAR),
            SHORT_TAIL,
            &[WITHOUT_NIC],
        ),
        increase(
            "A.8",
            "p99 of what a switch holds, increase",
            ("increased buffering", WORSE),
            HELD,
            &[WITHOUT_NIC],
        ),
        words("A.8", "drops", NO_DROPS, (DROPPED, View::Itself), &[WITHOUT_NIC]),
        increase(
            "A.8",
            "p99 of short flows with sampling, increase",
            NEARLY_IDENTICAL,
            SHORT_TAIL,
            &[SAMPLING],
        ),
        increase(
            "A.8",
            "p99 of long flows with sampling, increase",
            NEARLY_IDENTICAL,
            LONG_TAIL,
            &[SAMPLING],
        ),
        increase(
            "A.8",
            "p99 of what a switch holds with sampling, increase",
            NEARLY_IDENTICAL,
            HELD,
            &[SAMPLING],
        ),
        words(
            "A.8",
            "packets sent again by packet-hops with sampling",
            ("fewer than 0.04 % of the packets", each(FEW)),
            (RESENT_SHARE, View::Itself),
            &[SAMPLING],
        ),
    ],
    check: &[WITHOUT_NIC],
};
