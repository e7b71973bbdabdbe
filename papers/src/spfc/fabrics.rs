//! The testbed (Section VII-B), and headroom of another kind.

use super::{
    Bound, Criterion, DT_2, Decimal, MORE, PAUSES_OF_BURST, PAUSES_OF_P0, Quantity, SPFC, ST,
    Source, Unit, View, claim,
};
use crate::Figure;

const RATE_OF_P0: Quantity =
    Quantity { name: "rate of P0", unit: Unit::Gigabits, source: Source::MeanRate };
const RATE_OF_F1: Quantity =
    Quantity { name: "rate of F1", unit: Unit::Gigabits, source: Source::RateOf(0) };

pub(super) const FIG12: Figure = Figure {
    name: "fig12",
    also: &[],
    title: "Fig. 12: the testbed (VII-B)",
    notes: "10 Gbit/s; the burst lasts from 10 to 120 ms. DCQCN with its paper's parameters. Two ways from a host to the switch: \
            the paper has none. The runs are emulated as all others; no testbed is involved.",
    has_small: false,
    baseline: DT_2,
    quantities: &[PAUSES_OF_P0, PAUSES_OF_BURST, RATE_OF_P0, RATE_OF_F1],
    claims: &[
        claim(
            "VII-B",
            "rate of P0 with SPFC, 1 to 6 burst ports",
            ("does not decrease", Criterion::Each(Bound::AtLeast(NINE_TENTHS))),
            (2, View::Itself),
            &[SPFC],
            &["way"],
        ),
        claim(
            "VII-B",
            "PAUSEs at P0 with ST against DT, 6 burst ports, increase",
            ("ST performs the worst", MORE),
            (0, View::Increase),
            &[ST, ("N", "6")],
            &["way"],
        ),
        claim(
            "VII-B",
            "PAUSEs at P0, SPFC against DT, 6 burst ports, reduction",
            ("not too many", MORE),
            (0, View::Reduction),
            &[SPFC, ("N", "6")],
            &["way"],
        ),
    ],
    check: &[ST, ("N", "6")],
};

/// Nine tenths of the 9.24 Gbit/s of payload that the link carries.
const NINE_TENTHS: Decimal = Decimal::per_mille(8316);

pub(super) const HEADROOM: Figure = Figure {
    name: "headroom",
    also: &[],
    title: "SPFC beside DSH's headroom, no figure of the paper",
    notes: "The burst of Fig. 5, N = 24. The second buffer has 16 MB beside SIH's headroom.",
    has_small: false,
    baseline: ("headroom", "sih"),
    quantities: &[PAUSES_OF_P0, PAUSES_OF_BURST, RATE_OF_P0, RATE_OF_F1],
    claims: &[],
    check: &[SPFC, ("headroom", "dsh")],
};
