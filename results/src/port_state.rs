//! States of ports, counted and timed.

use std::collections::{BTreeMap, VecDeque};

use fabric_core::hop_control::PauseEvent;
use fabric_core::port_state::{PortState, StateCause};
use serde::{Deserialize, Serialize};
use units::Nanos;

use super::error::ResultsError;
use super::tables::{PauseRow, PortStateRow};

/// Times and durations of ports as victims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStateTotals {
    /// Times that a port became a victim.
    pub victims: u64,
    /// Ports, or queues, that ever did.
    pub ports: u64,
    /// Time as victims, summed over ports.
    pub victim_ns: u64,
    /// PAUSEs that a victim decided on.
    pub pauses_of_victims: u64,
    /// PAUSEs that a normal port decided on.
    pub pauses_of_normal: u64,
    /// True if queues, not ports, have the states. Known once a queue is a victim.
    #[serde(skip)]
    pub of_queues: bool,
}

/// A change that may still turn out to be after the run's end.
#[derive(Clone, Debug)]
struct Waiting {
    time: Nanos,
    node: String,
    port: u16,
    priority: Option<u8>,
    cause: StateCause,
}

/// Counts and times the changes of the run. Nodes may run on after the run's last frame has arrived, and with them the
/// timers that end periods.
#[derive(Clone, Debug, Default)]
pub(super) struct PortStates {
    totals: PortStateTotals,
    waiting: VecDeque<Waiting>,
    /// By switch, port and priority: since when it is a victim, if it is.
    ports: BTreeMap<(String, u16, Option<u8>), Option<Nanos>>,
}

impl PortStates {
    /// Adds a row, the latest so far, when the run has lasted at least until `known`. Calls `write` with the rows that
    /// belong to the run.
    pub(super) fn take(
        &mut self,
        row: &PortStateRow,
        known: Nanos,
        write: impl FnMut(&PortStateRow) -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        let PortStateRow { time, node, port, priority, cause } = *row;
        self.waiting.push_back(Waiting { time, node: node.to_owned(), port, priority, cause });
        self.settle(known, write)
    }

    /// The run has lasted at least until `known`.
    pub(super) fn settle(
        &mut self,
        known: Nanos,
        mut write: impl FnMut(&PortStateRow) -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        while let Some(row) = self.waiting.pop_front_if(|row| row.time <= known) {
            let Waiting { time, ref node, port, priority, cause } = row;
            let row = PortStateRow { time, node, port, priority, cause };
            self.record(&row);
            write(&row)?;
        }
        Ok(())
    }

    fn record(&mut self, row: &PortStateRow) {
        self.totals.of_queues |= row.priority.is_some();
        let since = self.ports.entry((row.node.to_owned(), row.port, row.priority)).or_default();
        match row.cause.state() {
            PortState::Victim => {
                self.totals.victims += 1;
                since.get_or_insert(row.time);
            }
            PortState::Normal => {
                if let Some(since) = since.take() {
                    self.totals.victim_ns += row.time.0.saturating_sub(since.0);
                }
            }
        }
    }

    pub(super) fn pause(&mut self, row: &PauseRow) {
        match (row.event, row.state) {
            (PauseEvent::Pause, Some(PortState::Victim)) => self.totals.pauses_of_victims += 1,
            (PauseEvent::Pause, Some(PortState::Normal)) => self.totals.pauses_of_normal += 1,
            _ => {}
        }
    }

    /// The totals of a run that ends at `end`.
    pub(super) fn finish(self, end: Nanos) -> PortStateTotals {
        let last = self.ports.values().flatten().map(|since| end.0.saturating_sub(since.0));
        PortStateTotals {
            ports: self.ports.len() as u64,
            victim_ns: self.totals.victim_ns + last.sum::<u64>(),
            ..self.totals
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn a_port_is_a_victim_until_it_is_normal_or_the_run_ends() {
        let row = |time, port, priority, cause| PortStateRow {
            time: Nanos(time),
            node: "leaf0",
            port,
            priority,
            cause,
        };
        assert_eq!(line(&row(7, 2, None, StateCause::Fast)), "7,leaf0,2,,victim,fast\n");
        assert_eq!(line(&row(8, 2, Some(3), StateCause::Pause)), "8,leaf0,2,3,normal,pause\n");
        let mut states = PortStates::default();
        for (time, port, priority, cause) in [
            (10, 0, None, StateCause::Fast),
            (15, 1, Some(3), StateCause::Fast),
            (30, 0, None, StateCause::Pause),
            (35, 1, Some(4), StateCause::Fast),
            (40, 0, None, StateCause::Resume),
            (60, 0, None, StateCause::Slow),
        ] {
            states.record(&row(time, port, priority, cause));
        }
        let expected = PortStateTotals {
            victims: 4,
            ports: 3,
            victim_ns: 20 + 20 + (100 - 15) + (100 - 35),
            of_queues: true,
            ..PortStateTotals::default()
        };
        assert_eq!(states.finish(Nanos(100)), expected);
    }

    #[test]
    fn what_changes_after_the_end_is_not_of_the_run() {
        let mut written = Vec::new();
        let mut states = PortStates::default();
        for (time, cause, known) in [
            (10, StateCause::Fast, 0),
            (11, StateCause::Slow, 5),
            (110, StateCause::Fast, 11),
            (120, StateCause::Slow, 20),
        ] {
            let row =
                PortStateRow { time: Nanos(time), node: "s0", port: 0, priority: None, cause };
            let write = |row: &PortStateRow| {
                written.push(row.time.0);
                Ok(())
            };
            states.take(&row, Nanos(known), write).unwrap();
            assert_eq!(written, if known < 11 { &[][..] } else { &[10, 11] }, "{known}");
        }
        states
            .settle(Nanos(110), |row| {
                written.push(row.time.0);
                Ok(())
            })
            .unwrap();
        assert_eq!(written, [10, 11, 110]);
        let totals = states.finish(Nanos(110));
        assert_eq!((totals.victims, totals.victim_ns), (2, 1));
    }
}
