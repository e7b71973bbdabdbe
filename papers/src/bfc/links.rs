//! One link, and two (Sections 2.1 and 6.1).

use sweep::Decimal;

use super::{BFC, DCQCN, DROPS, HPCC, WORSE, about, read_by, words};
use crate::{Bound, Criterion, Figure, Quantity, Source, Unit, View};

const LONG: Quantity =
    Quantity { name: "rate of the long flow", unit: Unit::Gigabits, source: Source::MeanRate };
const ONE_PACKET: Quantity = Quantity {
    name: "FCT of one packet p99",
    unit: Unit::Microseconds,
    source: Source::Metric("window.labels.cross.sizes.up-to-1kB.fct_ns.p99"),
};
/// Axis of the arrivals' burstiness, which the paper does not give.
const ARRIVALS: &[&str] = &["arrivals"];

/// Criterion for the FCT of one packet: 8.3 us without queueing, plus `tenths` / 10 us within a fifth.
const fn queueing(tenths: i32) -> Criterion {
    let (least, most) = (tenths * 80, tenths * 120);
    let idle = 8_300;
    Criterion::Each(Bound::Between(
        Decimal::per_mille(idle + least),
        Decimal::per_mille(idle + most),
    ))
}

pub(super) const TABLE1: Figure = Figure {
    name: "table1",
    also: &["tab1"],
    title: "Table 1: a long flow and cross-traffic on one link (2.1)",
    notes: "Rates are of payload, of which a link carries 95.4 Gbit/s; the paper's are parts of the link. The delay of a single \
            packet is read from the cross-traffic's flows of up to 1 kB, whose completion takes up to 8.3 us without \
            queueing, of the packet or of its ACK. The cross-traffic's arrivals are not given: lognormal with a sigma of 2 as \
            in Section 6.2, or Poisson. The rate is that of 100 ms, after 2 ms.",
    has_small: false,
    baseline: BFC,
    quantities: &[
        LONG,
        ONE_PACKET,
        Quantity {
            name: "FCT of one packet p50",
            unit: Unit::Microseconds,
            source: Source::Metric("window.labels.cross.sizes.up-to-1kB.fct_ns.p50"),
        },
        Quantity {
            name: "mean slowdown of the others",
            unit: Unit::Plain,
            source: Source::Metric("window.labels.cross.sizes.above-1kB.slowdown.mean"),
        },
        DROPS,
    ],
    claims: &[
        read_by(about("Table 1", "BFC's rate", Decimal::per_mille(37_300), 0, &[BFC]), ARRIVALS),
        read_by(about("Table 1", "HPCC's rate", Decimal::per_mille(22_900), 0, &[HPCC]), ARRIVALS),
        read_by(about("Table 1", "DCQCN's rate", Decimal::whole(10), 0, &[DCQCN]), ARRIVALS),
        read_by(
            words(
                "Table 1",
                "BFC's p99 of one packet",
                ("1.2 us of queueing", queueing(12)),
                (1, View::Itself),
                &[BFC],
            ),
            ARRIVALS,
        ),
        read_by(
            words(
                "Table 1",
                "HPCC's p99 of one packet",
                ("23.9 us of queueing", queueing(239)),
                (1, View::Itself),
                &[HPCC],
            ),
            ARRIVALS,
        ),
        read_by(
            words(
                "Table 1",
                "DCQCN's p99 of one packet",
                ("30.4 us of queueing", queueing(304)),
                (1, View::Itself),
                &[DCQCN],
            ),
            ARRIVALS,
        ),
        read_by(
            words(
                "2.1",
                "the others' p99 of one packet above BFC's",
                ("they fall short", WORSE),
                (1, View::Increase),
                &[HPCC, DCQCN],
            ),
            ARRIVALS,
        ),
        read_by(
            words(
                "2.1",
                "the others' rate below BFC's",
                ("they fall short", WORSE),
                (0, View::Reduction),
                &[HPCC, DCQCN],
            ),
            ARRIVALS,
        ),
    ],
    check: &[BFC],
};

/// Axis of the paused upstream node: in the paper's topology it is a switch.
const UPSTREAM: &[&str] = &["upstream"];
const TWO_MICROSECONDS: (&str, &str) = ("threshold", "2us");

