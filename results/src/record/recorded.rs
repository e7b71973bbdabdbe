//! Rows that the engine adds to a record, and what the record computes of them.

use fabric_core::hop_control::PauseEvent;

use super::Record;
use crate::error::ResultsError;
use crate::link_delay::LinkDelayRange;
use crate::queue::QueueKind;
use crate::report::ReportedDeadlock;
use crate::row::Row;
use crate::tables::{
    DeadlockRow, DropRow, FlowQueuesRow, FlowRow, LinkDelayRow, PauseRow, QueuePauseRow, QueueRow,
};

/// A row that [`Record::add`] takes.
pub trait Recorded: Row {
    /// Adds the row to the record's statistics, and writes the rows that must precede it.
    fn before_write(&self, _record: &mut Record) -> Result<(), ResultsError> {
        Ok(())
    }
}

/// A flow: once each, when it completes or when the run ends without it.
impl Recorded for FlowRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        record.flows.record(self);
        if let Some(congested) = self.congested {
            record.by_congestion[usize::from(congested)].record(self);
        }
        if let Some((window, flows)) = &mut record.window
            && window.contains(self.start)
        {
            flows.record(self);
        }
        if let Some(meter) = &mut record.throughput {
            meter.end(self.flow);
        }
        record.worst_flows.add(self);
        record.hpcc().map_or(Ok(()), |files| files.flow(self))
    }
}

/// A decision to pause, refresh or resume one class.
impl Recorded for PauseRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        let taken_over = record.pause_times.order(self);
        if let Some(states) = &mut record.port_states {
            states.pause(self);
        }
        let (Some(level), Some(folder)) = (taken_over, &mut record.folder) else { return Ok(()) };
        folder.write(&PauseRow { event: PauseEvent::Resume, level, ..*self })
    }
}

/// A measurement of a link.
impl Recorded for LinkDelayRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        record.link_delays = LinkDelayRange::with(record.link_delays, self);
        Ok(())
    }
}

/// A sample. `Buffer` and `Headroom` feed the report's chart.
impl Recorded for QueueRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        if self.kind == QueueKind::Egress
            && let Some(meter) = &mut record.port_queues
        {
            meter.sample(self);
        }
        if matches!(self.kind, QueueKind::Buffer | QueueKind::Headroom) {
            if !record.buffers.contains_key(self.node) {
                record.buffers.insert(self.node.to_owned(), Default::default());
            }
            let (level, series) =
                record.buffers.get_mut(self.node).expect("the line above put it there");
            match self.kind {
                QueueKind::Headroom => level.headroom = self.bytes,
                _ => level.total = self.bytes,
            }
            series.record(self.time, *level);
        }
        Ok(())
    }
}

/// A sample of the distribution of flows over a port's queues.
impl Recorded for FlowQueuesRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        if let Some(meter) = &mut record.active_flows {
            meter.record(self);
        }
        Ok(())
    }
}

/// A decision to pause or resume one queue.
impl Recorded for QueuePauseRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        record.queue_pauses.get_or_insert_default().record(self);
        Ok(())
    }
}

/// A frame that went no further. Totals come from counters, by [`Summary::drops`](crate::Summary::drops).
impl Recorded for DropRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        record.counters.discard(self);
        Ok(())
    }
}

/// A cycle of waiting queues, once it has dissolved or the run has ended.
impl Recorded for DeadlockRow<'_> {
    fn before_write(&self, record: &mut Record) -> Result<(), ResultsError> {
        record.deadlocks.record(self);
        if let Some(confirmed) = self.confirmed
            && record.first_deadlock.as_ref().is_none_or(|first| self.onset < first.onset)
        {
            record.first_deadlock = Some(ReportedDeadlock {
                onset: self.onset,
                confirmed,
                end: self.end,
                priorities: self.members.iter().map(|member| member.priority).collect(),
                queues: self.members.iter().map(|member| member.wire.to_owned()).collect(),
            });
        }
        Ok(())
    }
}
