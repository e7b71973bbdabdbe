//! Tables that are known as a whole only at the run's end.

use super::Record;
use crate::error::ResultsError;
use crate::fault::FaultRow;
use crate::link::LinkRow;
use crate::link_priority::LinkPriorityRow;
use crate::measurements::Measurements;

impl Record {
    /// Adds what faults have done, if the scenario has some. Totals come by [`Summary::faults`](crate::Summary::faults).
    pub fn faults(&mut self, rows: &[FaultRow]) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(rows))
    }

    /// Adds what each wire has carried.
    pub fn links(&mut self, rows: &[LinkRow]) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(rows))
    }

    /// Adds what each wire has carried of each priority.
    pub fn link_priorities(&mut self, rows: &[LinkPriorityRow]) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(rows))
    }

    /// Adds what was measured of headroom, if it was.
    pub fn measurements(&mut self, measured: &Measurements) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(&measured.rows()))
    }
}
