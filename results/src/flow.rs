//! `flows.csv`.

use units::{Bytes, Nanos};

use super::column::Column;
use super::row::{Fields, Row};
use super::slowdown::Slowdown;

/// A flow, done or not when the run ended.
#[derive(Clone, Debug)]
pub struct FlowRow<'a> {
    /// The flow's number in the scenario, from 0.
    pub flow: u32,
    /// The label of the scenario's entry that made it.
    pub label: &'a str,
    /// The sending host.
    pub src: &'a str,
    /// The receiving host.
    pub dst: &'a str,
    /// Priority of its data, 0..=7.
    pub priority: u8,
    /// Transport, as a scenario names it.
    pub transport: &'static str,
    /// Congestion control, as a scenario names it.
    pub congestion_control: &'static str,
    /// Payload bytes.
    pub bytes: Bytes,
    /// Instant at which the sender was given the flow.
    pub start: Nanos,
    /// From the start to the arrival of its last packet's ACK, rounded up; `None` if it did not complete.
    pub fct: Option<Nanos>,
    /// Completion time on an idle fabric.
    pub ideal: Nanos,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Congestion notification packets that its sender received.
    pub cnps: u64,
    /// True if the flow is meant to outlast the run: it then counts among the flows only if it completes.
    pub long_lived: bool,
    /// The nodes that its data crosses, as `path` in the table.
    pub path: String,
    /// True if a switch has told a neighbour to pause this flow. `None` if switches do not pause flows.
    pub congested: Option<bool>,
}

impl FlowRow<'_> {
    /// `fct / ideal`, if it completed.
    pub fn slowdown(&self) -> Option<Slowdown> {
        self.fct.map(|fct| Slowdown::of(fct, self.ideal))
    }
}

impl Row for FlowRow<'_> {
    const FILE: &'static str = "flows.csv";
    const ABOUT: &'static str = "One row per flow.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("flow", "Number of the flow, from 0."),
        Column::text("label", "Label of the scenario's entry that made the flow."),
        Column::text("src", "Sending host."),
        Column::text("dst", "Receiving host."),
        Column::integer("priority", "Priority of its data packets, 0 to 7."),
        Column::integer("bytes", "Payload bytes, headers not counted."),
        Column::integer("start_ns", "Instant at which the sender was given the flow."),
        Column::integer(
            "fct_ns",
            "Flow completion time: from `start_ns` to the arrival of the last packet's \
                    ACK at the sender, rounded up. Empty if the flow did not complete.",
        )
        .or_empty(),
        Column::integer(
            "ideal_ns",
            "What `fct_ns` would be if nothing held the flow up: nothing else in the fabric, \
                    no PAUSE, no congestion control, no retransmission.",
        ),
        Column::decimal(
            "slowdown",
            "`fct_ns / ideal_ns` with four decimals, rounded half up from integers. Empty \
                    if the flow did not complete.",
        )
        .or_empty(),
        Column::integer(
            "retransmitted_packets",
            "Data packets sent again, so far if it did not complete.",
        ),
        Column::integer(
            "cnps",
            "Congestion notification packets its sender received, so far if it did not complete.",
        ),
        Column::text("transport", "What carries it: `roce-rc` or `tcp`."),
        Column::text(
            "congestion_control",
            "Who sets its rate, as `transport.congestion_control` names it.",
        ),
        Column::text(
            "path",
            "The nodes that its data crosses, from the sender to the receiver, with `>` between them; while no link is down that \
                    is up at the run's start.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.flow).add(self.label).add(self.src).add(self.dst).add(self.priority);
        row.add(self.bytes).add(self.start).add(self.fct).add(self.ideal).add(self.slowdown());
        row.add(self.retransmitted_packets).add(self.cnps);
        row.add(self.transport).add(self.congestion_control).add(&*self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    fn flow(fct: Option<Nanos>) -> FlowRow<'static> {
        FlowRow {
            flow: 3,
            label: "incast, first",
            src: "h1",
            dst: "h0",
            priority: 3,
            transport: "roce-rc",
            congestion_control: "dcqcn",
            bytes: Bytes(1_000_000),
            start: Nanos(10_000),
            fct,
            ideal: Nanos(90_000),
            retransmitted_packets: 0,
            cnps: 2,
            long_lived: false,
            path: "h1>s0>h0".to_owned(),
            congested: None,
        }
    }

    #[test]
    fn flows_done_and_undone() {
        assert_eq!(
            line(&flow(Some(Nanos(135_001)))),
            "3,\"incast, first\",h1,h0,3,1000000,10000,135001,90000,1.5000,0,2,roce-rc,dcqcn,h1>s0>h0\n"
        );
        assert_eq!(
            line(&flow(None)),
            "3,\"incast, first\",h1,h0,3,1000000,10000,,90000,,0,2,roce-rc,dcqcn,h1>s0>h0\n"
        );
    }
}
