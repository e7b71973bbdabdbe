//! Members of cycles of waiting queues, and deadlocks in `summary.json`.

use std::fmt::{self, Display};

use fabric_core::hop_control::PauseLevel;
use serde::{Deserialize, Serialize};

use super::tables::DeadlockRow;

/// A paused egress queue of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockMember<'a> {
    /// The wire that it sends on.
    pub wire: &'a str,
    /// The queue's priority.
    pub priority: u8,
    /// Kind of the pause by which it waits for the next member.
    pub cause: WaitCause,
}

/// Kind of pause that holds packets in a member of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCause {
    /// Their class is paused, because of its ingress queue or of that queue's port.
    Class(PauseLevel),
    /// Their single queue, with this number, is paused.
    FlowQueue(u8),
    /// Their flows are paused.
    Flows,
}

impl fmt::Display for WaitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(level) => f.write_str(level.name()),
            Self::FlowQueue(queue) => write!(f, "flow-queue-{queue}"),
            Self::Flows => f.write_str("flows"),
        }
    }
}

impl<'a> DeadlockRow<'a> {
    pub(super) fn listed<T: Display>(&self, of: impl Fn(&DeadlockMember<'a>) -> T) -> String {
        let listed: Vec<String> =
            self.members.iter().map(|member| of(member).to_string()).collect();
        listed.join(" ")
    }
}

/// Deadlocks of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlockTotals {
    /// Cycles of waiting that were confirmed to be deadlocks.
    pub deadlocks: u64,
    /// Deadlocks that cannot dissolve even if queues are tested when their pauses are renewed.
    #[serde(default)]
    pub surviving_refresh: u64,
    /// The first onset among them all.
    pub first_onset_ns: Option<u64>,
    /// True if a deadlock lasted until the run's end.
    pub at_end: bool,
    /// Cycles that dissolved without having been confirmed.
    pub dissolved: u64,
    /// Cycles that were there at the run's end and could still dissolve.
    pub undecided: u64,
}

impl DeadlockTotals {
    /// Counts a cycle.
    pub fn record(&mut self, row: &DeadlockRow) {
        match (row.confirmed, row.end) {
            (Some(_), end) => {
                self.deadlocks += 1;
                self.surviving_refresh += u64::from(row.survives_refresh);
                let onset = row.onset.0;
                self.first_onset_ns =
                    Some(self.first_onset_ns.map_or(onset, |first| first.min(onset)));
                self.at_end |= end.is_none();
            }
            (None, Some(_)) => self.dissolved += 1,
            (None, None) => self.undecided += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;
    use crate::csv::line;

    fn row(onset: u64, confirmed: Option<u64>, end: Option<u64>) -> DeadlockRow<'static> {
        DeadlockRow {
            cycle: 7,
            onset: Nanos(onset),
            confirmed: confirmed.map(Nanos),
            survives_refresh: confirmed.is_some() && end.is_none(),
            end: end.map(Nanos),
            members: &MEMBERS,
        }
    }

    const MEMBERS: [DeadlockMember<'_>; 2] = [
        DeadlockMember { wire: "a->b", priority: 3, cause: WaitCause::Class(PauseLevel::Queue) },
        DeadlockMember { wire: "b->a", priority: 5, cause: WaitCause::Class(PauseLevel::Port) },
    ];

    #[test]
    fn a_deadlock_has_no_end() {
        assert_eq!(line(&row(12, Some(20), None)), "7,12,20,,a->b b->a,3 5,queue port,1\n");
        assert_eq!(line(&row(12, None, Some(15))), "7,12,,15,a->b b->a,3 5,queue port,0\n");
    }

    #[test]
    fn pauses_of_queues_and_flows_are_distinguished() {
        let queue =
            |wire, queue| DeadlockMember { wire, priority: 3, cause: WaitCause::FlowQueue(queue) };
        let flows = DeadlockMember { wire: "c->b", priority: 3, cause: WaitCause::Flows };
        let members = [queue("a->b", 0), queue("b->a", 127), flows];
        let row = DeadlockRow { members: &members, ..row(12, Some(20), None) };
        let expected = "7,12,20,,a->b b->a c->b,3 3 3,flow-queue-0 flow-queue-127 flows,1\n";
        assert_eq!(line(&row), expected);
    }

    #[test]
    fn only_confirmed_cycles_are_deadlocks() {
        let mut totals = DeadlockTotals::default();
        totals.record(&row(5, None, Some(6)));
        totals.record(&row(6, None, None));
        assert_eq!(
            totals,
            DeadlockTotals { dissolved: 1, undecided: 1, ..DeadlockTotals::default() }
        );
        totals.record(&row(30, Some(40), Some(50)));
        assert!(!totals.at_end);
        totals.record(&row(20, Some(21), None));
        totals.record(&row(25, Some(41), None));
        assert_eq!((totals.deadlocks, totals.first_onset_ns, totals.at_end), (3, Some(20), true));
        assert_eq!(totals.surviving_refresh, 2);
    }
}
