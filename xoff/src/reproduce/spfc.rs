//! H. Huang et al., "Re-Architecting Buffer Management in Lossless Ethernet" (SPFC), IEEE/ACM Transactions on
//! Networking, 2024. Figures 1, 7, 8 and 10 show no measurement; Fig. 9 is a model, with which a test of
//! `fabric-core` compares what a switch decides.

mod fabrics;
mod star;
mod tolerance;

use super::claim::{read_by, words};
use super::{Bound, Claim, Criterion, Expected, Paper, Peers, Quantity, Source, Unit, View};
use crate::sweep::Decimal;
use fabrics::{FIG12, FIG15, FIG17, HEADROOM, TABLE3};
use star::{FIG04, FIG06, FIG11};
use tolerance::{FIG13, FIG14};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/spfc/", $name)))),*]
    };
}

/// The paper.
pub const PAPER: Paper = Paper {
    name: "spfc",
    title: "H. Huang et al., Re-Architecting Buffer Management in Lossless Ethernet, IEEE/ACM Transactions on \
            Networking, 2024",
    files: files![
        "fig04.toml",
        "fig06.toml",
        "fig11.toml",
        "fig12.toml",
        "fig13.toml",
        "fig14.toml",
        "fig15.toml",
        "fig17.toml",
        "headroom.toml",
        "mix.toml",
        "pod.toml",
        "pods.toml",
        "star.toml",
        "table3.toml",
        "testbed.toml",
        "websearch.toml",
    ],
    figures: &[FIG04, FIG06, FIG11, FIG12, FIG13, FIG14, FIG15, TABLE3, FIG17, HEADROOM],
    check: include_str!("../../../scenarios/spfc/check.csv"),
};

/// Choices by axis.
type Cells = &'static [(&'static str, &'static str)];

const SPFC: (&str, &str) = ("scheme", "spfc");
/// The same with a longer period of counting.
const SPFC_400: (&str, &str) = ("scheme", "spfc, tc 400 us");
const DT_1: (&str, &str) = ("scheme", "dt 1");
const DT_2: (&str, &str) = ("scheme", "dt 2");
const DT_4: (&str, &str) = ("scheme", "dt 4");
const ST: (&str, &str) = ("scheme", "st");

const SCHEME: &str = "scheme";
const CONTROL: &str = "control";
const BUFFER: &str = "buffer";
const DCQCN: (&str, &str) = (CONTROL, "dcqcn, its paper");
const DCQCN_HPCC: (&str, &str) = (CONTROL, "dcqcn, hpcc's simulator");
const TIMELY: (&str, &str) = (CONTROL, "timely");

const P0: Peers = Peers::Only("h0");

const PAUSES_OF_P0: Quantity = plain("PAUSEs at P0", Source::Pauses(P0));
const PAUSES_OF_BURST: Quantity =
    plain("PAUSEs at burst ports", Source::Pauses(Peers::Except("h0")));

const fn plain(name: &'static str, source: Source) -> Quantity {
    Quantity { name, unit: Unit::Plain, source }
}

const fn claim(
    place: &'static str,
    text: &'static str,
    paper: (&'static str, Criterion),
    seen: (usize, View),
    cells: Cells,
    readings: &'static [&'static str],
) -> Claim {
    read_by(words(place, text, paper, seen, cells), readings)
}

const NONE: Decimal = Decimal(0);
const MORE: Criterion = Criterion::Each(Bound::Above(NONE));
