//! Rows of OFC's flow tables, over time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::level::Level;
use super::window::Window;

/// Rows of the three tables of a port at a sample, as OFC's paper names them: `flow_in_port_tab`, `congested_flow_tab` and
/// `pause_frame_tab`.
pub type TableRows = [u32; 3];

/// A sample of the tables of one port.
#[derive(Clone, Copy, Debug)]
pub struct FlowTablesRow<'a> {
    /// Instant of the sample.
    pub time: Nanos,
    /// The switch.
    pub node: &'a str,
    /// The port.
    pub port: u16,
    /// Rows of the port's tables.
    pub rows: TableRows,
}

/// Rows of OFC's tables, by samples and weighted by time, over the ports that ever had a row in any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowTables {
    /// These ports.
    pub ports: u64,
    /// Flows with packets that wait to leave by a port.
    pub flow_in_port_tab: FlowTable,
    /// Flows that the neighbour behind a port has paused.
    pub congested_flow_tab: FlowTable,
    /// Flows that the switch has paused at the neighbour of a port.
    pub pause_frame_tab: FlowTable,
}

/// One of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowTable {
    /// Rows of a port, the mean over time and ports.
    pub mean: f64,
    /// Max rows of a port at a sample.
    pub max: u64,
    /// Rows of all ports together, the mean over time.
    pub sum_mean: f64,
}

/// Follows them.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowTablesMeter {
    window: Option<Window>,
    /// By switch and port.
    ports: BTreeMap<(String, u16), [Level; 3]>,
}

impl FlowTablesMeter {
    pub(super) fn new(window: Option<Window>) -> Self {
        Self { window, ports: BTreeMap::new() }
    }

    pub(super) fn record(&mut self, row: &FlowTablesRow<'_>) {
        let window = Window::or_whole(self.window, Nanos(u64::MAX));
        let tables = self.ports.entry((row.node.to_owned(), row.port)).or_default();
        for (level, rows) in tables.iter_mut().zip(row.rows) {
            level.change(window, row.time, rows.into());
        }
    }

    /// Summary of a run that ends at `end`.
    pub(super) fn finish(self, end: Nanos) -> FlowTables {
        let window = Window::or_whole(self.window, end);
        let time = window.to.0.saturating_sub(window.from.0).max(1);
        let ports = self.ports.len() as u64;
        let [flow_in_port_tab, congested_flow_tab, pause_frame_tab] = [0, 1, 2].map(|table| {
            let levels = || self.ports.values().map(|tables| &tables[table]);
            let sum: u128 = levels().map(|level| level.integral(window, end)).sum();
            FlowTable {
                mean: rounded(sum, u128::from(time) * u128::from(ports.max(1))),
                max: levels().map(|level| level.most(window, end)).max().unwrap_or(0),
                sum_mean: rounded(sum, time.into()),
            }
        });
        FlowTables { ports, flow_in_port_tab, congested_flow_tab, pause_frame_tab }
    }
}

/// A quotient to four decimals, rounded half up from integers.
fn rounded(sum: u128, by: u128) -> f64 {
    ((sum * 20_000 + by) / (by * 2)) as f64 / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_weighted_by_time_over_ports_that_had_some() {
        let mut meter = FlowTablesMeter::new(Some(Window { from: Nanos(10), to: Nanos(50) }));
        for (time, port, rows) in [
            (0, 1, [4, 0, 1]),
            (20, 1, [1, 2, 0]),
            (30, 7, [8, 0, 0]),
            (40, 7, [0, 0, 0]),
            (60, 1, [99, 99, 99]),
        ] {
            meter.record(&FlowTablesRow { time: Nanos(time), node: "s0", port, rows });
        }
        let found = meter.finish(Nanos(70));
        let table = |mean, max, sum_mean| FlowTable { mean, max, sum_mean };
        let expected = FlowTables {
            ports: 2,
            flow_in_port_tab: table(1.875, 8, 3.75),
            congested_flow_tab: table(0.75, 2, 1.5),
            // Its only row was there before the window, and left in it.
            pause_frame_tab: table(0.125, 1, 0.25),
        };
        assert_eq!(found, expected);
        assert_eq!(FlowTablesMeter::new(None).finish(Nanos(70)), FlowTables::default());
    }
}
