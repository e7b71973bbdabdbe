//! `rates.csv`.

use units::{BitsPerSecond, Bytes, Nanos};

use super::column::Column;
use super::row::{Fields, Row};

/// A rate that a switch sends to a neighbour, for one priority (GFC).
#[derive(Clone, Copy, Debug)]
pub struct RateRow<'a> {
    /// The instant of the decision, not of the frame's departure.
    pub time: Nanos,
    /// The switch that decided.
    pub node: &'a str,
    /// The switch's ingress port.
    pub port: u16,
    /// The neighbour at that port.
    pub peer: &'a str,
    /// The priority.
    pub priority: u8,
    /// The rate; `None`: the rate of the link.
    pub rate: Option<BitsPerSecond>,
    /// Bytes of the ingress queue in the shared pool and in headroom.
    pub occupancy: Bytes,
    /// Occupancy at which the stage of this rate begins.
    pub threshold: Bytes,
}

impl Row for RateRow<'_> {
    const FILE: &'static str = "rates.csv";
    const ABOUT: &'static str = "Only with `switch.pause_rule` of kind `gfc` or `gfc-ofc`. One row per rate that a switch \
                                 tells a neighbour. At first all send at the rate of their links.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer(
            "time_ns",
            "Instant of the decision. The frame leaves when the port is free.",
        ),
        Column::text("node", "Switch that decided."),
        Column::integer("port", "Its ingress port."),
        Column::text("peer", "Who is told: the neighbour at that port."),
        Column::integer("priority", "Priority that the rate is for, 0 to 7."),
        Column::integer(
            "rate_bps",
            "Rate from then on, in bits on the wire per second. Empty: that of the link.",
        )
        .or_empty(),
        Column::integer(
            "occupancy_bytes",
            "Bytes of the ingress queue: those in the shared pool and those in headroom.",
        ),
        Column::integer(
            "threshold_bytes",
            "Bytes in the shared pool from which on it has this rate; 0 for the rate of the link.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.node).add(self.port).add(self.peer).add(self.priority);
        row.add(self.rate).add(self.occupancy).add(self.threshold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn the_rate_of_the_link_is_empty() {
        let row = |rate| RateRow {
            time: Nanos(7),
            node: "s0",
            port: 2,
            peer: "h1",
            priority: 3,
            rate,
            occupancy: Bytes(50_000),
            threshold: Bytes(49_000),
        };
        let half = BitsPerSecond(20_000_000_000);
        assert_eq!(line(&row(Some(half))), "7,s0,2,h1,3,20000000000,50000,49000\n");
        assert_eq!(line(&row(None)), "7,s0,2,h1,3,,50000,49000\n");
    }
}
