//! K. Agarwal et al., "BSHARE: Packet Queuing Delay-Driven Buffer Sharing for Datacenter Switches". Figure 1 shows no
//! measurement.

mod buffers;
mod classes;
mod loads;
mod open;

use sweep::Decimal;

use super::claim::{read_by, words};
use super::{Bound, Claim, Criterion, Expected, Paper, Quantity, Source, Unit, View, plain};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/bshare/", $name)))),*]
    };
}

/// The paper.
pub const PAPER: Paper = Paper {
    name: "bshare",
    title: "K. Agarwal et al., BSHARE: Packet Queuing Delay-Driven Buffer Sharing for Datacenter Switches",
    files: files![
        "classes.toml",
        "clos.toml",
        "fig02.toml",
        "fig03.toml",
        "fig04.toml",
        "fig05.toml",
        "fig2open.toml",
        "lossless.toml",
        "neighbours.toml",
    ],
    figures: &[
        loads::FIG02,
        open::FIG2_OPEN,
        loads::FIG03,
        classes::FIG04,
        buffers::FIG05,
        open::LOSSLESS,
    ],
    check: include_str!("../../scenarios/bshare/check.csv"),
};

/// Choices by axis.
type Cells = &'static [(&'static str, &'static str)];

const SCHEME: &str = "scheme";
const BSHARE: (&str, &str) = (SCHEME, "bshare");
const ABM: (&str, &str) = (SCHEME, "abm");
const DT: (&str, &str) = (SCHEME, "dt");
const FAB: (&str, &str) = (SCHEME, "fab");
const CS: (&str, &str) = (SCHEME, "cs");
const IB: (&str, &str) = (SCHEME, "ib");
/// BSHARE with marks on ACKs, as in ABM's simulator.
const MARKED: (&str, &str) = (SCHEME, "bshare, ACKs marked");
const ABM_MARKED: (&str, &str) = (SCHEME, "abm, ACKs marked");

/// "Reduces", "outperforms", "more".
const MORE: Criterion = Criterion::Each(Bound::Above(Decimal(0)));
/// "Comparable": an increase, or a reduction that is a deterioration, of at most a tenth.
const COMPARABLE: Criterion = Criterion::Each(Bound::AtMost(Decimal::per_mille(100)));
/// "Similar": within a tenth on either side.
const SIMILAR: Criterion =
    Criterion::Each(Bound::Between(Decimal::per_mille(-100), Decimal::per_mille(100)));

const QUERIES_P99: Quantity = plain("queries p99 slowdown", "labels.incast.slowdown.p99");
const QUERIES_MEAN: Quantity = plain("queries mean slowdown", "labels.incast.slowdown.mean");
const QUERIES_P99_FCT: Quantity = Quantity {
    name: "queries p99 FCT",
    unit: Unit::Milliseconds,
    source: Source::Metric("labels.incast.fct_ns.p99"),
};
const SHORT_P99: Quantity =
    plain("WebSearch up to 100 kB p99 slowdown", "labels.websearch.sizes.up-to-100kB.slowdown.p99");
const OCCUPANCY: Quantity = Quantity {
    name: "mean occupancy of leaf 0",
    unit: Unit::Kilobytes,
    source: Source::Metric("switch_buffer_bytes.leaf0.mean"),
};
const OCCUPANCY_P99: Quantity = Quantity {
    name: "p99 occupancy of leaf 0",
    unit: Unit::Kilobytes,
    source: Source::Metric("switch_buffer_bytes.leaf0.p99"),
};
const UPLINKS: Quantity = Quantity {
    name: "use of leaf 0's uplinks",
    unit: Unit::Percent,
    source: Source::Ratio("link_bytes.leaf0.to_switches", "link_bytes.leaf0.to_switches_capacity"),
};
const THRESHOLD_DROPS: Quantity = plain("drops by threshold", "drops.by_reason.lossy-threshold");
const FULL_DROPS: Quantity = plain("drops of a full buffer", "drops.by_reason.lossy-buffer-full");
const SOJOURN_DROPS: Quantity = plain("drops by sojourn time", "drops.by_reason.sojourn-time");
const FAIR_DROPS: Quantity = plain("fair drops", "drops.by_reason.fair-drop");

/// Makes a claim on the mean over the cells with which BSHARE is compared: about `basis_points` / 100 per cent, within
/// a fifth.
const fn on_average(
    place: &'static str,
    text: &'static str,
    basis_points: i32,
    seen: (usize, View),
    cells: Cells,
) -> Claim {
    let paper = Expected::About(part(basis_points));
    let Criterion::Each(bound) = Criterion::within_a_fifth(paper) else {
        panic!("\"about\" holds for each value")
    };
    Claim { paper, ..words(place, text, ("", Criterion::Mean(bound)), seen, cells) }
}

/// Compares a claim with another scheme than the figure's baseline.
const fn against(scheme: (&'static str, &'static str), claim: Claim) -> Claim {
    Claim { against: Some(scheme), ..claim }
}

/// Makes a claim on a number of the paper, met within a fifth.
const fn number(
    place: &'static str,
    text: &'static str,
    paper: Expected,
    seen: (usize, View),
    cells: Cells,
) -> Claim {
    let holds = Criterion::within_a_fifth(paper);
    Claim { paper, ..words(place, text, ("", holds), seen, cells) }
}

/// Converts hundredths of a per cent.
const fn part(basis_points: i32) -> Decimal {
    Decimal(Decimal::ONE.0 * basis_points as i128 / 10_000)
}
