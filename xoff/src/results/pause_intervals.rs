//! Who paused whom, and for how long.

use std::collections::BTreeMap;

use fabric_core::units::Nanos;

use super::pause::{PauseEvent, PauseRow};

/// How one neighbour was paused by another in one priority, over all links between the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseTotal {
    /// PAUSE decisions, refreshes not counted.
    pub pauses: u64,
    /// Refreshes.
    pub refreshes: u64,
    /// RESUME decisions.
    pub resumes: u64,
    /// From each PAUSE to its RESUME, summed.
    pub paused: Nanos,
    /// The longest of these intervals.
    pub longest: Nanos,
}

/// One pair of neighbours and priority with its total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedPeer {
    /// The switch that paused.
    pub node: String,
    /// The neighbour that was paused.
    pub peer: String,
    /// The priority.
    pub priority: u8,
    /// Counts and times.
    pub total: PauseTotal,
}

/// Follows the pause state of each (node, port, peer, priority). Memory grows with their number,
/// not with the events.
#[derive(Clone, Debug, Default)]
pub struct PauseIntervals {
    nodes: BTreeMap<String, BTreeMap<String, Links>>,
}

/// By priority and port. Names lead here one by one, so that the borrowed names of a row find
/// theirs without an allocation.
type Links = BTreeMap<(u8, u16), PauseState>;

/// One direction of a link in one priority, by the decisions of the switch that it ends at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PauseState {
    total: PauseTotal,
    since: Option<Nanos>,
}

impl PauseState {
    pub(super) fn record(&mut self, time: Nanos, event: PauseEvent) {
        match event {
            PauseEvent::Xoff => {
                self.total.pauses += 1;
                self.since.get_or_insert(time);
            }
            PauseEvent::XoffRefresh => self.total.refreshes += 1,
            PauseEvent::Xon => {
                self.total.resumes += 1;
                self.close(time);
            }
        }
    }

    /// The total of a run that ends at `end`; who is still paused counts until then.
    pub(super) fn finish(mut self, end: Nanos) -> PauseTotal {
        self.close(end);
        self.total
    }

    fn close(&mut self, time: Nanos) {
        if let Some(since) = self.since.take() {
            let span = Nanos(time.0.saturating_sub(since.0));
            self.total.paused.0 += span.0;
            self.total.longest = self.total.longest.max(span);
        }
    }
}

impl PauseIntervals {
    /// Follows one decision. Decisions of one port come in time order.
    pub fn record(&mut self, row: &PauseRow) {
        let peers = entry(&mut self.nodes, row.node);
        let states = entry(peers, row.peer);
        states.entry((row.priority, row.port)).or_default().record(row.time, row.event);
    }

    /// Totals in the order of node, peer and priority. Who is still paused counts until `end`.
    pub fn finish(self, end: Nanos) -> Vec<PausedPeer> {
        let mut paused: Vec<PausedPeer> = Vec::new();
        for (node, peers) in self.nodes {
            for (peer, states) in peers {
                for ((priority, _port), state) in states {
                    let total = state.finish(end);
                    match paused.last_mut() {
                        Some(last)
                            if (&last.node, &last.peer, last.priority)
                                == (&node, &peer, priority) =>
                        {
                            last.total.merge(total);
                        }
                        _ => paused.push(PausedPeer {
                            node: node.clone(),
                            peer: peer.clone(),
                            priority,
                            total,
                        }),
                    }
                }
            }
        }
        paused
    }
}

impl PauseTotal {
    /// Adds another link's total.
    pub fn merge(&mut self, other: Self) {
        self.pauses += other.pauses;
        self.refreshes += other.refreshes;
        self.resumes += other.resumes;
        self.paused.0 += other.paused.0;
        self.longest = self.longest.max(other.longest);
    }
}

/// The value of a name, which is copied only where it is new.
pub(super) fn entry<'m, V: Default>(map: &'m mut BTreeMap<String, V>, name: &str) -> &'m mut V {
    if !map.contains_key(name) {
        map.insert(name.to_owned(), V::default());
    }
    map.get_mut(name).expect("the line above put it there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use PauseEvent::{Xoff, XoffRefresh, Xon};
    use fabric_core::flow_control::Level;
    use fabric_core::units::Bytes;

    fn totals(events: &[(u64, u16, u8, PauseEvent)], end: u64) -> Vec<PausedPeer> {
        let mut intervals = PauseIntervals::default();
        for &(time, port, priority, event) in events {
            intervals.record(&PauseRow {
                time: Nanos(time),
                node: "leaf0",
                port,
                peer: "spine0",
                peer_port: 1,
                priority,
                event,
                level: Level::Queue,
                occupancy: Bytes(0),
                threshold: Bytes(0),
                shared_free: Bytes(0),
            });
        }
        intervals.finish(Nanos(end))
    }

    /// A total as (pauses, refreshes, resumes, paused, longest).
    fn numbers(total: PauseTotal) -> (u64, u64, u64, u64, u64) {
        (total.pauses, total.refreshes, total.resumes, total.paused.0, total.longest.0)
    }

    #[test]
    fn intervals_end_with_resume_or_run() {
        let events = [(10, 0, 3, Xoff), (15, 0, 3, XoffRefresh), (30, 0, 3, Xon), (90, 0, 3, Xoff)];
        let paused = totals(&events, 100);
        assert_eq!(paused.len(), 1);
        assert_eq!(numbers(paused[0].total), (2, 1, 1, 30, 20));
    }

    #[test]
    fn parallel_links_add_up_and_priorities_do_not() {
        let events =
            [(0, 0, 3, Xoff), (5, 1, 3, Xoff), (5, 0, 4, Xoff), (10, 0, 3, Xon), (20, 1, 3, Xon)];
        let paused = totals(&events, 50);
        assert_eq!(numbers(paused[0].total), (2, 0, 2, 25, 15));
        assert_eq!((paused[1].priority, numbers(paused[1].total)), (4, (1, 0, 0, 45, 45)));
    }

    #[test]
    fn a_second_pause_extends_and_a_stray_resume_only_counts() {
        let paused = totals(&[(0, 0, 3, Xon), (10, 0, 3, Xoff), (20, 0, 3, Xoff)], 40);
        assert_eq!(numbers(paused[0].total), (2, 0, 1, 30, 30));
    }
}
