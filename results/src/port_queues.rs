//! Mean lengths of the egress queues of switch ports, by the flows that leave there.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::level::Level;
use super::tables::QueueRow;
use super::window::Window;

/// Mean queue lengths, by the samples of `queues.csv`, weighted by time, over switch ports that data of flows left by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortQueues {
    /// Ports of any flow.
    #[serde(flatten)]
    pub all: MeanQueue,
    /// Ports of the flows of a label; a port may be in several.
    pub labels: BTreeMap<String, MeanQueue>,
    /// Ports of a switch.
    pub switches: BTreeMap<String, MeanQueue>,
}

/// The mean over some ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeanQueue {
    /// Number of ports.
    pub ports: u64,
    /// Bytes that wait at a port, all priorities together; rounded half up.
    pub mean: u64,
}

/// Ports of switches, by the switch's name.
type Ports = BTreeMap<String, BTreeSet<u16>>;

/// Follows them.
#[derive(Clone, Debug, Default)]
pub(super) struct PortQueuesMeter {
    window: Option<Window>,
    /// By switch, and by port and priority.
    levels: BTreeMap<String, BTreeMap<(u16, u8), Level>>,
    labels: BTreeMap<String, Ports>,
}

impl PortQueuesMeter {
    pub(super) fn new(window: Option<Window>) -> Self {
        Self { window, ..Self::default() }
    }

    /// The data of a flow leaves these ports.
    pub(super) fn flow<'a>(&mut self, label: &str, path: impl IntoIterator<Item = (&'a str, u16)>) {
        let ports = self.labels.entry(label.to_owned()).or_default();
        for (node, port) in path {
            ports.entry(node.to_owned()).or_default().insert(port);
        }
    }

    /// A sample of an egress queue.
    pub(super) fn sample(&mut self, row: &QueueRow<'_>) {
        let (Some(port), Some(priority)) = (row.port, row.priority) else { return };
        let window = Window::or_whole(self.window, Nanos(u64::MAX));
        if !self.levels.contains_key(row.node) {
            self.levels.insert(row.node.to_owned(), BTreeMap::new());
        }
        let levels = self.levels.get_mut(row.node).expect("the line above put it there");
        let level = levels.entry((port, priority)).or_default();
        level.change(window, row.time, row.bytes.0);
    }

    /// Mean queue lengths of a run that ends at `end`.
    pub(super) fn finish(self, end: Nanos) -> PortQueues {
        let window = Window::or_whole(self.window, end);
        let time = u128::from(window.to.0.saturating_sub(window.from.0).max(1));
        let of_port = |node: &str, port: u16| -> u128 {
            let levels = self.levels.get(node).into_iter();
            let levels = levels.flat_map(|levels| levels.range((port, 0)..=(port, u8::MAX)));
            levels.map(|(_, level)| level.integral(window, end)).sum()
        };
        let mean = |ports: &Ports| {
            let each = || {
                let ports = ports.iter();
                ports.flat_map(|(node, ports)| ports.iter().map(move |port| (node, *port)))
            };
            let sum: u128 = each().map(|(node, port)| of_port(node, port)).sum();
            let count = each().count() as u64;
            let weight = time * u128::from(count.max(1));
            let mean = (sum * 2 + weight) / (weight * 2);
            MeanQueue { ports: count, mean: u64::try_from(mean).expect("a mean of lengths") }
        };
        let mut all = Ports::new();
        for (node, ports) in self.labels.values().flatten() {
            all.entry(node.clone()).or_default().extend(ports);
        }
        let switches = all.iter().map(|(node, ports)| {
            (node.clone(), mean(&BTreeMap::from([(node.clone(), ports.clone())])))
        });
        PortQueues {
            labels: self.labels.iter().map(|(label, ports)| (label.clone(), mean(ports))).collect(),
            switches: switches.collect(),
            all: mean(&all),
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::queue::QueueKind;

    #[test]
    fn a_port_counts_once_in_each_group_and_only_if_flows_leave_there() {
        let mut meter = PortQueuesMeter::new(Some(Window { from: Nanos(100), to: Nanos(200) }));
        meter.flow("a", [("s0", 1), ("s1", 4)]);
        meter.flow("a", [("s0", 1), ("s1", 5)]);
        meter.flow("b", [("s0", 1)]);
        for (time, node, port, priority, bytes) in [
            (0, "s0", 1, 3, 100),
            (150, "s0", 1, 3, 300),
            (150, "s0", 1, 4, 50),
            (150, "s1", 4, 3, 1000),
            (160, "s1", 4, 3, 0),
            (0, "s1", 6, 3, 777),
        ] {
            let (kind, port, priority) = (QueueKind::Egress, Some(port), Some(priority));
            let (time, bytes) = (Nanos(time), Bytes(bytes));
            meter.sample(&QueueRow { time, node, kind, port, priority, bytes });
        }
        let mean = |ports, mean| MeanQueue { ports, mean };
        let name = |name: &str, ports, bytes| (name.to_owned(), mean(ports, bytes));
        // s0:1 has 100 for half of the time and 350 for the other; s1:4 has 1000 for a tenth; s1:5 has nothing.
        assert_eq!(
            meter.finish(Nanos(300)),
            PortQueues {
                all: mean(3, 108),
                labels: [name("a", 3, 108), name("b", 1, 225)].into(),
                switches: [name("s0", 1, 225), name("s1", 2, 50)].into(),
            }
        );
    }
}