pub(super) const FIG07: Figure = Figure {
    name: "fig07",
    also: &["fig7"],
    title: "Fig. 7: two flows at a link (6.1)",
    notes: "Links of 1 us, or of 100 ns: the testbed's are loops of one switch, whose delay is not given. A link carries \
            95.4 Gbit/s of payload. What switches hold is the queue of both flows where their NICs are on its switch; the \
            paper's flows come over a switch each, and there it is a mean over three switches. Nothing is random.",
    has_small: false,
    baseline: TWO_MICROSECONDS,
    quantities: &[
        Quantity { name: "rate of both", unit: Unit::Gigabits, source: Source::MeanRate },
        Quantity {
            name: "mean of what a switch holds",
            unit: Unit::Kilobytes,
            source: Source::Metric("window.buffer_bytes.mean"),
        },
        Quantity {
            name: "most that a switch holds",
            unit: Unit::Kilobytes,
            source: Source::Metric("window.buffer_bytes.max"),
        },
    ],
    claims: &[
        read_by(
            words(
                "Fig. 7(b)",
                "rate of both with a threshold of 2 us",
                (
                    "close to 100 % utilisation",
                    Criterion::Each(Bound::AtLeast(Decimal::per_mille(85_860))),
                ),
                (0, View::Itself),
                &[TWO_MICROSECONDS],
            ),
            UPSTREAM,
        ),
        read_by(
            about(
                "Fig. 7(b)",
                "mean queue with a threshold of 2 us",
                Decimal::whole(15),
                1,
                &[TWO_MICROSECONDS, ("upstream", "nics"), ("upstream", "nics, 100 ns")],
            ),
            UPSTREAM,
        ),
    ],
    check: &[TWO_MICROSECONDS],
};

const DYNAMIC: (&str, &str) = ("assignment", "dynamic");
const STOCHASTIC: (&str, &str) = ("assignment", "stochastic");
const SINGLE: (&str, &str) = ("assignment", "single");
/// Numbers of group 2 with fewer flows than queues; equality would need 14 flows of group 2.
const FEWER_THAN_QUEUES: [(&str, &str); 3] =
    [("group 2", "4"), ("group 2", "8"), ("group 2", "12")];

pub(super) const FIG08: Figure = Figure {
    name: "fig08",
    also: &["fig8"],
    title: "Fig. 8: congestion spreading (6.1)",
    notes: "16 queues; flows of a group come from one NIC, which has as many queues. The paper has four runs and their standard \
            deviation; here are 20 seeds, of which half a 95 % interval is 0.47 deviations. \"not sticky\" is no choice of the paper's: a flow \
            that has nothing in a switch for a moment gives up its queue.",
    has_small: false,
    baseline: DYNAMIC,
    quantities: &[
        Quantity {
            name: "mean FCT of group 1",
            unit: Unit::Microseconds,
            source: Source::Metric("labels.group 1.fct_ns.mean"),
        },
        Quantity {
            name: "longest FCT of group 1 over their mean",
            unit: Unit::Plain,
            source: Source::Ratio("labels.group 1.fct_ns.max", "labels.group 1.fct_ns.mean"),
        },
        Quantity {
            name: "mean FCT of group 2",
            unit: Unit::Microseconds,
            source: Source::Metric("labels.group 2.fct_ns.mean"),
        },
        DROPS,
    ],
    claims: &[
        words(
            "Fig. 8",
            "group 1's FCT with stochastic assignment, increase",
            ("dynamic is the lowest", WORSE),
            (0, View::Increase),
            &[STOCHASTIC],
        ),
        words(
            "Fig. 8",
            "group 1's FCT with a single queue, increase",
            ("single is the worst: here, worse than dynamic", WORSE),
            (0, View::Increase),
            &[SINGLE],
        ),
        words(
            "Fig. 8",
            "group 1's longest FCT over the mean, dynamic, fewer flows than queues",
            ("a deviation close to 0", Criterion::Each(Bound::AtMost(Decimal::per_mille(1100)))),
            (1, View::Itself),
            &[DYNAMIC, FEWER_THAN_QUEUES[0], FEWER_THAN_QUEUES[1], FEWER_THAN_QUEUES[2]],
        ),
    ],
    check: &[STOCHASTIC],
};
