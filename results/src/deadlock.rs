//! `deadlocks.csv`.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::column::Column;
use super::pause::PauseLevel;
use super::row::{Fields, Row};

/// A cycle of paused queues that waited for each other: a deadlock, if it is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockRow<'a> {
    /// Number of the cycle, in the order of detection.
    pub circle: u32,
    /// Instant at which the cycle closed.
    pub onset: Nanos,
    /// Instant at which it became certain that none of its queues can resume, if it did.
    pub confirmed: Option<Nanos>,
    /// True if no queue can resume even if it is tested when its pause is renewed.
    pub survives_refresh: bool,
    /// Instant at which a queue resumed; `None` if the run ended before.
    pub end: Option<Nanos>,
    /// The cycle's egress queues, in the order of waiting.
    pub members: &'a [DeadlockMember<'a>],
}

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
    fn listed<T: Display>(&self, of: impl Fn(&DeadlockMember<'a>) -> T) -> String {
        let listed: Vec<String> =
            self.members.iter().map(|member| of(member).to_string()).collect();
        listed.join(" ")
    }
}

impl Row for DeadlockRow<'_> {
    const FILE: &'static str = "deadlocks.csv";
    const ABOUT: &'static str = "One row per circle of paused egress queues of switches, each of \
                                 which waits for the next: the ingress queue that pauses it holds \
                                 packets that lie in the next one. Where a port pauses it (DSH), that \
                                 counts for packets of all lossless priorities that came in by the \
                                 port, so that queues of several priorities may wait for each \
                                 other. Rows come as circles dissolve, at last those that the \
                                 run's end found. A circle counts from when \
                                 the PAUSE frames have taken effect: response time, longest frame \
                                 and propagation after they were received.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("circle", "Its number, from 0, in the order of their discovery."),
        Column::integer("onset_ns", "When the circle closed: the latest of the receptions of its PAUSE frames, those \
                    of ports included, and of the arrivals of the packets by which each queue waits \
                    for the next."),
        Column::integer("confirmed_ns", "When it was certain that this is a deadlock: every packet in the ingress queues \
                    that pause its members lies in a queue that is stuck like them, and nothing \
                    more is on its way to them, so that no packet will leave and none of them will \
                    resume. With `resume_test = \"refresh\"` a queue may also resume because its \
                    threshold has risen, so it must hold headroom of its own, or stay above X_on even \
                    after every queue that can drain has left the shared pool. \
                    Where only a port pauses a member, all this holds of all the port's lossless \
                    queues; and as it may also resume when the rest of the switch drains, it \
                    must stay above X_pon then, or have insurance headroom that cannot become empty. \
                    Looked at when a circle is found, every 10 us and at the run's end. Empty of \
                    circles that could still dissolve.").or_empty(),
        Column::integer("end_ns", "When one of its queues resumed, or, in a circle that was not confirmed, a port \
                    because of which a queue waited for the next; empty if it lasted until the run's \
                    end. A confirmed circle ends only if a PAUSE runs out because its refreshes were \
                    lost or late, or if a watchdog acts (`switch.watchdog`).").or_empty(),
        Column::text("queues", "The wires that its egress queues send on, in the order of waiting, the last \
                    waiting for the first, separated by spaces."),
        Column::text("priorities", "Paused priority of each of them, in the same order."),
        Column::text("levels", "Why each of them waits for the next, in the same order: `queue` if the ingress \
                    queue that pauses it is OFF and holds packets there, `port` if the port pauses \
                    it (DSH); as of when the circle was confirmed or last looked at. `flow-queue-5`: the switch at the \
                    wire's end has paused queue 5 by itself, and counts a packet for that which lies in the next one \
                    (`switch.backpressure`). `flows`: it has paused flows, and more than X_on of its ingress queue are packets \
                    that never leave, some of them of flows paused in the next one. Of circles with one of these two only \
                    deadlocks have a row; `onset_ns` is the look that found it."),
        Column::truth("survives_refresh", "1 if it is a deadlock with `resume_test = \"refresh\"`, too, whatever the run has; \
                    0 if it would dissolve, or could as far as was known when the row was written."),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.circle).add(self.onset).add(self.confirmed).add(self.end);
        row.add(&*self.listed(|member| member.wire));
        row.add(&*self.listed(|member| member.priority));
        row.add(&*self.listed(|member| member.cause)).add(self.survives_refresh);
    }
}

/// Deadlocks of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlockTotals {
    /// Circles of waiting that were confirmed to be deadlocks.
    pub deadlocks: u64,
    /// Deadlocks that cannot dissolve even if queues are tested when their pauses are renewed.
    #[serde(default)]
    pub surviving_refresh: u64,
    /// The first onset among them all.
    pub first_onset_ns: Option<u64>,
    /// True if a deadlock lasted until the run's end.
    pub at_end: bool,
    /// Circles that dissolved without having been confirmed.
    pub dissolved: u64,
    /// Circles that were there at the run's end and could still dissolve.
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
    use super::*;
    use crate::csv::line;

    fn row(onset: u64, confirmed: Option<u64>, end: Option<u64>) -> DeadlockRow<'static> {
        DeadlockRow {
            circle: 7,
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
    fn pauses_of_queues_and_flows_are_told_apart() {
        let queue =
            |wire, queue| DeadlockMember { wire, priority: 3, cause: WaitCause::FlowQueue(queue) };
        let flows = DeadlockMember { wire: "c->b", priority: 3, cause: WaitCause::Flows };
        let members = [queue("a->b", 0), queue("b->a", 127), flows];
        let row = DeadlockRow { members: &members, ..row(12, Some(20), None) };
        let expected = "7,12,20,,a->b b->a c->b,3 3 3,flow-queue-0 flow-queue-127 flows,1\n";
        assert_eq!(line(&row), expected);
    }

    #[test]
    fn only_confirmed_circles_are_deadlocks() {
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
