//! The simulations of 256 hosts (Section V-B).

use sweep::Decimal;

use super::{
    ADAPTIVE, BACKGROUND, CC, COMPARABLE, DROPS, DSH, DSH_DCQCN, DSH_HPCC, DSH_NONE, DSH_POWERTCP,
    FAN_IN, INTERFERED, INTERFERING, MARKS, PAUSE, PAUSE_BY_PORTS, PAUSE_BY_QUEUES, RESENT, SIH,
    TRAFFIC, WITHOUT_SHARED, WORSE, claim, percent, read_by, up_to, words,
};
use crate::{Bound, Claim, Criterion, Expected, Figure, Quantity, Source, Unit, View};

/// Choices by axis.
type Cells = &'static [(&'static str, &'static str)];

const POOL: (&str, &str) = ("scheme", "oversubscribed");
const BY_QUEUE: (&str, &str) = ("scheme", "oversubscribed by queue");
/// Axis of the 80 %: a share of one pool, or of each queue.
const OVERSUBSCRIPTIONS: &[&str] = &["scheme"];

const fn longer(place: &'static str, text: &'static str, tenths: i32, quantity: usize) -> Claim {
    let paper = Expected::UpTo(percent(tenths));
    let claim = claim(place, text, paper, (quantity, View::Increase), &[POOL, BY_QUEUE]);
    read_by(claim, OVERSUBSCRIPTIONS)
}

/// Makes the claim that a number is "within" the paper's, met within a fifth.
const fn within(claim: Claim, tenths: i32) -> Claim {
    let most = Decimal(percent(tenths).0 * 6 / 5);
    Claim { holds: Criterion::Largest(Bound::AtMost(most)), ..claim }
}

const fn reduces_pauses(text: &'static str, least: i32, most: i32, cells: Cells) -> Claim {
    let paper = Expected::Range(percent(least), percent(most));
    claim("Fig. 17, V-B", text, paper, (0, View::Reduction), cells)
}

pub(super) const FIG17: Figure = Figure {
    name: "fig17",
    also: &["fig18", "fig19"],
    title: "Fig. 17, 18 and 19: pauses and completion times at scale (V-B)",
    notes: "Arrivals for 5 ms, until all have completed: the fabric is still filling, see the figure before. The axis is the \
            load of fan-in traffic; background traffic makes it 0.9. The paper's values of it cannot be read from its text \
            but for one, 0.2.",
    has_small: true,
    baseline: SIH,
    quantities: &[
        PAUSE,
        FAN_IN,
        BACKGROUND,
        DROPS,
        TRAFFIC,
        PAUSE_BY_QUEUES,
        PAUSE_BY_PORTS,
        MARKS,
        HEADROOM,
    ],
    claims: &[
        reduces_pauses("DSH reduces the total pause duration, DCQCN", 188, 528, DSH_DCQCN),
        reduces_pauses(
            "DSH reduces the total pause duration, no congestion control",
            180,
            468,
            DSH_NONE,
        ),
        reduces_pauses("DSH reduces the total pause duration, HPCC", 193, 999, DSH_HPCC),
        reduces_pauses("DSH reduces the total pause duration, PowerTCP", 194, 906, DSH_POWERTCP),
        up_to("Fig. 18, V-B", "DSH reduces the FCT of fan-in, DCQCN", 529, 1, DSH_DCQCN),
        up_to(
            "Fig. 18, V-B",
            "DSH reduces the FCT of fan-in, no congestion control",
            517,
            1,
            DSH_NONE,
        ),
        up_to("Fig. 18, V-B", "DSH reduces the FCT of fan-in, HPCC", 788, 1, DSH_HPCC),
        up_to("Fig. 18, V-B", "DSH reduces the FCT of fan-in, PowerTCP", 591, 1, DSH_POWERTCP),
        up_to("Fig. 19, V-B", "DSH reduces the FCT of background, DCQCN", 379, 2, DSH_DCQCN),
        up_to(
            "Fig. 19, V-B",
            "DSH reduces the FCT of background, no congestion control",
            369,
            2,
            DSH_NONE,
        ),
        up_to("Fig. 19, V-B", "DSH reduces the FCT of background, HPCC", 306, 2, DSH_HPCC),
        up_to("Fig. 19, V-B", "DSH reduces the FCT of background, PowerTCP", 452, 2, DSH_POWERTCP),
    ],
    check: DSH,
};

