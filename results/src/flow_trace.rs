//! The bound of `flow_trace.csv`.

use units::Nanos;

use super::row::Row;
use super::table_file::TableFormat;
use super::tables::FlowTraceRow;

/// A bound of the number of rows, and what it has cut.
pub struct TraceLimit {
    /// Max number of rows.
    most: u64,
    admitted: u64,
    /// Instant of the first row for which there was no room.
    cut_at: Option<Nanos>,
}

impl TraceLimit {
    /// At most `most` rows. `None`: any number.
    pub fn new(most: Option<u64>) -> Self {
        Self { most: most.unwrap_or(u64::MAX), admitted: 0, cut_at: None }
    }

    /// Returns true if there is room for the row.
    pub fn admit(&mut self, row: &FlowTraceRow) -> bool {
        let has_room = self.admitted < self.most;
        if has_room {
            self.admitted += 1;
        } else {
            self.cut_at.get_or_insert(row.time);
        }
        has_room
    }

    /// Message about the missing rows and the remedy, if there are any.
    pub fn truncated(&self, format: TableFormat) -> Option<String> {
        let Nanos(at) = self.cut_at?;
        let file = format.file(FlowTraceRow::FILE);
        let rows = match self.most {
            1 => "its 1 row".to_owned(),
            most => format!("its {most} rows"),
        };
        Some(format!(
            "{file} ends with {rows}; changes from {at} ns on are missing: raise \
             `results.flow_trace.rows` or trace fewer flows"
        ))
    }
}

#[cfg(test)]
mod tests {
    use units::{BitsPerSecond, Bytes};

    use super::*;
    use crate::csv::line;

    const ROW: FlowTraceRow = FlowTraceRow {
        time: Nanos(5),
        flow: 3,
        rate: BitsPerSecond(100),
        window: None,
        round_trip: None,
        congestion_millionths: None,
        outstanding: Bytes(0),
    };

    #[test]
    fn what_there_is_not_is_empty() {
        assert_eq!(line(&ROW), "5,3,100,,,,0\n");
        let full = FlowTraceRow {
            window: Some(Bytes(7)),
            round_trip: Some(Nanos(8)),
            congestion_millionths: Some(-9),
            outstanding: Bytes(10),
            ..ROW
        };
        assert_eq!(line(&full), "5,3,100,7,8,-9,10\n");
    }

    #[test]
    fn a_trace_ends_at_its_bound_and_says_so() {
        let mut limit = TraceLimit::new(Some(2));
        for time in [1, 2] {
            assert!(limit.admit(&FlowTraceRow { time: Nanos(time), ..ROW }));
            assert_eq!(limit.truncated(TableFormat::Csv), None, "all rows are there");
        }
        for time in [4, 9] {
            assert!(!limit.admit(&FlowTraceRow { time: Nanos(time), ..ROW }));
        }
        let expected = "flow_trace.csv ends with its 2 rows; changes from 4 ns on are missing: raise \
                        `results.flow_trace.rows` or trace fewer flows";
        assert_eq!(limit.truncated(TableFormat::Csv).as_deref(), Some(expected));
    }
}
