//! Transfer of the parts' notes of a window to the record.

use host_agent::HostEvent;

use super::journal::Note;
use super::{Engine, RunError, Task};
use crate::datapath::Wires;

impl<W: Wires> Engine<'_, W> {
    /// Records the notes of all parts, by time and node.
    pub(super) fn record_notes(&mut self) -> Result<(), RunError> {
        let mut entries = std::mem::take(&mut self.entries);
        for part in &mut self.parts {
            part.core.journal.give(&mut entries);
        }
        if self.parts.len() > 1 {
            entries.sort_by_key(|entry| (entry.at, entry.node.0));
        }
        for entry in entries.drain(..) {
            match entry.what {
                Note::Host(HostEvent::FlowCompleted { flow, at, counts }) => {
                    self.complete_flow(flow, at, counts)?;
                }
                Note::PausesChanged { wire, paused } => {
                    let task = Task::PausesChanged { wire, paused, at: entry.at };
                    self.agenda.schedule(entry.at + self.lookahead, task);
                }
                #[cfg(feature = "kernel")]
                _ if self.notify_followers(&entry) => {}
                _ => self.recorder.record_note(&entry)?,
            }
        }
        self.entries = entries;
        if self.scenario.results.explain {
            self.record_wires()?;
        }
        Ok(())
    }

    /// Records the frames that were sent on wires.
    #[cold]
    fn record_wires(&mut self) -> Result<(), RunError> {
        let loggers = self.parts.iter_mut().filter_map(|part| part.core.wire_logger.as_deref_mut());
        self.logged.gather(loggers);
        Ok(self.recorder.wires(self.logged.in_order())?)
    }
}
