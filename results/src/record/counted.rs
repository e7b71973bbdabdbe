//! Numbers that the engine adds to a record: peaks between samples, and counters of ports.

use units::Nanos;

use super::Record;
use crate::buffer_series::BufferLevel;
use crate::counter::PortCounters;

impl Record {
    /// A switch held at most `peak` between two samples, which is more than at both. Feeds the report's chart; comes before
    /// the later sample.
    pub fn buffer_peak(&mut self, node: &str, since: Nanos, now: Nanos, peak: BufferLevel) {
        if !self.buffers.contains_key(node) {
            self.buffers.insert(node.to_owned(), Default::default());
        }
        let (_, series) = self.buffers.get_mut(node).expect("the line above put it there");
        series.raise(since, now, peak);
    }

    /// Returns true if PFC frames or discarded frames were counted at a (node, port, priority), or it was paused or to
    /// be paused.
    pub fn has_counted(&self, node: &str, port: u16, priority: u8) -> bool {
        let key = (port, priority);
        self.counters.has(node, key) || self.pause_times.has(node, key)
    }

    /// Adds the engine's counters of each (node, port, priority), in the order of rows.
    pub fn counters(&mut self, counted: Vec<PortCounters>) {
        self.counters.take(counted);
    }
}
