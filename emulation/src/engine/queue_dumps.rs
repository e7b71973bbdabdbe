//! Histograms of queue lengths: switches count them, and the record writes them when they are due.

use results::QueueLengths;

use super::agenda::Task;
use super::{Engine, RunError};
use crate::datapath::Wires;

impl<W: Wires> Engine<'_, W> {
    /// Schedules the next writing of histograms, if there is one before the run's end.
    pub(super) fn plan_queue_dump(&mut self) {
        if let Some(at) = self.recorder.record.next_queue_dump() {
            self.agenda.schedule(at, Task::QueueDump);
        }
    }

    /// Writes the histograms that are due, or all remaining ones if the run `ends` now.
    pub(super) fn dump_queues(&mut self, ends: bool) -> Result<(), RunError> {
        let mut lengths = queue_lengths(&mut self.parts);
        Ok(self.recorder.record.queue_dump((self.now, ends), &mut lengths)?)
    }
}

/// Queue lengths counted by switches, by switch; empty if they do not count.
fn queue_lengths<W: Wires>(parts: &mut [Box<super::part::Part<W>>]) -> Vec<&mut QueueLengths> {
    let nodes = parts.iter_mut().flat_map(|part| &mut part.switches);
    let mut lengths: Vec<_> = nodes
        .filter_map(|node| {
            let number = node.id.0;
            node.followed.lengths.as_deref_mut().map(|lengths| (number, lengths))
        })
        .collect();
    lengths.sort_by_key(|(number, _)| *number);
    lengths.into_iter().map(|(_, lengths)| lengths).collect()
}
