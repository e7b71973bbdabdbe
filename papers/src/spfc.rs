//! H. Huang et al., "Re-Architecting Buffer Management in Lossless Ethernet" (SPFC), IEEE/ACM Transactions on
//! Networking, 2024. Figures 1, 7, 8 and 10 show no measurement.

mod clos;
mod deadlocks;
mod fabrics;
mod model;
mod star;
mod tolerance;

use sweep::Decimal;

use super::claim::{read_by, words};
use super::{Bound, Claim, Criterion, Expected, Paper, Peers, Quantity, Source, Unit, View};
use clos::{FIG15, FIG15_FULL, FIG18, TABLE3};
use deadlocks::{DEADLOCKS, DEADLOCKS_TIMELY, FIG17};
use fabrics::{FIG12, HEADROOM};
use model::FIG09;
use star::{FIG04, FIG04_XON, FIG05, FIG06, FIG06_STARTS, FIG11, STARTS};
use tolerance::{FIG13, FIG14, XON};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/spfc/", $name)))),*]
    };
}

/// The paper.
pub const PAPER: Paper = Paper {
    name: "spfc",
    title: "H. Huang et al., Re-Architecting Buffer Management in Lossless Ethernet, IEEE/ACM Transactions on \
            Networking, 2024",
    files: files![
        "clos.toml",
        "deadlocks.toml",
        "deadlocks-timely.toml",
        "fig04.toml",
        "fig04xon.toml",
        "fig05.toml",
        "fig06.toml",
        "fig06starts.toml",
        "fig09.toml",
        "fig11.toml",
        "fig12.toml",
        "fig13.toml",
        "fig14.toml",
        "fig15.toml",
        "fig15full.toml",
        "fig17.toml",
        "fig18.toml",
        "headroom.toml",
        "mix.toml",
        "model.toml",
        "pod.toml",
        "pods.toml",
        "star.toml",
        "starts.toml",
        "table3.toml",
        "testbed.toml",
        "websearch.toml",
        "xon.toml",
    ],
    figures: &[
        FIG04,
        FIG04_XON,
        STARTS,
        FIG05,
        FIG06,
        FIG06_STARTS,
        FIG09,
        FIG11,
        FIG12,
        FIG13,
        XON,
        FIG14,
        FIG15,
        FIG15_FULL,
        TABLE3,
        FIG17,
        DEADLOCKS,
        DEADLOCKS_TIMELY,
        FIG18,
        HEADROOM,
    ],
    check: include_str!("../../scenarios/spfc/check.csv"),
};

/// Choices by axis.
type Cells = &'static [(&'static str, &'static str)];

const SPFC: (&str, &str) = ("scheme", "spfc");
/// SPFC with a longer counting period.
const SPFC_400: (&str, &str) = ("scheme", "spfc, tc 400 us");
const DT_1: (&str, &str) = ("scheme", "dt 1");
const DT_2: (&str, &str) = ("scheme", "dt 2");
const DT_4: (&str, &str) = ("scheme", "dt 4");
const ST: (&str, &str) = ("scheme", "st");

const SCHEME: &str = "scheme";
const CONTROL: &str = "control";
const BUFFER: &str = "buffer";
const XON_OFFSET: &str = "xon_offset";
const DCQCN: (&str, &str) = (CONTROL, "dcqcn, its paper");
const DCQCN_HPCC: (&str, &str) = (CONTROL, "dcqcn, hpcc's simulator");
const TIMELY: (&str, &str) = (CONTROL, "timely");

const P0: Peers = Peers::Only("h0");

const PAUSES_OF_P0: Quantity = plain("PAUSEs at P0", Source::Pauses(P0));
const PAUSES_OF_BURST: Quantity =
    plain("PAUSEs at burst ports", Source::Pauses(Peers::Except("h0")));

/// Frames are more numerous than decisions, because the pause of a paused neighbour is refreshed.
const FRAMES_TO_P0: Quantity = plain("PAUSE frames to P0", Source::PauseFrames(P0));
const P0_IS_PAUSED: Quantity =
    Quantity { name: "P0 is paused", unit: Unit::Microseconds, source: Source::PausedTime(P0) };

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

/// Compares a claim with static thresholds.
const fn against_st(claim: Claim) -> Claim {
    Claim { against: Some(ST), ..claim }
}

const NONE: Decimal = Decimal(0);
const MORE: Criterion = Criterion::Each(Bound::Above(NONE));
