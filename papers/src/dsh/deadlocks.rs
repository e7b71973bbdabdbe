//! Deadlocks (Section V-A, Fig. 16).

use sweep::Decimal;

use super::{CC, DSH_DCQCN, DSH_POWERTCP, SIH, claim, percent, read_by};
use crate::{Bound, Claim, Criterion, Expected, Figure, Quantity, Source, Unit, View};

const LOAD: &str = "load of a leaf";
const AT_800: (&str, &str) = (LOAD, "800 Gbit/s");
const AT_400: (&str, &str) = (LOAD, "400 Gbit/s");
const AT_200: (&str, &str) = (LOAD, "200 Gbit/s");
const AT_200_IN_ONE_CLASS: (&str, &str) = (LOAD, "200 Gbit/s in one class");
const AT_50: (&str, &str) = (LOAD, "50 Gbit/s to one host");

const DEADLOCKED: Quantity = Quantity {
    name: "runs with a deadlock",
    unit: Unit::Percent,
    source: Source::Share("deadlock.at_end"),
};
const ONSET: Quantity = Quantity {
    name: "onset",
    unit: Unit::Milliseconds,
    source: Source::Onset("deadlock.first_onset_ns"),
};

pub(super) const FIG16: Figure = Figure {
    name: "fig16",
    also: &[],
    title: "Fig. 16: deadlocks (V-A)",
    notes: "\"0.5 at the downlinks of each leaf switch\" is 800 Gbit/s if these are \
            the links to the hosts. 400 is half of a leaf's two uplinks, 200 half of the one that leaf0 and leaf3 have \
            left, 50 half of one host's link; 300 is no reading. A link of the circle is asked for as much, and \
            carries 400. Headroom is Eq. 1 for each link and for all of a chip's 32 lanes of 100 Gbit/s: \
            60,000 B lose packets at 400 Gbit/s. Classes are any of seven, which the paper says of Section V-B only. \
            DCQCN. Paused queues are tested at refresh, and marked alike at all ports: see the next figure.",
    has_small: true,
    baseline: SIH,
    quantities: &[DEADLOCKED, ONSET],
    claims: &[
        read_by(
            Claim {
                // "Deadlock occurs for all simulations."
                holds: Criterion::Each(Bound::AtLeast(Decimal::ONE)),
                ..claim(
                    "Fig. 16(b)",
                    "runs with a deadlock, SIH, DCQCN",
                    Expected::About(Decimal::ONE),
                    (0, View::Itself),
                    &[SIH, AT_800, AT_400, AT_200, AT_200_IN_ONE_CLASS, AT_50],
                )
            },
            &[LOAD],
        ),
        read_by(
            claim(
                "Fig. 16(b)",
                "deadlocks that DSH avoids, DCQCN",
                Expected::About(percent(960)),
                (0, View::Reduction),
                &[("scheme", "dsh"), AT_800, AT_400, AT_200, AT_200_IN_ONE_CLASS, AT_50],
            ),
            &[LOAD],
        ),
    ],
    check: &[],
};

const CONTROLS: &[&str] = &["queues are tested", "ECN thresholds"];

pub(super) const FIG16_READINGS: Figure = Figure {
    name: "fig16-readings",
    also: &[],
    title: "Fig. 16 at 200 Gbit/s, by what else is open (V-A)",
    notes: "Section IV-E resumes a queue when it falls below a threshold that moves with the switch. So a queue whose \
            packets all wait behind other pauses may be below it without a departure of its own; then its next refresh \
            ends the pause, or, as in simulators, nothing does. Thresholds of ECN at 400 Gbit/s are those at 100, or four \
            times these. A deadlock survives the test if it is one with tests at refresh, too; runs stop at their first, and what is \
            known then counts.",
    has_small: true,
    baseline: SIH,
    quantities: &[
        DEADLOCKED,
        ONSET,
        Quantity {
            name: "deadlocks known to survive the test",
            unit: Unit::Plain,
            source: Source::Metric("deadlock.surviving_refresh"),
        },
    ],
    claims: &[
        sih_deadlocks("runs with a deadlock, SIH, DCQCN", &[SIH, (CC, "dcqcn")]),
        sih_deadlocks("runs with a deadlock, SIH, PowerTCP", &[SIH, (CC, "powertcp")]),
        read_by(
            claim(
                "Fig. 16(b)",
                "deadlocks that DSH avoids, DCQCN",
                Expected::About(percent(960)),
                (0, View::Reduction),
                DSH_DCQCN,
            ),
            CONTROLS,
        ),
        read_by(
            claim(
                "Fig. 16(b)",
                "deadlocks that DSH avoids, PowerTCP",
                Expected::About(Decimal::ONE),
                (0, View::Reduction),
                DSH_POWERTCP,
            ),
            CONTROLS,
        ),
    ],
    check: &[],
};

/// "Deadlock occurs for all simulations."
const fn sih_deadlocks(
    text: &'static str,
    cells: &'static [(&'static str, &'static str)],
) -> Claim {
    let all = Expected::About(Decimal::ONE);
    let claim = claim("Fig. 16(b)", text, all, (0, View::Itself), cells);
    let holds = Criterion::Each(Bound::AtLeast(Decimal::ONE));
    read_by(Claim { holds, ..claim }, CONTROLS)
}
