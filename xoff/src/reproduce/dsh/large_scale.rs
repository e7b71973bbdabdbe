//! The simulations of 256 hosts (Section V-B).

use super::{
    ADAPTIVE, BACKGROUND, BY_QUEUE, CC, DROPS, DSH, DSH_DCQCN, DSH_NONE, FAN_IN, INTERFERED,
    INTERFERING, PAUSE, POOL, RESENT, SIH, TRAFFIC, percent, up_to, words,
};
use crate::reproduce::{Claim, Expected, Figure, View};

const fn longer(
    place: &'static str,
    text: &'static str,
    tenths: i32,
    quantity: usize,
    cells: &'static [(&'static str, &'static str)],
) -> Claim {
    Claim { view: View::Increase, ..up_to(place, text, tenths, quantity, cells) }
}

const fn more_traffic(text: &'static str, cells: &'static [(&'static str, &'static str)]) -> Claim {
    let paper = Expected::About(percent(290));
    Claim { place: "Fig. 17, V-B", text, paper, quantity: 5, view: View::Increase, cells }
}

const POOL_AT_02: &[(&str, &str)] =
    &[("scheme", "oversubscribed"), (CC, "dcqcn"), ("fan-in", "0.2")];
const BY_QUEUE_AT_02: &[(&str, &str)] =
    &[("scheme", "oversubscribed by queue"), (CC, "dcqcn"), ("fan-in", "0.2")];

pub(super) const FIG17: Figure = Figure {
    name: "fig17",
    also: &["fig18", "fig19"],
    title: "Fig. 17, 18 and 19: pauses and completion times at scale (V-B)",
    notes: "Arrivals for 5 ms. The axis is the load of fan-in traffic; background traffic makes it 0.9. The paper's \
            values of it cannot be read from its text but for one, 0.2. HPCC and PowerTCP are missing. Its \
            oversubscription may be one pool of 80 % of what SIH reserves, or 80 % for each queue.",
    has_small: true,
    baseline: SIH,
    quantities: &[PAUSE, FAN_IN, BACKGROUND, DROPS, RESENT, TRAFFIC],
    claims: &[
        Claim {
            place: "Fig. 17, V-B",
            text: "DSH reduces the total pause duration, DCQCN",
            paper: Expected::Range(percent(188), percent(528)),
            quantity: 0,
            view: View::Reduction,
            cells: DSH_DCQCN,
        },
        Claim {
            place: "Fig. 17, V-B",
            text: "likewise, no congestion control",
            paper: Expected::Range(percent(180), percent(468)),
            quantity: 0,
            view: View::Reduction,
            cells: DSH_NONE,
        },
        up_to("Fig. 18, V-B", "DSH reduces the FCT of fan-in, DCQCN", 529, 1, DSH_DCQCN),
        up_to("Fig. 18, V-B", "likewise, no congestion control", 517, 1, DSH_NONE),
        up_to("Fig. 19, V-B", "DSH reduces the FCT of background, DCQCN", 379, 2, DSH_DCQCN),
        up_to("Fig. 19, V-B", "likewise, no congestion control", 369, 2, DSH_NONE),
        up_to(
            "Fig. 18, V-B",
            "adaptive headroom reduces the FCT of fan-in, DCQCN",
            80,
            1,
            ADAPTIVE,
        ),
        up_to("Fig. 19, V-B", "adaptive headroom reduces the FCT of background", 60, 2, ADAPTIVE),
        longer(
            "Fig. 18, V-B",
            "oversubscription, one pool, extends the FCT of fan-in",
            243,
            1,
            POOL,
        ),
        longer("Fig. 18, V-B", "likewise, by queue", 243, 1, BY_QUEUE),
        longer(
            "Fig. 19, V-B",
            "oversubscription, one pool, extends the FCT of background",
            333,
            2,
            POOL,
        ),
        longer("Fig. 19, V-B", "likewise, by queue", 333, 2, BY_QUEUE),
        more_traffic("oversubscription, one pool, adds to the traffic, DCQCN, 0.2", POOL_AT_02),
        more_traffic("likewise, by queue", BY_QUEUE_AT_02),
    ],
};

pub(super) const FIG20: Figure = Figure {
    name: "fig20",
    also: &[],
    title: "Fig. 20: other workloads (V-B)",
    notes: "DCQCN, arrivals for 5 ms, a fan-in load of 0.2. The paper's \"Hadoop\", \"cache\" and \"storage\" are \
            `hadoop`, `cache-follower` and `ali-storage` of xoff.",
    has_small: true,
    baseline: SIH,
    quantities: &[BACKGROUND, FAN_IN, PAUSE],
    claims: &[words(
        "Fig. 20",
        "DSH reduces the FCT of background",
        "improves with each workload",
        (0, View::Reduction),
        DSH,
    )],
};

