//! D. Shan et al., "Efficient Headroom Allocation With Two-Level Flow Control for Lossless Datacenter
//! Networks", IEEE Transactions on Networking, 2025. Figures 4, 11, 12 and 13 show no measurement.

mod deadlocks;
mod large_scale;

use sweep::Decimal;

use super::claim::{read_by, words};
use super::{Bound, Claim, Criterion, Expected, Figure, Paper, Quantity, Source, Unit, View};
use deadlocks::{FIG16, FIG16_READINGS};
use large_scale::{CONVERGENCE, FIG17, FIG17_OTHERS, FIG20, FIG21, FIG22, FIG23, FIG24, FIG25};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/dsh/", $name)))),*]
    };
}

/// The paper.
pub const PAPER: Paper = Paper {
    name: "dsh",
    title: "D. Shan et al., Efficient Headroom Allocation With Two-Level Flow Control for Lossless \
            Datacenter Networks, IEEE Transactions on Networking, 2025",
    files: files![
        "asymmetric.toml",
        "burst.toml",
        "collateral.toml",
        "convergence.toml",
        "deadlock.toml",
        "fig05.toml",
        "fig06.toml",
        "fig14.toml",
        "fig14-burst.toml",
        "fig15.toml",
        "fig16.toml",
        "fig16-readings.toml",
        "fig17.toml",
        "fig17-others.toml",
        "fig20.toml",
        "fig21.toml",
        "fig22.toml",
        "fig23.toml",
        "fig24.toml",
        "fig25.toml",
        "groups.toml",
        "isolation.toml",
        "large.toml",
        "motivation.toml",
    ],
    figures: &[
        FIG05,
        FIG06,
        FIG14,
        FIG14_BURST,
        FIG15,
        FIG16,
        FIG16_READINGS,
        CONVERGENCE,
        FIG17,
        FIG17_OTHERS,
        FIG20,
        FIG21,
        FIG22,
        FIG23,
        FIG24,
        FIG25,
    ],
    check: include_str!("../../scenarios/dsh/check.csv"),
};

const SIH: (&str, &str) = ("scheme", "sih");
const CC: &str = "congestion control";

const PAUSE: Quantity = Quantity {
    name: "total pause duration",
    unit: Unit::Milliseconds,
    source: Source::Metric("pause_ordered_ns"),
};
/// Part of the pauses that occupancies of ingress queues caused; the rest is [`PAUSE_BY_PORTS`].
const PAUSE_BY_QUEUES: Quantity = Quantity {
    name: "of it by queues",
    unit: Unit::Milliseconds,
    source: Source::Metric("pause_ordered_by_level.queue_ns"),
};
const PAUSE_BY_PORTS: Quantity = Quantity {
    name: "of it by ports",
    unit: Unit::Milliseconds,
    source: Source::Metric("pause_ordered_by_level.port_ns"),
};
const FAN_IN: Quantity = Quantity {
    name: "mean FCT of fan-in",
    unit: Unit::Microseconds,
    source: Source::Metric("labels.fan-in.fct_ns.mean"),
};
const BACKGROUND: Quantity = Quantity {
    name: "mean FCT of background",
    unit: Unit::Microseconds,
    source: Source::Metric("labels.background.fct_ns.mean"),
};
const DROPS: Quantity =
    Quantity { name: "drops", unit: Unit::Plain, source: Source::Metric("drops.policy") };
const RESENT: Quantity = Quantity {
    name: "packets sent again",
    unit: Unit::Plain,
    source: Source::Metric("retransmitted_packets"),
};
const MARKS: Quantity = Quantity {
    name: "packets marked by ECN",
    unit: Unit::Plain,
    source: Source::Metric("ecn_marked"),
};
const TRAFFIC: Quantity =
    Quantity { name: "packet-hops", unit: Unit::Plain, source: Source::Metric("packet_hops") };

