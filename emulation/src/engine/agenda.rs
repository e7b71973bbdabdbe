//! Tasks of the whole fabric, which run between windows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use scenario::ThresholdUpdate;
use units::Picos;

use super::part::Opening;
use super::{Engine, RunError};
use crate::datapath::Wires;

/// A task of the whole fabric. Tasks of one instant run in the order of this list, and before all other events of
/// nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Reports pauses to the deadlock watch.
    PausesChanged {
        /// The wire whose sender is paused.
        wire: u32,
        /// The paused classes, one bit each.
        paused: u8,
        /// Instant of the change.
        at: Picos,
    },
    /// A pause at a switch port has taken effect: no more frames of the class are on their way.
    PauseSettled {
        /// The wire that leaves the port.
        wire: u32,
        /// The class.
        class: u8,
    },
    /// Checks open cycles of paused classes again.
    DeadlockLook,
    /// Looks for cycles of queues that are paused one by one.
    PausedQueuesLook,
    /// Looks for cycles of paused flows.
    PausedFlowsLook,
    /// Writes histograms of queue lengths.
    QueueDump,
    /// Samples queues.
    Sample,
    /// Computes the switches' thresholds.
    ControlPlane,
    /// Counts congested queues for the buffer management of lossy priorities.
    BufferManagement,
    /// Measures links from switches.
    LinkDelays,
    /// Announces the switches' pauses.
    Announcements,
    /// Changes routes after a link has gone down or come up.
    Reroute,
    /// Takes links down or brings them up, and ends pauses made through them.
    Relink,
}

impl Task {
    /// Position in the list.
    fn rank(self) -> u8 {
        match self {
            Self::PausesChanged { .. } => 0,
            Self::PauseSettled { .. } => 1,
            Self::DeadlockLook => 2,
            Self::PausedQueuesLook => 3,
            Self::PausedFlowsLook => 4,
            Self::QueueDump => 5,
            Self::Sample => 6,
            Self::ControlPlane => 7,
            Self::BufferManagement => 8,
            Self::LinkDelays => 9,
            Self::Announcements => 10,
            Self::Reroute => 11,
            Self::Relink => 12,
        }
    }
}

/// Tasks ordered by instant, then by kind, then as scheduled.
#[derive(Debug, Default)]
pub struct Agenda {
    tasks: BinaryHeap<Reverse<(Picos, u8, u64, Task)>>,
    scheduled: u64,
}

impl Agenda {
    /// Adds a task.
    pub fn schedule(&mut self, at: Picos, task: Task) {
        self.tasks.push(Reverse((at, task.rank(), self.scheduled, task)));
        self.scheduled += 1;
    }

    /// Instant of the next task.
    pub fn next(&self) -> Picos {
        self.tasks.peek().map_or(Picos::MAX, |Reverse((at, ..))| *at)
    }

    /// Takes the next task if it is due at `now`.
    pub fn pop(&mut self, now: Picos) -> Option<Task> {
        if self.next() > now {
            return None;
        }
        self.tasks.pop().map(|Reverse((.., task))| task)
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Performs a task that is due.
    pub(super) fn perform(&mut self, task: Task, opening: &mut Opening) -> Result<(), RunError> {
        match task {
            Task::PausesChanged { wire, paused, at } => self.pauses_changed(wire, paused, at)?,
            Task::PauseSettled { wire, class } => self.pause_settled(wire, class),
            Task::DeadlockLook => self.look_for_deadlock(),
            Task::PausedQueuesLook => self.look_at_paused_queues(),
            Task::PausedFlowsLook => self.look_at_paused_flows(),
            Task::QueueDump => {
                self.dump_queues(false)?;
                self.plan_queue_dump();
            }
            Task::Sample => {
                opening.samples = Some(self.classes);
                self.go_on(task, self.scenario.results.queue_period);
            }
            Task::ControlPlane => {
                opening.computes = true;
                if let ThresholdUpdate::Period(update) = self.scenario.switch.thresholds {
                    self.go_on(task, update.period.get());
                }
            }
            Task::BufferManagement => {
                opening.counts = true;
                if let Some(period) = self.scenario.lossy_period() {
                    self.go_on(task, period);
                }
            }
            Task::LinkDelays => {
                opening.measures = true;
                self.repeat(task, self.scenario.switch.headroom.measurement_period());
            }
            Task::Announcements => {
                opening.announces = true;
                self.repeat(task, self.scenario.announcement_period());
            }
            Task::Reroute => self.reroute_as_planned(),
            Task::Relink => self.relink_as_planned(),
        }
        Ok(())
    }

    /// Schedules a task again. In a live fabric it may rest instead.
    fn go_on(&mut self, task: Task, period: Picos) {
        #[cfg(feature = "kernel")]
        if self.lets_rest(task, period) {
            return;
        }
        self.agenda.schedule(self.now + period, task);
    }

    /// Schedules a task again while there are flows; without flows it rests.
    pub(super) fn repeat(&mut self, task: Task, period: Option<Picos>) {
        let Some(period) = period else { return };
        if self.active.is_empty() && self.stream.next_start().is_none() {
            self.resting.push((task, period));
        } else {
            self.agenda.schedule(self.now + period, task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_an_instant_run_by_their_kinds_and_then_as_they_were_scheduled() {
        let settled = |wire| Task::PauseSettled { wire, class: 3 };
        let changed = |paused| Task::PausesChanged { wire: 1, paused, at: Picos(5) };
        let mut agenda = Agenda::default();
        for (at, task) in [
            (7, Task::Sample),
            (7, settled(2)),
            (9, Task::DeadlockLook),
            (7, settled(1)),
            (7, changed(8)),
            (7, changed(0)),
        ] {
            agenda.schedule(Picos(at), task);
        }
        assert_eq!(agenda.pop(Picos(6)), None);
        let due: Vec<Task> = std::iter::from_fn(|| agenda.pop(Picos(8))).collect();
        assert_eq!(due, [changed(8), changed(0), settled(2), settled(1), Task::Sample]);
        assert_eq!(agenda.next(), Picos(9));
    }
}