pub(super) const FIG21: Figure = Figure {
    name: "fig21",
    also: &[],
    title: "Fig. 21: insurance headroom (V-B)",
    notes: "DCQCN, arrivals for 5 ms. The paper does not say how its loads are divided: a load of 0.2 is fan-in here \
            where nothing else is said.",
    has_small: true,
    baseline: ("scheme", "dsh"),
    quantities: &[DROPS, BACKGROUND, FAN_IN, PAUSE],
    claims: &[
        words("Fig. 21(a)", "drops with insurance headroom", "none", (0, View::Itself), DSH),
        words(
            "Fig. 21(a)",
            "drops without",
            "packets can be dropped",
            (0, View::Itself),
            &[("scheme", "dsh-without-insurance")],
        ),
        words(
            "Fig. 21(c)",
            "the FCT of background without it, increase",
            "significant at high load",
            (1, View::Increase),
            &[("scheme", "dsh-without-insurance")],
        ),
    ],
};

pub(super) const FIG22: Figure = Figure {
    name: "fig22",
    also: &[],
    title: "Fig. 22: high bursts (V-B)",
    notes: "DCQCN, arrivals for 5 ms; fan-in of 1024 flows of 8 KB from all other hosts. PowerTCP is missing.",
    has_small: true,
    baseline: SIH,
    quantities: &[FAN_IN, BACKGROUND, PAUSE, DROPS],
    claims: &[
        up_to("Fig. 22, V-B", "DSH reduces the FCT of fan-in, DCQCN", 562, 0, DSH),
        up_to("Fig. 22, V-B", "DSH reduces the FCT of background, DCQCN", 386, 1, DSH),
    ],
};

const DSH_ANY: &[(&str, &str)] = &[("scheme", "dsh"), ("receivers", "any host")];
const DSH_OWN: &[(&str, &str)] = &[("scheme", "dsh"), ("receivers", "own group")];

pub(super) const FIG23: Figure = Figure {
    name: "fig23",
    also: &[],
    title: "Fig. 23: asymmetric traffic (V-B)",
    notes: "DCQCN, arrivals for 5 ms. Groups are of senders; the paper does not say who receives. Fan-in is the load \
            on the links of group 1. PowerTCP is missing.",
    has_small: true,
    baseline: SIH,
    quantities: &[FAN_IN, BACKGROUND, PAUSE],
    claims: &[
        up_to("Fig. 23, V-B", "DSH reduces the FCT of fan-in, DCQCN, to any host", 529, 0, DSH_ANY),
        up_to("Fig. 23, V-B", "likewise, within groups", 529, 0, DSH_OWN),
        up_to(
            "Fig. 23, V-B",
            "DSH reduces the FCT of background, DCQCN, to any host",
            541,
            1,
            DSH_ANY,
        ),
        up_to("Fig. 23, V-B", "likewise, within groups", 541, 1, DSH_OWN),
    ],
};

pub(super) const FIG24: Figure = Figure {
    name: "fig24",
    also: &[],
    title: "Fig. 24: eight flows at a time (V-B)",
    notes: "DCQCN, arrivals for 5 ms; each of the eight draws its own receiver. PowerTCP is missing.",
    has_small: true,
    baseline: SIH,
    quantities: &[FAN_IN, BACKGROUND, PAUSE],
    claims: &[
        up_to("Fig. 24, V-B", "DSH reduces the FCT of fan-in, DCQCN", 482, 0, DSH),
        up_to("Fig. 24, V-B", "DSH reduces the FCT of background, DCQCN", 347, 1, DSH),
    ],
};

pub(super) const FIG25: Figure = Figure {
    name: "fig25",
    also: &[],
    title: "Fig. 25: isolation of classes at scale (V-B)",
    notes: "Arrivals for 5 ms. The paper does not say which congestion control it is.",
    has_small: true,
    baseline: SIH,
    quantities: &[INTERFERED, INTERFERING, PAUSE],
    claims: &[
        words(
            "Fig. 25",
            "DSH against SIH, interfered, increase, DCQCN",
            "comparable",
            (0, View::Increase),
            DSH_DCQCN,
        ),
        words(
            "Fig. 25",
            "likewise, no congestion control",
            "comparable",
            (0, View::Increase),
            DSH_NONE,
        ),
        words(
            "Fig. 25",
            "DSH without shared headroom, likewise, DCQCN",
            "significantly worse at high load",
            (0, View::Increase),
            &[("scheme", "dsh-without-shared"), (CC, "dcqcn")],
        ),
        words(
            "Fig. 25",
            "likewise, no congestion control",
            "significantly worse at high load",
            (0, View::Increase),
            &[("scheme", "dsh-without-shared"), (CC, "none")],
        ),
    ],
};
