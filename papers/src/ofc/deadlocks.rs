//! The deadlock scenario (Section IV-C3).

use std::path::Path;

use sweep::RunResult;

use super::{
    CA_PFC, Claim, Criterion, Decimal, Expected, Figure, G_PFC, GFC, GFC_14, GFC_FAR, GFC_OFC, OFC,
    P_PFC, P_PFC_OFC, PAUSES, PFC, Quantity, Source, Unit, View, part, plain, read_by, words,
};
use crate::Bound;

/// Returns 1 if flows have not completed by the run's end or because of a deadlock, otherwise 0.
fn is_undone(run: &RunResult, _: &Path) -> Option<Decimal> {
    let number = |name| run.metrics.value(name);
    let undone = number("flows_completed")? != number("flows_total")?;
    Some(Decimal::whole(undone.into()))
}

const OPEN: &[&str] = &["flow size"];

/// Makes a claim on the range over the numbers of flows.
const fn fewer(
    text: &'static str,
    (least, most): (i32, i32),
    scheme: &'static [(&'static str, &'static str)],
) -> Claim {
    let paper = Expected::Range(part(least), part(most));
    let holds = Criterion::within_a_fifth(paper);
    let seen = (0, View::BaselineReduction);
    read_by(Claim { paper, ..words("IV-C3", text, ("", holds), seen, scheme) }, OPEN)
}

pub(super) const FIG09: Figure = Figure {
    name: "fig09",
    also: &["fig9"],
    title: "Fig. 9: deadlocks (IV-C3)",
    notes: "A seed divides the flows among the four groups, each division being equally probable, and draws their hosts; all schemes have the same. \
            They start at once; the paper does not say how large they are. A run ends at its first deadlock. Circles of pauses of flows \
            count as those of PFC. A run of 20 ms that neither drains nor has a deadlock has undecided circles.",
    has_small: false,
    baseline: OFC,
    quantities: &[
        Quantity {
            name: "runs with a deadlock",
            unit: Unit::Percent,
            source: Source::Share("deadlock.at_end"),
        },
        Quantity {
            name: "onset",
            unit: Unit::Microseconds,
            source: Source::Onset("deadlock.first_onset_ns"),
        },
        Quantity {
            name: "runs that left flows undone",
            unit: Unit::Percent,
            source: Source::Other(is_undone),
        },
        plain("circles that dissolved", "deadlock.dissolved"),
        plain("circles undecided at the end", "deadlock.undecided"),
        plain("flows that completed", "labels.flows.completed"),
        PAUSES,
    ],
    claims: &[
        fewer("runs with a deadlock, OFC below PFC", (715, 4524), &[PFC]),
        fewer("the same, below caPFC", (414, 4043), &[CA_PFC]),
        fewer("the same, below P-PFC as OFC describes it", (499, 4153), &[P_PFC_OFC]),
        fewer("the same, below P-PFC after its abstract", (499, 4153), &[P_PFC]),
        fewer("the same, below GFC as OFC describes it", (864, 4870), &[GFC_OFC]),
        fewer("the same, below G-PFC", (795, 4733), &[G_PFC]),
        read_by(
            words(
                "GFC's paper",
                "runs with a deadlock, GFC as published, X_off 150 kB, 14 stages",
                ("none", Criterion::Each(Bound::AtMost(part(0)))),
                (0, View::Itself),
                &[GFC_14],
            ),
            OPEN,
        ),
        read_by(
            words(
                "GFC's paper",
                "the same, 8 stages",
                ("none", Criterion::Each(Bound::AtMost(part(0)))),
                (0, View::Itself),
                &[GFC_FAR],
            ),
            OPEN,
        ),
        read_by(
            words(
                "GFC's paper",
                "the same, 8 stages, X_off at B_m",
                ("none", Criterion::Each(Bound::AtMost(part(0)))),
                (0, View::Itself),
                &[GFC],
            ),
            OPEN,
        ),
    ],
    check: &[OFC, ("flow size", "30 kB")],
};
