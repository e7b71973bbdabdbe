//! The topology of Fig. 1 (Sections II-C and IV-B).

use super::{
    Bound, CA_PFC, Criterion, Decimal, Expected, Figure, G_PFC, GFC, GFC_OFC, OFC, P_PFC,
    P_PFC_OFC, PAUSES, PFC, Quantity, Source, UNIFORM, View, below, kilobytes, microseconds,
    number, part, plain, read_by, up_to, words,
};
use crate::Unit;

const UNCONGESTED: usize = 0;
const ALL: usize = 2;
const ALIKE: usize = 3;
const QUEUES: usize = 4;
const PAUSED_ROWS: usize = 11;
const TOLD_ROWS: usize = 12;

const OPEN: &[&str] = &["long-lived", "hosts of F0 and F1"];
/// All schemes with which OFC is compared.
const OTHERS: &[(&str, &str)] = &[PFC, CA_PFC, P_PFC_OFC, P_PFC, GFC_OFC, GFC, G_PFC];

/// Makes a quantity: rows of OFC's tables.
const fn rows(name: &'static str, metric: &'static str) -> Quantity {
    plain(name, metric)
}

/// Makes a quantity: share of the rows of `flow_in_port_tab`.
const fn of_flows(name: &'static str, metric: &'static str) -> Quantity {
    let source = Source::Ratio(metric, "flow_tables.flow_in_port_tab.sum_mean");
    Quantity { name, unit: Unit::Percent, source }
}

pub(super) const FIG02: Figure = Figure {
    name: "fig02",
    also: &["table1", "table2"],
    title: "Fig. 2 and Tables I and II: the topology of Fig. 1 (II-C, IV-B)",
    notes: "One run for each cell: nothing is random. Congested flows are F1 and the bursts, as in the paper's text, whatever switches list. \
            \"FCT\" is the longest of a group. Queues are those of the ports that flows leave by, in the mean over the run, which is as long as its \
            longest flow. Rows of tables are means over time, of all ports together.",
    has_small: false,
    baseline: OFC,
    quantities: &[
        microseconds("FCT of F0 (uncongested)", "labels.F0.fct_ns.max"),
        microseconds("FCT of F1", "labels.F1.fct_ns.max"),
        microseconds("FCT of all", "fct_ns.max"),
        Quantity {
            name: "FCT of F0 by that of F1",
            unit: Unit::Plain,
            source: Source::Ratio("labels.F0.fct_ns.max", "labels.F1.fct_ns.max"),
        },
        kilobytes("mean queue of all ports", "port_queues.mean"),
        kilobytes("mean queue of F0's ports", "port_queues.labels.F0.mean"),
        kilobytes("mean queue of the bursts' port", "port_queues.labels.bursts.mean"),
        microseconds("FCT of bursts", "labels.bursts.fct_ns.max"),
        rows("rows of flow_in_port_tab", "flow_tables.flow_in_port_tab.sum_mean"),
        rows("rows of congested_flow_tab", "flow_tables.congested_flow_tab.sum_mean"),
        rows("rows of pause_frame_tab", "flow_tables.pause_frame_tab.sum_mean"),
        of_flows(
            "congested_flow_tab by flow_in_port_tab",
            "flow_tables.congested_flow_tab.sum_mean",
        ),
        of_flows("pause_frame_tab by flow_in_port_tab", "flow_tables.pause_frame_tab.sum_mean"),
        plain("most rows of flow_in_port_tab of a port", "flow_tables.flow_in_port_tab.max"),
        plain("flows that were listed", "flow_pauses.congested.flows"),
        PAUSES,
    ],
    claims: &[
        read_by(below("II-C", "FCT, OFC below the others", up_to(6028), UNCONGESTED, OTHERS), OPEN),
        read_by(below("II-C", "buffer, OFC below the others", up_to(5147), QUEUES, OTHERS), OPEN),
        read_by(
            below(
                "Table I",
                "FCT of uncongested flows, OFC below PFC",
                Expected::About(part(2602)),
                UNCONGESTED,
                &[PFC],
            ),
            OPEN,
        ),
        read_by(
            below(
                "Table I",
                "FCT of all flows, OFC below PFC",
                Expected::About(part(1378)),
                ALL,
                &[PFC],
            ),
            OPEN,
        ),
        read_by(
            words(
                "Table I",
                "PFC: FCT of the uncongested flow by that of F1",
                ("1", UNIFORM),
                (ALIKE, View::Itself),
                &[PFC],
            ),
            OPEN,
        ),
        read_by(
            words(
                "Table I",
                "OFC: the same",
                (
                    "0.86",
                    Criterion::Each(Bound::Between(
                        Decimal::per_mille(690),
                        Decimal::per_mille(950),
                    )),
                ),
                (ALIKE, View::Itself),
                &[OFC],
            ),
            OPEN,
        ),
        read_by(
            number(
                "Table II",
                "congested_flow_tab by flow_in_port_tab",
                Expected::About(part(3347)),
                (PAUSED_ROWS, View::Itself),
                &[OFC],
            ),
            OPEN,
        ),
        read_by(
            number(
                "Table II",
                "pause_frame_tab by flow_in_port_tab",
                Expected::About(part(6495)),
                (TOLD_ROWS, View::Itself),
                &[OFC],
            ),
            OPEN,
        ),
    ],
    check: &[OFC],
};
