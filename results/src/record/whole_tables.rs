//! Tables that are known as a whole only at the run's end.

use super::Record;
use crate::error::ResultsError;
use crate::fault::FaultRow;
use crate::link::LinkRow;
use crate::link_priority::LinkPriorityRow;
use crate::measurements::Measurements;

impl Record {
    /// Adds the effects of faults, if the scenario has some. The totals are in
    /// [`Summary::faults`](crate::Summary::faults).
    pub fn faults(&mut self, rows: &[FaultRow]) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(rows))
    }

    /// Adds the frames and bytes of each wire.
    pub fn links(&mut self, rows: &[LinkRow]) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(rows))
    }

    /// Adds the frames and bytes of each priority on each wire.
    pub fn link_priorities(&mut self, rows: &[LinkPriorityRow]) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(rows))
    }

    /// Adds the measurements of headroom, if there are any.
    pub fn measurements(&mut self, measured: &Measurements) -> Result<(), ResultsError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.whole(&measured.rows()))
    }
}