pub(super) const FIG17_OTHERS: Figure = Figure {
    name: "fig17-others",
    also: &[],
    title: "Fig. 17, 18 and 19: oversubscribed and adaptive headroom (V-B)",
    notes: "As the figure before. The paper's oversubscription may be one pool of 80 % of what SIH reserves, or 80 % for \
            each queue. It speaks of it without congestion control and with DCQCN.",
    has_small: true,
    baseline: SIH,
    quantities: &[PAUSE, FAN_IN, BACKGROUND, DROPS, RESENT, TRAFFIC],
    claims: &[
        within(
            up_to(
                "Fig. 18, V-B",
                "adaptive headroom reduces the FCT of fan-in, DCQCN",
                80,
                1,
                ADAPTIVE,
            ),
            80,
        ),
        within(
            up_to(
                "Fig. 19, V-B",
                "adaptive headroom reduces the FCT of background, DCQCN",
                60,
                2,
                ADAPTIVE,
            ),
            60,
        ),
        longer("Fig. 18, V-B", "oversubscription extends the FCT of fan-in", 243, 1),
        longer("Fig. 19, V-B", "oversubscription extends the FCT of background", 333, 2),
        read_by(
            claim(
                "Fig. 17, V-B",
                "oversubscription adds to the traffic, DCQCN, 0.2",
                Expected::About(percent(290)),
                (5, View::Increase),
                &[POOL, BY_QUEUE, (CC, "dcqcn"), ("fan-in", "0.2")],
            ),
            OVERSUBSCRIPTIONS,
        ),
    ],
    check: &[POOL],
};

pub(super) const CONVERGENCE: Figure = Figure {
    name: "convergence",
    also: &[],
    title: "How long the fabric of Fig. 17 to 25 fills",
    notes: "DCQCN, a fan-in load of 0.2; background traffic makes it what the axis says. Means and pauses are of the flows \
            that start in the window, and of the time in it. The paper does not say how long it runs.",
    has_small: true,
    baseline: SIH,
    quantities: &[
        Quantity {
            name: "pause duration in the window",
            unit: Unit::Milliseconds,
            source: Source::Metric("window.pause_ordered_ns"),
        },
        Quantity {
            name: "mean FCT of fan-in",
            unit: Unit::Microseconds,
            source: Source::Metric("window.labels.fan-in.fct_ns.mean"),
        },
        Quantity {
            name: "mean FCT of background",
            unit: Unit::Microseconds,
            source: Source::Metric("window.labels.background.fct_ns.mean"),
        },
    ],
    claims: &[read_by(
        reduces_pauses(
            "DSH reduces the total pause duration, DCQCN, fan-in 0.2",
            188,
            528,
            &[("scheme", "dsh"), ("load", "0.9")],
        ),
        &["window"],
    )],
    check: &[("scheme", "dsh"), ("window", "5 to 10 ms")],
};

const NOTHING: Decimal = Decimal(0);

pub(super) const FIG20: Figure = Figure {
    name: "fig20",
    also: &[],
    title: "Fig. 20: other workloads (V-B)",
    notes: "DCQCN, arrivals for 5 ms, a fan-in load of 0.2. The paper's \"Hadoop\", \"cache\" and \"storage\" are \
            `hadoop`, `cache-follower` and `ali-storage` of xoff.",
    has_small: true,
    baseline: SIH,
    quantities: &[BACKGROUND, FAN_IN, PAUSE, MARKS],
    claims: &[words(
        "Fig. 20",
        "DSH reduces the FCT of background",
        ("improves with each workload", Criterion::Each(Bound::Above(NOTHING))),
        (0, View::Reduction),
        DSH,
    )],
    check: DSH,
};

/// Headroom in use; with DSH this is insurance headroom.
const HEADROOM: Quantity = Quantity {
    name: "most headroom in use in a switch",
    unit: Unit::Kilobytes,
    source: Source::LargestOf("headroom_max_bytes"),
};
const WITHOUT_INSURANCE: (&str, &str) = ("scheme", "dsh-without-insurance");

pub(super) const FIG21: Figure = Figure {
    name: "fig21",
    also: &[],
    title: "Fig. 21: insurance headroom (V-B)",
    notes: "DCQCN, arrivals for 5 ms. The paper does not say how its loads are divided: a load of 0.2 is fan-in here \
            where nothing else is said.",
    has_small: true,
    baseline: ("scheme", "dsh"),
    quantities: &[DROPS, BACKGROUND, FAN_IN, PAUSE, HEADROOM],
    claims: &[
        words(
            "Fig. 21(a)",
            "drops with insurance headroom",
            ("none", Criterion::Each(Bound::AtMost(NOTHING))),
            (0, View::Itself),
            DSH,
        ),
        words(
            "Fig. 21(a)",
            "drops without",
            ("packets can be dropped", Criterion::Largest(Bound::Above(NOTHING))),
            (0, View::Itself),
            &[WITHOUT_INSURANCE],
        ),
        read_by(
            words(
                "Fig. 21(c)",
                "the FCT of background without it, increase",
                ("significant at high load", WORSE),
                (1, View::Increase),
                &[
                    WITHOUT_INSURANCE,
                    ("load", "0.9"),
                    ("load", "0.9 (fan-in 0.5)"),
                    ("load", "0.9 (fan-in 0.8)"),
                ],
            ),
            &["load"],
        ),
    ],
    check: &[WITHOUT_INSURANCE],
};

