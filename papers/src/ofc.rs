//! Wenli Xiao et al., "OFC: An Original congestion-based Fine-grained Priority Flow Control". Figures 1 and 3 show no
//! measurement.

mod deadlocks;
mod fat_tree;
mod incast;
mod motivation;

use sweep::Decimal;

use super::claim::{read_by, words};
use super::{
    Bound, Claim, Criterion, Expected, Figure, Paper, Quantity, Source, Unit, View, plain,
};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/ofc/", $name)))),*]
    };
}

/// The paper.
pub const PAPER: Paper = Paper {
    name: "ofc",
    title: "W. Xiao et al., OFC: An Original congestion-based Fine-grained Priority Flow Control",
    files: files![
        "constants.toml",
        "dumbbell.toml",
        "fattree.toml",
        "fig02.toml",
        "fig04.toml",
        "fig06.toml",
        "fig08.toml",
        "fig09.toml",
        "motivation.toml",
        "ring.toml",
    ],
    figures: &[
        motivation::FIG02,
        incast::FIG04,
        incast::CONSTANTS,
        fat_tree::FIG06,
        fat_tree::FIG08,
        deadlocks::FIG09,
    ],
    check: include_str!("../../scenarios/ofc/check.csv"),
};

/// Choices by axis.
type Cells = &'static [(&'static str, &'static str)];

const SCHEME: &str = "scheme";
const OFC: (&str, &str) = (SCHEME, "ofc");
const PFC: (&str, &str) = (SCHEME, "pfc");
const CA_PFC: (&str, &str) = (SCHEME, "capfc");
/// P-PFC as OFC's paper describes it; [`P_PFC`] follows its own abstract.
const P_PFC_OFC: (&str, &str) = (SCHEME, "p-pfc, ofc");
const P_PFC: (&str, &str) = (SCHEME, "p-pfc, predict");
const GFC_OFC: (&str, &str) = (SCHEME, "gfc, ofc");
const GFC: (&str, &str) = (SCHEME, "gfc");
/// GFC with a higher threshold of PFC's safety net.
const GFC_FAR: (&str, &str) = (SCHEME, "gfc, X_off 150 kB");
/// GFC with a higher X_off and a last rate near zero.
const GFC_14: (&str, &str) = (SCHEME, "gfc, X_off 150 kB, 14 stages");
const G_PFC: (&str, &str) = (SCHEME, "g-pfc");

/// "Reduces", "lower".
const MORE: Criterion = Criterion::Each(Bound::Above(Decimal(0)));
/// "Uniform": within a tenth on either side of 1.
const UNIFORM: Criterion =
    Criterion::Each(Bound::Between(Decimal::per_mille(900), Decimal::per_mille(1100)));

/// Makes a claim that OFC is below others.
const fn below(
    place: &'static str,
    text: &'static str,
    paper: Expected,
    quantity: usize,
    cells: Cells,
) -> Claim {
    let holds = Criterion::within_a_fifth(paper);
    let seen = (quantity, View::BaselineReduction);
    Claim { paper, ..words(place, text, ("", holds), seen, cells) }
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

const fn microseconds(name: &'static str, metric: &'static str) -> Quantity {
    Quantity { name, unit: Unit::Microseconds, source: Source::Metric(metric) }
}

const fn kilobytes(name: &'static str, metric: &'static str) -> Quantity {
    Quantity { name, unit: Unit::Kilobytes, source: Source::Metric(metric) }
}

/// Converts hundredths of a per cent.
const fn part(basis_points: i32) -> Decimal {
    Decimal(Decimal::ONE.0 * basis_points as i128 / 10_000)
}

const fn up_to(basis_points: i32) -> Expected {
    Expected::UpTo(part(basis_points))
}

const PAUSES: Quantity = plain("PAUSE frames", "pause_frames");