const fn percent(tenths: i32) -> Decimal {
    Decimal::per_mille(tenths)
}

const fn claim(
    place: &'static str,
    text: &'static str,
    paper: Expected,
    (quantity, view): (usize, View),
    cells: &'static [(&'static str, &'static str)],
) -> Claim {
    let holds = Criterion::within_a_fifth(paper);
    Claim { place, text, paper, holds, quantity, view, cells, readings: &[], against: None }
}

const fn up_to(
    place: &'static str,
    text: &'static str,
    tenths: i32,
    quantity: usize,
    cells: &'static [(&'static str, &'static str)],
) -> Claim {
    let paper = Expected::UpTo(percent(tenths));
    claim(place, text, paper, (quantity, View::Reduction), cells)
}

/// "Comparable" and "no degradation": worse by at most a tenth.
const COMPARABLE: (&str, Criterion) = ("comparable", Criterion::Each(Bound::AtMost(percent(100))));
/// "Significantly" worse: by at least a tenth.
const WORSE: Criterion = Criterion::Each(Bound::AtLeast(percent(100)));

const DSH: &[(&str, &str)] = &[("scheme", "dsh")];
const DSH_DCQCN: &[(&str, &str)] = &[("scheme", "dsh"), (CC, "dcqcn")];
const DSH_NONE: &[(&str, &str)] = &[("scheme", "dsh"), (CC, "none")];
const DSH_HPCC: &[(&str, &str)] = &[("scheme", "dsh"), (CC, "hpcc")];
const DSH_POWERTCP: &[(&str, &str)] = &[("scheme", "dsh"), (CC, "powertcp")];
const ADAPTIVE: &[(&str, &str)] = &[("scheme", "adaptive"), (CC, "dcqcn")];

const FIG05: Figure = Figure {
    name: "fig05",
    also: &["fig5"],
    title: "Fig. 5: completion time against buffer size (III-A)",
    notes: "The paper has PowerTCP. Section III-A names WebSearch at 90 % and no fan-in, so there is none.",
    has_small: true,
    baseline: ("switch.buffer", "30MiB"),
    quantities: &[
        Quantity {
            name: "mean FCT",
            unit: Unit::Microseconds,
            source: Source::Metric("fct_ns.mean"),
        },
        PAUSE,
    ],
    claims: &[claim(
        "III-A",
        "with 14 MB the mean FCT is above that with 30 MB by",
        Expected::About(percent(781)),
        (0, View::Increase),
        &[("switch.buffer", "14MiB"), (CC, "powertcp")],
    )],
    check: &[],
};

const SEVEN: &[(&str, &str)] = &[("classes", "7")];
const ONE: &[(&str, &str)] = &[("classes", "1")];

const fn percentile(
    name: &'static str,
    measure: &'static str,
    percent: u32,
    (unit, divisor): (Unit, u32),
) -> Quantity {
    Quantity { name, unit, source: Source::Percentile { measure, percent, divisor } }
}

const fn share_up_to(name: &'static str, measure: &'static str, value: u64) -> Quantity {
    Quantity { name, unit: Unit::Percent, source: Source::ShareUpTo { measure, value } }
}

const fn seven(place: &'static str, text: &'static str, paper: Expected, quantity: usize) -> Claim {
    claim(place, text, paper, (quantity, View::Itself), SEVEN)
}

const IN_TEN_THOUSANDTHS: (Unit, u32) = (Unit::Percent, 10_000);
const MEDIAN_USE: Expected = Expected::About(Decimal(49_600));
const TAIL_USE: Expected = Expected::About(Decimal(253_300));
const FEWER_THAN_HALF: Expected = Expected::Over(percent(600));

/// Within a tenth of 100 Gbit/s.
const NEAR_LINE_RATE: Criterion = Criterion::Each(Bound::AtLeast(Decimal::whole(90)));

