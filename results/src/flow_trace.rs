//! `flow_trace.csv`.

use std::io::Write;

use units::{BitsPerSecond, Bytes, Nanos};

use super::column::Column;
use super::error::ResultsError;
use super::row::{Fields, Row};
use super::table_file::TableFile;

/// Limits and congestion of a flow's sender from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTraceRow {
    /// Start of this state.
    pub time: Nanos,
    /// The flow's number.
    pub flow: u32,
    /// The rate at which its packets may follow each other, at most the line rate.
    pub rate: BitsPerSecond,
    /// Payload bytes that may be unacknowledged, if there is a limit.
    pub window: Option<Bytes>,
    /// The last round trip that was measured.
    pub round_trip: Option<Nanos>,
    /// The congestion control's measure of congestion, in millionths.
    pub congestion_millionths: Option<i64>,
    /// Payload bytes that count against the window.
    pub outstanding: Bytes,
}

impl Row for FlowTraceRow {
    const FILE: &'static str = "flow_trace.csv";
    const ABOUT: &'static str = "Only with `results.flow_trace`. One row when a traced flow starts, and one \
                                 per change of its `rate_bps`, `window_bytes` or `congestion`: after an ACK, \
                                 NAK, CNP, loss, timeout or packet. What a timer changes shows at the next of \
                                 these, because nothing needs it before. In order of time; rows of a flow at one \
                                 instant as they happened. At most `results.flow_trace.rows` rows: a trace that \
                                 was cut there is named under `truncated` in `summary.json`.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("time_ns", "Instant of the change."),
        Column::integer("flow", "Number of the flow, as in `flows.csv`."),
        Column::integer("rate_bps", "Rate at which the flow's packets may follow each other, in bits on the wire per \
                    second; the line rate where nothing is paced."),
        Column::integer("window_bytes", "Payload bytes that may be unacknowledged: the congestion control's window or the \
                    transport's `window`, whichever is less. Empty without either.").or_empty(),
        Column::integer("rtt_ns", "Last round trip that the sender's NIC measured, from the start of a packet to the \
                    arrival of its ACK, rounded up; of packets that were sent once or, over TCP, whose last \
                    transmission is answered. Empty before the first.").or_empty(),
        Column::integer("congestion", "What the congestion control makes of congestion, in millionths, rounded down. DCQCN: \
                    alpha as of the last CNP, or with a clock of cuts as of its last cut; DCTCP: alpha; \
                    HPCC: the utilisation U; rtt-target: the last round trip as a part of the target; PowerTCP and theta-PowerTCP: the smoothed power, 1000000 of a \
                    link that is just full; TIMELY: the normalised gradient, which may be negative, rounded \
                    towards zero. Empty for others.").or_empty(),
        Column::integer("outstanding_bytes", "Payload bytes that count against the window. Go-back-N: sent since it last went back, and \
                    not acknowledged. Selective repeat: from the oldest unacknowledged packet to the newest \
                    sent, and 0 while one is to be sent again. TCP: segments in flight (`pipe` of RFC 6675), \
                    each as a full one."),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.flow).add(self.rate).add(self.window).add(self.round_trip);
        row.add(self.congestion_millionths).add(self.outstanding);
    }
}

/// The table, which has a bound.
pub struct FlowTrace<W: Write + Send> {
    table: TableFile<'static, W>,
    most: u64,
    written: u64,
    /// Instant of the first row for which there was no room.
    cut_at: Option<Nanos>,
}

impl<W: Write + Send> FlowTrace<W> {
    /// A table of at most `most` rows.
    pub const fn new(table: TableFile<'static, W>, most: u64) -> Self {
        Self { table, most, written: 0, cut_at: None }
    }

    /// Adds a row, if there is room.
    pub fn row(&mut self, row: &FlowTraceRow) -> Result<(), ResultsError> {
        if self.written == self.most {
            self.cut_at.get_or_insert(row.time);
            return Ok(());
        }
        self.written += 1;
        self.table.row(row)
    }

    /// Message about the missing rows and the remedy, if the table was cut.
    pub fn truncated(&self) -> Option<String> {
        let Nanos(at) = self.cut_at?;
        let file = self.table.format().file(FlowTraceRow::FILE);
        let rows = match self.most {
            1 => "its 1 row".to_owned(),
            most => format!("its {most} rows"),
        };
        Some(format!(
            "{file} ends with {rows}; changes from {at} ns on are missing: raise \
             `results.flow_trace.rows` or trace fewer flows"
        ))
    }

    /// The table.
    pub fn into_table(self) -> TableFile<'static, W> {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::csv::line;
    use crate::table_file::TableFormat;

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
        let mut bytes = Vec::new();
        let (format, path) = (TableFormat::Csv, Path::new("flow_trace.csv"));
        let columns = FlowTraceRow::COLUMNS;
        let table = TableFile::new::<FlowTraceRow>(format, &mut bytes, path, columns).unwrap();
        let mut trace = FlowTrace::new(table, 2);
        for time in [1, 2] {
            trace.row(&FlowTraceRow { time: Nanos(time), ..ROW }).unwrap();
            assert_eq!(trace.truncated(), None, "all rows are there");
        }
        for time in [4, 9] {
            trace.row(&FlowTraceRow { time: Nanos(time), ..ROW }).unwrap();
        }
        let expected = "flow_trace.csv ends with its 2 rows; changes from 4 ns on are missing: raise \
                        `results.flow_trace.rows` or trace fewer flows";
        assert_eq!(trace.truncated().as_deref(), Some(expected));
        trace.into_table().finish().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["1,3,100,,,,0", "2,3,100,,,,0"]);
    }
}
