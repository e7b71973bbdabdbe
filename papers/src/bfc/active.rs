//! Numbers of active flows (Sections 2.1, 2.3 and 6.2.2).

use sweep::Decimal;

use super::{BFC, COLLISIONS, Cells, DROPS, NONE, WORSE, plain, words};
use crate::{Bound, Claim, Criterion, Figure, Quantity, View};

const FAIR_QUEUES: (&str, &str) = ("scheduling", "fair queues");
const HUNDRED: (&str, &str) = ("speed", "100");
const P99: usize = 3;

const fn at_most(flows: i32) -> Criterion {
    Criterion::Each(Bound::AtMost(Decimal::whole(flows)))
}

/// Makes a claim on the change of a fair share at 100 Gbit/s relative to 10 Gbit/s.
const fn faster(text: &'static str, workload: Cells) -> Claim {
    words(
        "2.1",
        text,
        ("changes more rapidly as link speeds increase", WORSE),
        (0, View::Increase),
        workload,
    )
}

pub(super) const FIG03: Figure = Figure {
    name: "fig03",
    also: &["fig3"],
    title: "Fig. 3: changes of the fair share (2.1)",
    notes: "A long flow beside cross-traffic at 60 %, as for Table 1; sizes of each workload, lognormal arrivals with a sigma of 2. \
            N is the number of flows with packets at the link under almost fair queueing: 128 dynamic queues, no pauses. The \
            change is the mean of the paper's formula from each sample to the next. The intervals are ours: of the paper's \
            only the order of magnitude is known, an RTT.",
    has_small: false,
    baseline: ("speed", "10"),
    quantities: &[
        plain("change of the share", "active_flows.busiest_share_change"),
        plain("active flows mean", "active_flows.busiest.mean"),
        plain("active flows p99", "active_flows.busiest.p99"),
        DROPS,
    ],
    claims: &[
        faster("change at 100 Gbit/s above that at 10, Google", &[HUNDRED, ("workload", "google")]),
        faster("likewise, Facebook", &[HUNDRED, ("workload", "facebook")]),
        faster("likewise, WebSearch", &[HUNDRED, ("workload", "websearch")]),
    ],
    check: &[HUNDRED, ("workload", "google"), ("interval", "8us")],
};

const LINK: &[Quantity] = &[
    plain("active flows mean", "active_flows.busiest.mean"),
    plain("active flows p50", "active_flows.busiest.p50"),
    plain("active flows p90", "active_flows.busiest.p90"),
    plain("active flows p99", "active_flows.busiest.p99"),
    plain("most active flows", "active_flows.busiest.max"),
    DROPS,
];

pub(super) const FIG04: Figure = Figure {
    name: "fig04",
    also: &["fig4"],
    title: "Fig. 4: active flows at a link (2.3)",
    notes: "Google, lognormal arrivals with a sigma of 2, from 16 hosts whose links are as fast as the one that they share; \
            load with headers. As much time as 50 ms at 100 Gbit/s, sampled 500 times. \"fair queues\" and \"srf\" have 128 \
            dynamic queues and no pauses, \"fifo\" has one; flows with one entry of the table of 12,800 count once.",
    has_small: false,
    baseline: FAIR_QUEUES,
    quantities: LINK,
    claims: &[
        words(
            "2.3",
            "p99 at 100 Gbit/s under fair queueing, loads up to 85 %",
            (
                "exceeds the queues only for loads above 85 %; Section 3.1 has 32 at 100 Gbit/s",
                at_most(32),
            ),
            (P99, View::Itself),
            &[FAIR_QUEUES, HUNDRED, ("load", "0.5"), ("load", "0.7"), ("load", "0.85")],
        ),
        words(
            "2.3",
            "likewise, 95 %",
            ("exceeds them there", Criterion::Each(Bound::Above(Decimal::whole(32)))),
            (P99, View::Itself),
            &[FAIR_QUEUES, HUNDRED, ("load", "0.95")],
        ),
        words(
            "2.3",
            "p99 with SRF above fair queueing's",
            ("holds even more strongly", Criterion::Each(Bound::AtMost(NONE))),
            (P99, View::Increase),
            &[("scheduling", "srf")],
        ),
        words(
            "2.3",
            "p99 with FIFO above fair queueing's",
            ("much larger", Criterion::Each(Bound::AtLeast(Decimal::whole(1)))),
            (P99, View::Increase),
            &[("scheduling", "fifo")],
        ),
    ],
    check: &[FAIR_QUEUES, HUNDRED, ("load", "0.85")],
};

pub(super) const FIG10C: Figure = Figure {
    name: "fig10c",
    also: &[],
    title: "Fig. 10(c): active flows at ports (6.2.2)",
    notes: "The setups of Fig. 9 and 10, Google. Of all ports of switches that ever had a flow, in the 5 ms of arrivals, sampled every \
            20 us.",
    has_small: true,
    baseline: ("incasts", "without"),
    quantities: &[
        plain("active flows mean", "active_flows.ports.mean"),
        plain("active flows p50", "active_flows.ports.p50"),
        plain("active flows p90", "active_flows.ports.p90"),
        plain("active flows p99", "active_flows.ports.p99"),
        plain("most active flows", "active_flows.ports.max"),
        COLLISIONS,
        DROPS,
    ],
    claims: &[
        words(
            "6.2.2",
            "p99 without incasts",
            ("smaller than the queues (32) 99 % of the time", at_most(31)),
            (P99, View::Itself),
            &[("incasts", "without"), BFC],
        ),
        words(
            "6.2.2",
            "p99 with incasts above that without",
            ("increases", WORSE),
            (P99, View::Increase),
            &[("incasts", "with")],
        ),
    ],
    check: &[("incasts", "without"), BFC],
};
