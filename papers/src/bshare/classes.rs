//! Three priorities with separate queues (Section V-4).

use super::{
    ABM, ABM_MARKED, BSHARE, Cells, Claim, DT, Expected, MARKED, MORE, OCCUPANCY, OCCUPANCY_P99,
    SOJOURN_DROPS, THRESHOLD_DROPS, UPLINKS, against, number, part, plain, read_by, words,
};
use crate::{Figure, View};

const CONTROL: &[&str] = &["control of queries"];
const CUBIC: usize = 0;
const DCTCP: usize = 1;
const THETA: usize = 2;
const MEAN_OCCUPANCY: usize = 4;
const LOAD_10: (&str, &str) = ("load", "0.1");
const LOAD_30: (&str, &str) = ("load", "0.3");
const LOAD_50: (&str, &str) = ("load", "0.5");

/// Makes a claim that BSHARE is below another scheme.
const fn below(
    scheme: (&'static str, &'static str),
    text: &'static str,
    paper: Expected,
    class: usize,
    cells: Cells,
) -> Claim {
    let claim = number("V-4", text, paper, (class, View::Reduction), cells);
    read_by(against(scheme, claim), CONTROL)
}

/// "Significantly improves FCT slowdown compared to DT and ABM under varying load conditions."
const fn below_dt(text: &'static str, class: usize, cells: Cells) -> Claim {
    let paper = ("consistently outperforms DT", MORE);
    read_by(against(DT, words("V-4", text, paper, (class, View::Reduction), cells)), CONTROL)
}

pub(super) const FIG04: Figure = Figure {
    name: "fig04",
    also: &["fig4"],
    title: "Fig. 4: three priorities (V-4)",
    notes: "As the run \"multi\" of ABM's simulator, at the size of the paper: see classes.toml. The load is that of Cubic; DCTCP has 0.1, and \
            theta-PowerTCP queries alone, of 0.3 of the buffer. In that simulator its parameters are never applied, and it sends at line rate: that is the \
            control \"none\". Flows start within 100 ms. Slowdowns are p99s, of Cubic and DCTCP those of flows up to 100 kB.",
    has_small: true,
    baseline: BSHARE,
    quantities: &[
        plain("Cubic", "labels.cubic.sizes.up-to-100kB.slowdown.p99"),
        plain("DCTCP", "labels.dctcp.sizes.up-to-100kB.slowdown.p99"),
        plain("queries", "labels.theta.slowdown.p99"),
        plain("queries mean", "labels.theta.slowdown.mean"),
        OCCUPANCY,
        OCCUPANCY_P99,
        UPLINKS,
        THRESHOLD_DROPS,
        SOJOURN_DROPS,
    ],
    claims: &[
        below(
            ABM,
            "Cubic at 50 %, below ABM",
            Expected::About(part(1180)),
            CUBIC,
            &[BSHARE, LOAD_50],
        ),
        below(
            DT,
            "Cubic at 50 %, below DT",
            Expected::About(part(6372)),
            CUBIC,
            &[BSHARE, LOAD_50],
        ),
        below(
            ABM,
            "theta-PowerTCP at 10 %, below ABM",
            Expected::About(part(4507)),
            THETA,
            &[BSHARE, LOAD_10],
        ),
        below(
            ABM,
            "theta-PowerTCP at 30 %, below ABM",
            Expected::About(part(2889)),
            THETA,
            &[BSHARE, LOAD_30],
        ),
        below(
            DT,
            "theta-PowerTCP at 10 and 30 %, below DT",
            Expected::Over(part(9344)),
            THETA,
            &[BSHARE, LOAD_10, LOAD_30],
        ),
        below(ABM, "DCTCP, below ABM", Expected::UpTo(part(3473)), DCTCP, &[BSHARE]),
        below(DT, "DCTCP, below DT", Expected::UpTo(part(5279)), DCTCP, &[BSHARE]),
        below_dt("Cubic at all loads, below DT", CUBIC, &[BSHARE]),
        below_dt("DCTCP at all loads, below DT", DCTCP, &[BSHARE]),
        below_dt("theta-PowerTCP at all loads, below DT", THETA, &[BSHARE]),
        below(
            ABM_MARKED,
            "ACKs marked: Cubic at 50 %, below ABM",
            Expected::About(part(1180)),
            CUBIC,
            &[MARKED, LOAD_50],
        ),
        below(
            DT,
            "ACKs marked: Cubic at 50 %, below DT",
            Expected::About(part(6372)),
            CUBIC,
            &[MARKED, LOAD_50],
        ),
        below(
            ABM_MARKED,
            "ACKs marked: theta-PowerTCP at 10 %, below ABM",
            Expected::About(part(4507)),
            THETA,
            &[MARKED, LOAD_10],
        ),
        below(
            ABM_MARKED,
            "ACKs marked: theta-PowerTCP at 30 %, below ABM",
            Expected::About(part(2889)),
            THETA,
            &[MARKED, LOAD_30],
        ),
        below(
            DT,
            "ACKs marked: theta-PowerTCP at 10 and 30 %, below DT",
            Expected::Over(part(9344)),
            THETA,
            &[MARKED, LOAD_10, LOAD_30],
        ),
        below(
            ABM_MARKED,
            "ACKs marked: DCTCP, below ABM",
            Expected::UpTo(part(3473)),
            DCTCP,
            &[MARKED],
        ),
        below(DT, "ACKs marked: DCTCP, below DT", Expected::UpTo(part(5279)), DCTCP, &[MARKED]),
        below_dt("ACKs marked: Cubic at all loads, below DT", CUBIC, &[MARKED]),
        below_dt("ACKs marked: DCTCP at all loads, below DT", DCTCP, &[MARKED]),
        below_dt("ACKs marked: theta-PowerTCP at all loads, below DT", THETA, &[MARKED]),
        read_by(
            against(
                ABM,
                words(
                    "Fig. 4",
                    "mean occupancy, above ABM",
                    ("slightly more buffer", MORE),
                    (MEAN_OCCUPANCY, View::Increase),
                    &[BSHARE],
                ),
            ),
            CONTROL,
        ),
    ],
    check: &[BSHARE, LOAD_10],
};