const FIG06: Figure = Figure {
    name: "fig06",
    also: &["fig6", "fig7", "fig8", "fig9", "fig10"],
    title: "Fig. 6 to 10: what static headroom leaves unused (III-B)",
    notes: "SIH, DCQCN, WebSearch at 90 %. Headroom utilisation is each local maximum of the headroom in use \
            over all that is reserved; the paper does not say whether of a port or of a switch. Queues in OFF \
            are weighted by time while headroom is in use; half of a switch's 7 x 32 queues are 112. Spines \
            have 16 of 32 ports in use.",
    has_small: true,
    baseline: ("classes", "1"),
    quantities: &[
        percentile("headroom utilisation of a port p50", "port-headroom", 50, IN_TEN_THOUSANDTHS),
        percentile("headroom utilisation of a port p99", "port-headroom", 99, IN_TEN_THOUSANDTHS),
        percentile(
            "headroom utilisation of a switch p50",
            "switch-headroom",
            50,
            IN_TEN_THOUSANDTHS,
        ),
        percentile(
            "headroom utilisation of a switch p99",
            "switch-headroom",
            99,
            IN_TEN_THOUSANDTHS,
        ),
        share_up_to("time with fewer than half of a port's queues OFF", "port-queues-off", 3),
        share_up_to("time with fewer than half of a switch's queues OFF", "queues-off", 111),
        percentile("arrival rate p50", "arrival-rate", 50, (Unit::Gigabits, 1)),
        percentile("departure rate p50", "departure-rate", 50, (Unit::Gigabits, 1)),
    ],
    claims: &[
        seven("Fig. 6", "headroom utilisation, median, of a port", MEDIAN_USE, 0),
        seven("Fig. 6", "likewise, of a switch", MEDIAN_USE, 2),
        seven("Fig. 6", "headroom utilisation, 99th percentile, of a port", TAIL_USE, 1),
        seven("Fig. 6", "likewise, of a switch", TAIL_USE, 3),
        seven(
            "Fig. 7",
            "cases in which fewer than half of a port's queues are OFF",
            FEWER_THAN_HALF,
            4,
        ),
        seven("Fig. 7", "likewise, of a switch's", FEWER_THAN_HALF, 5),
        words(
            "Fig. 8",
            "arrival rate to a paused queue, one class, median",
            ("near line rate most of the time", NEAR_LINE_RATE),
            (6, View::Itself),
            ONE,
        ),
        seven(
            "Fig. 9",
            "arrival rate to a paused queue, seven classes, median",
            Expected::About(Decimal::whole(60)),
            6,
        ),
        seven(
            "Fig. 10",
            "departure rate from a paused queue, median",
            Expected::Over(Decimal::whole(20)),
            7,
        ),
    ],
    check: SEVEN,
};

/// Rate below which F0 is degraded: a tenth below its half of a link, 47 Gbit/s of payload.
const DEGRADED_F0: Decimal = Decimal::per_mille(42_300);
const NO_DEGRADATION: (&str, Criterion) =
    ("no degradation", Criterion::Each(Bound::AtLeast(DEGRADED_F0)));
const DEGRADED: (&str, Criterion) = ("degraded", Criterion::Each(Bound::AtMost(DEGRADED_F0)));

const BEFORE: Quantity = Quantity {
    name: "least rate of F0 before",
    unit: Unit::Gigabits,
    source: Source::LeastRateBefore,
};
const AFTER: Quantity =
    Quantity { name: "least rate of F0 after", unit: Unit::Gigabits, source: Source::LeastRate };
const PAUSE_AFTER: Quantity = Quantity {
    name: "total pause duration after",
    unit: Unit::Milliseconds,
    source: Source::Metric("window.pause_ordered_ns"),
};

