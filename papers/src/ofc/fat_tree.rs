//! The realistic scenario (Section IV-C2).

use std::path::Path;

use sweep::{Decimal as Number, RunResult};

use super::{
    Bound, CA_PFC, Cells, Claim, Criterion, Decimal, Expected, Figure, G_PFC, GFC, GFC_OFC, MORE,
    OFC, P_PFC, P_PFC_OFC, PAUSES, PFC, Quantity, Source, View, below, kilobytes, microseconds,
    part, up_to, words,
};
use crate::Unit;

const MEAN: usize = 0;
const LARGE: usize = 2;
const ALIKE: usize = 3;
const QUEUES: usize = 4;

/// Makes a quantity: mean queue of the ports of a layer.
const fn layer(name: &'static str, read: fn(&RunResult, &Path) -> Option<Number>) -> Quantity {
    Quantity { name, unit: Unit::Kilobytes, source: Source::Other(read) }
}

fn core(run: &RunResult, _: &Path) -> Option<Number> {
    mean_of_layer(run, "core")
}

fn aggregation(run: &RunResult, _: &Path) -> Option<Number> {
    mean_of_layer(run, "agg")
}

/// Returns the mean over all ports of switches whose names begin with `layer`.
fn mean_of_layer(run: &RunResult, layer: &str) -> Option<Number> {
    let start = format!("port_queues.switches.{layer}");
    let (mut ports, mut sum) = (0, 0);
    for (name, count) in run.metrics.0.range(start.clone()..) {
        if !name.starts_with(&start) {
            break;
        }
        if let Some(switch) = name.strip_suffix(".ports") {
            let mean = run.metrics.value(&format!("{switch}.mean"))?;
            ports += count.0 / Number::ONE.0;
            sum += mean.0 * (count.0 / Number::ONE.0);
        }
    }
    (ports > 0).then(|| Number::ratio(sum, ports * Number::ONE.0))
}

const QUANTITIES: &[Quantity] = &[
    microseconds("mean FCT of all", "fct_ns.mean"),
    microseconds("mean FCT up to 10 kB", "sizes.up-to-10kB.fct_ns.mean"),
    microseconds("mean FCT above 10 kB", "sizes.above-10kB.fct_ns.mean"),
    Quantity {
        name: "mean FCT up to 10 kB by that above",
        unit: Unit::Plain,
        source: Source::Ratio("sizes.up-to-10kB.fct_ns.mean", "sizes.above-10kB.fct_ns.mean"),
    },
    kilobytes("mean queue of all ports", "port_queues.mean"),
    layer("mean queue of the core layer", core),
    layer("mean queue of the aggregation layer", aggregation),
    microseconds("p99 FCT of all", "fct_ns.p99"),
    PAUSES,
];

const EDU1: (&str, &str) = ("sizes", "EDU1");
const EDU2: (&str, &str) = ("sizes", "EDU2");

macro_rules! others {
    ($($more:expr),*) => {
        &[PFC, CA_PFC, P_PFC_OFC, P_PFC, GFC_OFC, GFC, G_PFC, $($more),*]
    };
}

/// Makes a claim "around 5 % compared to baselines", on average over the baselines.
const fn around(text: &'static str, cells: Cells) -> Claim {
    let paper = Expected::About(part(500));
    let Criterion::Each(bound) = Criterion::within_a_fifth(paper) else {
        panic!("\"about\" holds for each value")
    };
    let seen = (MEAN, View::BaselineReduction);
    Claim { paper, ..words("IV-C2", text, ("", Criterion::Mean(bound)), seen, cells) }
}

