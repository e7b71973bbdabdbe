//! Buffers of chips (Section V-5).

use sweep::Decimal;

use super::{
    ABM, BSHARE, COMPARABLE, Cells, Claim, DT, Expected, FULL_DROPS, IB, MORE, OCCUPANCY,
    QUERIES_MEAN, QUERIES_P99, QUERIES_P99_FCT, SHORT_P99, SOJOURN_DROPS, THRESHOLD_DROPS, UPLINKS,
    against, number, plain, read_by, words,
};
use crate::{Bound, Criterion, Figure, View};

const CONTROL: &[&str] = &["control"];
/// DCTCP, with and without marks on ACKs.
const DCTCP: (&str, &str) = ("control", "dctcp");
const DCTCP_MARKED: (&str, &str) = ("control", "dctcp, ACKs marked");
const POWERTCP: (&str, &str) = ("control", "powertcp");
const POWERTCP_MARKED: (&str, &str) = ("control", "powertcp, ACKs marked");
const BUFFER: &str = "buffer";
const TRIDENT: (&str, &str) = (BUFFER, "9.6 KiB (Trident II)");
const KIB_8: (&str, &str) = (BUFFER, "8 KiB");
const KIB_7: (&str, &str) = (BUFFER, "7 KiB");
const KIB_6: (&str, &str) = (BUFFER, "6 KiB");
const TOMAHAWK: (&str, &str) = (BUFFER, "5.12 KiB (Tomahawk)");

const TOFINO: (&str, &str) = (BUFFER, "3.44 KiB (Tofino)");
/// "Sharply": at least double.
const DOUBLED: Criterion = Criterion::Each(Bound::AtLeast(Decimal::ONE));

/// Makes a claim that smaller buffers give the results of Trident II's buffer.
const fn stable(text: &'static str, cells: Cells) -> Claim {
    let claim = words("V-5", text, ("stable", COMPARABLE), (0, View::Increase), cells);
    read_by(against(TRIDENT, claim), CONTROL)
}

pub(super) const FIG05: Figure = Figure {
    name: "fig05",
    also: &["fig5"],
    title: "Fig. 5: buffers of chips (V-5)",
    notes: "WebSearch at 40 % load and queries of 983,040 B, a quarter of a leaf's buffer with Trident II, whatever the buffer. Buffers are for each port \
            and Gbit/s. DCTCP with a K of 65 packets; PowerTCP with its paper's parameters. Flows start within 100 ms.",
    has_small: true,
    baseline: BSHARE,
    quantities: &[
        QUERIES_P99,
        QUERIES_MEAN,
        QUERIES_P99_FCT,
        SHORT_P99,
        OCCUPANCY,
        UPLINKS,
        THRESHOLD_DROPS,
        FULL_DROPS,
        SOJOURN_DROPS,
        plain("packets marked", "ecn_marked"),
    ],
    claims: &[
        stable(
            "p99 of queries, BSHARE with DCTCP, 8 KiB to Tomahawk, above Trident II",
            &[BSHARE, DCTCP, DCTCP_MARKED, KIB_8, KIB_7, KIB_6, TOMAHAWK],
        ),
        read_by(
            number(
                "V-5",
                "p99 of queries, DT and IB with DCTCP and Tomahawk, above BSHARE",
                // Ten times as much.
                Expected::UpTo(Decimal::whole(9)),
                (0, View::Increase),
                &[DT, IB, DCTCP, DCTCP_MARKED, TOMAHAWK],
            ),
            CONTROL,
        ),
        stable(
            "p99 of queries, DT and IB with DCTCP, 8 and 7 KiB, above Trident II",
            &[DT, IB, DCTCP, DCTCP_MARKED, KIB_8, KIB_7],
        ),
        read_by(
            against(
                KIB_7,
                words(
                    "V-5",
                    "the same with 6 KiB and Tomahawk, above 7 KiB, each",
                    ("degrade sharply below 7 KB", DOUBLED),
                    (0, View::Increase),
                    &[DT, IB, DCTCP, DCTCP_MARKED, KIB_6, TOMAHAWK],
                ),
            ),
            CONTROL,
        ),
        read_by(
            against(
                TRIDENT,
                words(
                    "V-5",
                    "p99 of queries, BSHARE with DCTCP and Tofino, above Trident II",
                    ("a minor increase", COMPARABLE),
                    (0, View::Increase),
                    &[BSHARE, DCTCP, DCTCP_MARKED, TOFINO],
                ),
            ),
            CONTROL,
        ),
        stable(
            "p99 of queries, DT and IB with PowerTCP, 8 and 7 KiB, above Trident II",
            &[DT, IB, POWERTCP, POWERTCP_MARKED, KIB_8, KIB_7],
        ),
        read_by(
            words(
                "V-5",
                "p99 of queries, DT and IB with PowerTCP and Tomahawk, above BSHARE",
                ("fail to maintain low tail latencies", MORE),
                (0, View::Increase),
                &[DT, IB, POWERTCP, POWERTCP_MARKED, TOMAHAWK],
            ),
            CONTROL,
        ),
        read_by(
            against(
                ABM,
                words(
                    "V-5",
                    "p99 of queries, BSHARE above ABM, all buffers and both controls",
                    ("near ABM", COMPARABLE),
                    (0, View::Increase),
                    &[BSHARE],
                ),
            ),
            CONTROL,
        ),
    ],
    check: &[BSHARE, TRIDENT, DCTCP],
};