const FIG14: Figure = Figure {
    name: "fig14",
    also: &[],
    title: "Fig. 14: collateral damage (V-A)",
    notes: "F0's least rate of payload in any 20 us of the millisecond from the burst on, and of the one before, in which \
            it has about half of the link. F0, F1 and the burst are of one class, which the paper does not say. The burst \
            comes at 10 ms, as long after the start as Algorithm 4's window is: see the next figure. Nothing is random \
            without congestion control.",
    has_small: false,
    baseline: SIH,
    quantities: &[BEFORE, AFTER, PAUSE_AFTER],
    claims: &[
        words(
            "Fig. 14(b)",
            "F0's least rate with DSH, no congestion control",
            NO_DEGRADATION,
            (1, View::Itself),
            DSH_NONE,
        ),
        words(
            "Fig. 14(b)",
            "F0's least rate with SIH, no congestion control",
            DEGRADED,
            (1, View::Itself),
            &[SIH, (CC, "none")],
        ),
        words(
            "Fig. 14",
            "F0's least rate with DSH, congestion control",
            NO_DEGRADATION,
            (1, View::Itself),
            &[("scheme", "dsh"), (CC, "dcqcn"), (CC, "hpcc"), (CC, "powertcp")],
        ),
        // "State-of-the-art congestion control algorithms are not able to avoid the collateral damage."
        read_by(
            words(
                "Fig. 14(c), (d)",
                "F0's least rate with SIH, congestion control",
                DEGRADED,
                (1, View::Itself),
                &[SIH, (CC, "dcqcn"), (CC, "hpcc"), (CC, "powertcp")],
            ),
            &[CC],
        ),
    ],
    check: &[],
};

const FIG14_BURST: Figure = Figure {
    name: "fig14-burst",
    also: &[],
    title: "Fig. 14 by when the burst comes (V-A, Algorithm 4)",
    notes: "Without congestion control. Algorithm 4 sets tau to 0 where a port has had packets of one class only for longer \
            than its window, 10 ms in the paper, which does not say when its burst comes.",
    has_small: false,
    baseline: SIH,
    quantities: &[BEFORE, AFTER, PAUSE_AFTER],
    claims: &[
        read_by(
            words(
                "Fig. 14(b)",
                "F0's least rate with DSH",
                NO_DEGRADATION,
                (1, View::Itself),
                &[("scheme", "dsh, window 10 ms")],
            ),
            &["burst at"],
        ),
        read_by(
            words("Fig. 14(b)", "F0's least rate with SIH", DEGRADED, (1, View::Itself), &[SIH]),
            &["burst at"],
        ),
    ],
    check: &[],
};

const INTERFERED: Quantity = Quantity {
    name: "mean FCT of interfered",
    unit: Unit::Microseconds,
    source: Source::Metric("labels.interfered.fct_ns.mean"),
};
const INTERFERING: Quantity = Quantity {
    name: "mean FCT of interfering",
    unit: Unit::Microseconds,
    source: Source::Metric("labels.interfering.fct_ns.mean"),
};

const WITHOUT_SHARED: (&str, &str) = ("scheme", "dsh-without-shared");

const FIG15: Figure = Figure {
    name: "fig15",
    also: &[],
    title: "Fig. 15: isolation of classes at a port (V-A)",
    notes: "Arrivals for 20 ms. Loads are parts of a sender's link: the paper sees harm above 0.5, where the receiver's \
            link is full. The size of interfered flows is not given: 64 KB here.",
    has_small: false,
    baseline: SIH,
    quantities: &[INTERFERED, INTERFERING, PAUSE, PAUSE_BY_QUEUES, PAUSE_BY_PORTS],
    claims: &[
        words(
            "Fig. 15",
            "DSH against SIH, interfered, increase",
            COMPARABLE,
            (0, View::Increase),
            DSH,
        ),
        words(
            "Fig. 15",
            "DSH without shared headroom, likewise",
            ("significantly worse above a load of 0.5", WORSE),
            (0, View::Increase),
            &[WITHOUT_SHARED, ("interfering", "0.6"), ("interfering", "0.8")],
        ),
    ],
    check: DSH,
};
