//! Pauses by switch and neighbour, link by link.

use std::collections::BTreeMap;

use super::pause_intervals::PauseTotal;
use super::tables::PauseTimeRow;

/// A switch, a neighbour that sends to it, and a priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedPeer {
    /// The switch that paused.
    pub node: String,
    /// The neighbour that was paused, with the port that it sends from if several links lead to the switch.
    pub peer: String,
    /// The priority.
    pub priority: u8,
    /// Pauses that the switch decided.
    pub ordered: PauseTotal,
    /// Pauses in effect at the neighbour.
    pub imposed: PauseTotal,
}

impl PausedPeer {
    /// Peers of the rows, in the rows' order.
    pub(super) fn all_of(rows: &[PauseTimeRow]) -> Vec<Self> {
        let mut links: BTreeMap<(&str, &str, u8), u32> = BTreeMap::new();
        for row in rows {
            *links.entry((&row.by, &row.node, row.priority)).or_default() += 1;
        }
        let of_row = |row: &PauseTimeRow| Self {
            node: row.by.clone(),
            peer: match links[&(row.by.as_str(), row.node.as_str(), row.priority)] {
                1 => row.node.clone(),
                _ => format!("{} port {}", row.node, row.port),
            },
            priority: row.priority,
            ordered: row.ordered.total,
            imposed: row.imposed,
        };
        rows.iter().map(of_row).collect()
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::super::pause_intervals::Ordered;
    use super::*;

    #[test]
    fn only_parallel_links_name_their_port() {
        let row = |node: &str, port, priority, pauses| PauseTimeRow {
            node: node.into(),
            port,
            priority,
            by: "leaf0".into(),
            imposed: PauseTotal { pauses, ..PauseTotal::default() },
            imposed_in_window: Nanos(0),
            ordered: Ordered {
                total: PauseTotal { pauses: 2 * pauses, ..PauseTotal::default() },
                ..Ordered::default()
            },
            end: units::Nanos(50),
        };
        let rows = [row("spine0", 0, 3, 1), row("spine0", 0, 4, 2), row("spine0", 1, 3, 3)];
        let peers = PausedPeer::all_of(&[&rows[..], &[row("h7", 0, 3, 4)]].concat());
        let found: Vec<_> = peers
            .iter()
            .map(|peer| (&*peer.peer, peer.priority, peer.imposed.pauses, peer.ordered.pauses))
            .collect();
        let expected = [
            ("spine0 port 0", 3, 1, 2),
            ("spine0", 4, 2, 4),
            ("spine0 port 1", 3, 3, 6),
            ("h7", 3, 4, 8),
        ];
        assert_eq!(found, expected);
        assert!(peers.iter().all(|peer| peer.node == "leaf0"));
    }
}