pub(super) const FIG22: Figure = Figure {
    name: "fig22",
    also: &[],
    title: "Fig. 22: high bursts (V-B)",
    notes: "Arrivals for 5 ms; fan-in of 1024 flows of 8 KB from all other hosts.",
    has_small: true,
    baseline: SIH,
    quantities: &[FAN_IN, BACKGROUND, PAUSE, DROPS],
    claims: &[
        up_to("Fig. 22, V-B", "DSH reduces the FCT of fan-in, DCQCN", 562, 0, DSH_DCQCN),
        up_to("Fig. 22, V-B", "DSH reduces the FCT of background, DCQCN", 386, 1, DSH_DCQCN),
        up_to("Fig. 22, V-B", "DSH reduces the FCT of fan-in, PowerTCP", 573, 0, DSH_POWERTCP),
        up_to("Fig. 22, V-B", "DSH reduces the FCT of background, PowerTCP", 428, 1, DSH_POWERTCP),
    ],
    check: DSH,
};

/// Axis of the receivers.
const RECEIVERS: &[&str] = &["receivers"];

pub(super) const FIG23: Figure = Figure {
    name: "fig23",
    also: &[],
    title: "Fig. 23: asymmetric traffic (V-B)",
    notes: "Arrivals for 5 ms. Groups are of senders; the paper does not say who receives. Fan-in is the load on the \
            links of group 1.",
    has_small: true,
    baseline: SIH,
    quantities: &[FAN_IN, BACKGROUND, PAUSE, MARKS],
    claims: &[
        read_by(
            up_to("Fig. 23, V-B", "DSH reduces the FCT of fan-in, DCQCN", 529, 0, DSH_DCQCN),
            RECEIVERS,
        ),
        read_by(
            up_to("Fig. 23, V-B", "DSH reduces the FCT of fan-in, PowerTCP", 633, 0, DSH_POWERTCP),
            RECEIVERS,
        ),
        read_by(
            up_to("Fig. 23, V-B", "DSH reduces the FCT of background, DCQCN", 541, 1, DSH_DCQCN),
            RECEIVERS,
        ),
        read_by(
            up_to(
                "Fig. 23, V-B",
                "DSH reduces the FCT of background, PowerTCP",
                635,
                1,
                DSH_POWERTCP,
            ),
            RECEIVERS,
        ),
    ],
    check: DSH,
};

pub(super) const FIG24: Figure = Figure {
    name: "fig24",
    also: &[],
    title: "Fig. 24: eight flows at a time (V-B)",
    notes: "Arrivals for 5 ms; each of the eight draws its own receiver.",
    has_small: true,
    baseline: SIH,
    quantities: &[FAN_IN, BACKGROUND, PAUSE],
    claims: &[
        up_to("Fig. 24, V-B", "DSH reduces the FCT of fan-in, DCQCN", 482, 0, DSH_DCQCN),
        up_to("Fig. 24, V-B", "DSH reduces the FCT of background, DCQCN", 347, 1, DSH_DCQCN),
        up_to("Fig. 24, V-B", "DSH reduces the FCT of fan-in, PowerTCP", 539, 0, DSH_POWERTCP),
        up_to("Fig. 24, V-B", "DSH reduces the FCT of background, PowerTCP", 429, 1, DSH_POWERTCP),
    ],
    check: DSH,
};

/// Axis of the congestion control, which the paper does not name.
const CONGESTION_CONTROLS: &[&str] = &[CC];

pub(super) const FIG25: Figure = Figure {
    name: "fig25",
    also: &[],
    title: "Fig. 25: isolation of classes at scale (V-B)",
    notes: "Arrivals for 5 ms. The paper does not say which congestion control it is.",
    has_small: true,
    baseline: SIH,
    quantities: &[INTERFERED, INTERFERING, PAUSE, PAUSE_BY_QUEUES, PAUSE_BY_PORTS, MARKS],
    claims: &[
        read_by(
            words(
                "Fig. 25",
                "DSH against SIH, interfered, increase",
                COMPARABLE,
                (0, View::Increase),
                DSH,
            ),
            CONGESTION_CONTROLS,
        ),
        read_by(
            words(
                "Fig. 25",
                "DSH without shared headroom, likewise",
                ("significantly worse at high load", WORSE),
                (0, View::Increase),
                &[WITHOUT_SHARED, ("interfering", "0.9")],
            ),
            CONGESTION_CONTROLS,
        ),
    ],
    check: DSH,
};