pub(super) const FIG06: Figure = Figure {
    name: "fig06",
    also: &["fig07", "fig6", "fig7"],
    title: "Fig. 6 and 7: EDU1 and EDU2 in a fat tree (IV-C2)",
    notes: "256 servers at full size; 0.3 of their links is asked for, which the paper does not say, 0.6 of those above the edge. Flows start within \
            10 ms (`--scale small`: 2 ms) and all complete; queues are means over that time. G-PFC: each flow draws one of two priorities, as \
            nothing in the paper makes one high.",
    has_small: true,
    baseline: OFC,
    quantities: QUANTITIES,
    claims: &[
        around("mean FCT of all flows, EDU1, OFC below the others", others![EDU1]),
        around("the same, EDU2", others![EDU2]),
        words(
            "IV-C2",
            "mean FCT above 10 kB, each scheme, OFC below",
            ("reduces the FCT of large flows", MORE),
            (LARGE, View::BaselineReduction),
            others![],
        ),
        words(
            "IV-C2",
            "mean FCT of short flows by that of large ones, all schemes",
            ("smaller", Criterion::Each(Bound::AtMost(Decimal::per_mille(999)))),
            (ALIKE, View::Itself),
            &[],
        ),
        Claim {
            against: Some(EDU1),
            ..words(
                "IV-C2",
                "mean FCT of all flows, all schemes, EDU2 above EDU1",
                ("correspondingly larger", MORE),
                (MEAN, View::Increase),
                &[EDU2],
            )
        },
        Claim {
            against: Some(EDU1),
            ..words(
                "IV-C2",
                "mean queue of all ports, all schemes, EDU2 above EDU1",
                ("elevated in EDU2", MORE),
                (QUEUES, View::Increase),
                &[EDU2],
            )
        },
        below(
            "IV-C2",
            "mean queue of all ports, EDU1, OFC below the others",
            up_to(1183),
            QUEUES,
            others![EDU1],
        ),
        below("IV-C2", "the same, EDU2", up_to(1124), QUEUES, others![EDU2]),
    ],
    check: &[OFC, EDU1],
};

const X_OFF: &str = "X_off";
const KB_75: (&str, &str) = (X_OFF, "75 kB");
const KB_225: (&str, &str) = (X_OFF, "225 kB");
const ALPHA_90: (&str, &str) = (SCHEME_AXIS, "ofc, alpha 0.9");
const SCHEME_AXIS: &str = super::SCHEME;

/// Makes a claim "does not exceed a variation of x %", against another choice.
const fn varies(
    text: &'static str,
    basis_points: i32,
    against: (&'static str, &'static str),
    cells: Cells,
) -> Claim {
    let bound = Bound::Between(part(-basis_points), part(basis_points));
    let holds = Criterion::Each(bound);
    let claim = words("IV-C2", text, ("does not exceed", holds), (QUEUES, View::Increase), cells);
    Claim { paper: up_to(basis_points), against: Some(against), ..claim }
}

pub(super) const FIG08: Figure = Figure {
    name: "fig08",
    also: &["fig8"],
    title: "Fig. 8: thresholds (IV-C2)",
    notes: "As Fig. 6, EDU1. The paper varies X_off and says nothing of X_on, which stays 45 kB.",
    has_small: true,
    baseline: PFC,
    quantities: QUANTITIES,
    claims: &[
        varies(
            "mean queue of all ports, alpha of 0.8 and 0.85 beside 0.9",
            300,
            ALPHA_90,
            &[(SCHEME_AXIS, "ofc, alpha 0.8"), (SCHEME_AXIS, "ofc, alpha 0.85"), KB_75],
        ),
        Claim {
            paper: Expected::Range(part(580), part(800)),
            ..words(
                "IV-C2",
                "mean queue of all ports, OFC below PFC, alpha of 0.8 to 0.9",
                ("", Criterion::within_a_fifth(Expected::Range(part(580), part(800)))),
                (QUEUES, View::Reduction),
                &[
                    (SCHEME_AXIS, "ofc, alpha 0.8"),
                    (SCHEME_AXIS, "ofc, alpha 0.85"),
                    ALPHA_90,
                    KB_75,
                ],
            )
        },
        varies(
            "the same, beta of 6 and 10 beside 3",
            250,
            KB_225,
            &[ALPHA_90, (X_OFF, "450 kB"), (X_OFF, "750 kB")],
        ),
        Claim {
            paper: Expected::About(part(510)),
            ..words(
                "IV-C2",
                "mean queue of all ports, OFC below PFC, beta of 3 to 10",
                ("", Criterion::within_a_fifth(Expected::About(part(510)))),
                (QUEUES, View::Reduction),
                &[ALPHA_90, KB_225, (X_OFF, "450 kB"), (X_OFF, "750 kB")],
            )
        },
    ],
    check: &[ALPHA_90, KB_75],
};

#[cfg(test)]
mod tests {
    use sweep::made_up::run_with;

    use super::*;

    #[test]
    fn a_layer_counts_its_ports() {
        let run = run_with(&[
            ("port_queues.switches.agg0.mean", 100),
            ("port_queues.switches.agg0.ports", 3),
            ("port_queues.switches.agg11.mean", 20),
            ("port_queues.switches.agg11.ports", 1),
            ("port_queues.switches.core0.mean", 7),
            ("port_queues.switches.core0.ports", 1),
        ]);
        let read = |layer| mean_of_layer(&run, layer).map(|mean| mean.to_string());
        assert_eq!(read("agg").as_deref(), Some("80"));
        assert_eq!(read("core").as_deref(), Some("7"));
        assert_eq!(read("edge"), None);
    }
}
