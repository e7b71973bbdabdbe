//! P. Goyal et al., "Backpressure Flow Control", NSDI 2022. Figures 1, 2, 5, 6 and 30 show no
//! measurement.

mod active;
mod classes;
mod clos;
mod data_centers;
mod elephants;
mod links;
mod variants;

use sweep::Decimal;

use super::claim::{read_by, words};
use super::{Bound, Claim, Criterion, Expected, Paper, Quantity, Source, Unit, View, plain};
use active::{FIG03, FIG04, FIG10C};
use classes::FIG20;
use clos::{FIG09, FIG10, FIG12, FIG13, FIG27, FIG28};
use data_centers::FIG26;
use elephants::FIG15;
use links::{FIG07, FIG08, TABLE1};
use variants::{FIG16, FIG16_WITHOUT, FIG19, FIG24, FIG25};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/bfc/", $name)))),*]
    };
}

/// The paper.
pub const PAPER: Paper = Paper {
    name: "bfc",
    title: "P. Goyal et al., Backpressure Flow Control, 19th USENIX Symposium on Networked Systems Design and \
            Implementation (NSDI), 2022",
    files: files![
        "active-flows.toml",
        "classes.toml",
        "clos.toml",
        "clos-incast.toml",
        "elephants.toml",
        "fair-share.toml",
        "fig03.toml",
        "fig04.toml",
        "fig07.toml",
        "fig08.toml",
        "fig09.toml",
        "fig10.toml",
        "fig10c.toml",
        "fig12.toml",
        "fig13.toml",
        "fig15.toml",
        "fig16.toml",
        "fig16-without.toml",
        "fig19.toml",
        "fig20.toml",
        "fig24.toml",
        "fig25.toml",
        "fig26.toml",
        "fig27.toml",
        "fig28.toml",
        "link.toml",
        "spreading.toml",
        "table1.toml",
        "two-data-centers.toml",
        "two-flows.toml",
    ],
    figures: &[
        TABLE1,
        FIG03,
        FIG04,
        FIG07,
        FIG08,
        FIG09,
        FIG10,
        FIG10C,
        FIG12,
        FIG13,
        FIG15,
        FIG16,
        FIG16_WITHOUT,
        FIG19,
        FIG20,
        FIG24,
        FIG25,
        FIG26,
        FIG27,
        FIG28,
    ],
    check: include_str!("../../scenarios/bfc/check.csv"),
};

const BFC: (&str, &str) = ("scheme", "bfc 32");
const HPCC: (&str, &str) = ("scheme", "hpcc");
const DCTCP: (&str, &str) = ("scheme", "dctcp");
const DCQCN: (&str, &str) = ("scheme", "dcqcn");

const DROPS: Quantity = plain("drops", "drops.policy");
/// Paused time, summed over links and priorities.
const PFC_PAUSES: Quantity = Quantity {
    name: "time paused by PFC",
    unit: Unit::Milliseconds,
    source: Source::Metric("window.paused_ns"),
};

/// Share of flow activations at a port that share a queue with other flows.
const COLLISIONS: Quantity = Quantity {
    name: "share of queue collisions",
    unit: Unit::Percent,
    source: Source::Ratio("flow_queues.collisions", "flow_queues.activations"),
};

/// Choices by axis.
type Cells = &'static [(&'static str, &'static str)];

/// Makes a claim on a number of the paper, met within a fifth on both sides.
const fn about(
    place: &'static str,
    text: &'static str,
    value: Decimal,
    quantity: usize,
    cells: Cells,
) -> Claim {
    let paper = Expected::About(value);
    let holds = Criterion::within_a_fifth(paper);
    Claim {
        place,
        text,
        paper,
        holds,
        quantity,
        view: View::Itself,
        cells,
        readings: &[],
        against: None,
    }
}

/// Bound for `tenths` / 10 times BFC's value, met within a fifth, as an increase over it.
const fn times(tenths: i32) -> Bound {
    Bound::AtLeast(Decimal::per_mille(tenths * 80 - 1000))
}

const NONE: Decimal = Decimal(0);
const WORSE: Criterion = Criterion::Each(Bound::Above(NONE));
/// "Similar", "closely": worse by at most a tenth.
const SIMILAR: Criterion = Criterion::Each(Bound::AtMost(Decimal::per_mille(100)));
const NO_DROPS: (&str, Criterion) = ("none", Criterion::Each(Bound::AtMost(NONE)));

#[cfg(test)]
mod tests {
    use super::*;

    /// 2.3 times within a fifth is 1.84 times, an increase of 84 %.
    #[test]
    fn factors_are_increases_within_a_fifth() {
        assert_eq!(times(23), Bound::AtLeast(Decimal::per_mille(840)));
        assert_eq!(times(600), Bound::AtLeast(Decimal::whole(47)));
    }
}
