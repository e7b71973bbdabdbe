//! Who paused whom, over all links between the two.

use std::collections::BTreeMap;

use super::pause_intervals::PauseTotal;
use super::pause_time::PauseTimeRow;

/// A pair of neighbours and a priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedPeer {
    /// The switch that paused.
    pub node: String,
    /// The neighbour that was paused.
    pub peer: String,
    /// The priority.
    pub priority: u8,
    /// What the switch decided.
    pub ordered: PauseTotal,
    /// As the neighbour saw them.
    pub imposed: PauseTotal,
}

impl PausedPeer {
    /// Those of the rows, in the order of node, peer and priority.
    pub(super) fn all_of(rows: &[PauseTimeRow]) -> Vec<Self> {
        let mut pairs: BTreeMap<(&str, &str, u8), (PauseTotal, PauseTotal)> = BTreeMap::new();
        for row in rows {
            let pair = pairs.entry((&row.by, &row.node, row.priority)).or_default();
            pair.0.merge(row.ordered);
            pair.1.merge(row.imposed);
        }
        let of_pair = |((node, peer, priority), (ordered, imposed)): ((&str, &str, _), _)| Self {
            node: node.to_owned(),
            peer: peer.to_owned(),
            priority,
            ordered,
            imposed,
        };
        pairs.into_iter().map(of_pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    #[test]
    fn parallel_links_add_up_and_priorities_do_not() {
        let total = |pauses, paused| PauseTotal {
            pauses,
            refreshes: 2,
            resumes: 1,
            paused: Nanos(paused),
            longest: Nanos(paused),
        };
        let row = |port, priority, imposed, ordered| PauseTimeRow {
            node: "spine0".into(),
            port,
            priority,
            by: "leaf0".into(),
            imposed: total(1, imposed),
            ordered: total(1, ordered),
            end: Nanos(50),
        };
        let peers = PausedPeer::all_of(&[row(0, 3, 7, 10), row(0, 4, 5, 45), row(1, 3, 11, 15)]);
        let numbers = |peer: &PausedPeer| {
            let PausedPeer { priority, ordered, imposed, .. } = peer;
            let times = [ordered.paused, imposed.paused, imposed.longest];
            (*priority, ordered.pauses, times.map(|time| time.0))
        };
        let found: Vec<_> = peers.iter().map(numbers).collect();
        assert_eq!(found, [(3, 2, [25, 18, 11]), (4, 1, [45, 5, 5])]);
        assert_eq!((peers[0].ordered.refreshes, peers[0].ordered.resumes), (4, 2));
    }
}
