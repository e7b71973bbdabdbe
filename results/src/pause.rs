//! `pauses.csv`.

use std::fmt;

use units::{Bytes, Nanos};

use super::column::Column;
use super::port_state::PortState;
use super::row::{Fields, Row};

/// Decision of a switch about an upstream sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseEvent {
    /// Stop: a PAUSE frame is due.
    Xoff,
    /// Still stopped: the quanta are renewed before they expire.
    XoffRefresh,
    /// Go on: a RESUME frame (PAUSE with zero quanta) is due.
    Xon,
}

impl PauseEvent {
    /// Name in `pauses.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xoff => "xoff",
            Self::XoffRefresh => "xoff-refresh",
            Self::Xon => "xon",
        }
    }
}

impl fmt::Display for PauseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Scope of the occupancy that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseLevel {
    /// Occupancy of one ingress queue: its class is paused.
    Queue,
    /// Occupancy of the port: all lossless classes are paused (DSH, Section IV-E).
    Port,
}

impl PauseLevel {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Port => "port",
        }
    }
}

/// A PAUSE, its refresh or a RESUME, with the reason.
#[derive(Clone, Copy, Debug)]
pub struct PauseRow<'a> {
    /// The instant of the decision, not of the frame's departure.
    pub time: Nanos,
    /// The switch that decided.
    pub node: &'a str,
    /// The switch's ingress port.
    pub port: u16,
    /// The paused node: the neighbour at that port.
    pub peer: &'a str,
    /// The neighbour's port; not a column.
    pub peer_port: u16,
    /// The priority.
    pub priority: u8,
    /// The decision.
    pub event: PauseEvent,
    /// Scope of the occupancy that decided.
    pub level: PauseLevel,
    /// Bytes in the shared pool and in headroom that were compared with the threshold.
    pub occupancy: Bytes,
    /// The threshold at that instant.
    pub threshold: Bytes,
    /// Free bytes of the shared pool at that instant.
    pub shared_free: Bytes,
    /// The state of the port, if ports have states: then each row has one.
    pub state: Option<PortState>,
}

impl PauseRow<'_> {
    /// Columns of the table, with or without the column of port states.
    pub fn columns(has_states: bool) -> &'static [Column<'static>] {
        let all = Self::COLUMNS;
        if has_states { all } else { &all[..all.len() - 1] }
    }
}

impl Row for PauseRow<'_> {
    const FILE: &'static str = "pauses.csv";
    const ABOUT: &'static str = "One row per decision to pause, to refresh a pause and to resume.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer(
            "time_ns",
            "Instant of the decision. The frame leaves when the port is free.",
        ),
        Column::text("node", "Switch that decided."),
        Column::integer("port", "Its ingress port, out of which the PAUSE frame goes."),
        Column::text("peer", "Who is paused: the neighbour at that port."),
        Column::integer("priority", "Paused priority, 0 to 7."),
        Column::text(
            "event",
            "`xoff` (stop), `xoff-refresh` (still stopped; the quanta are renewed) or `xon` \
                    (go on).",
        ),
        Column::integer(
            "occupancy_bytes",
            "Bytes of the ingress queue, or of the port, by `level`: those in the shared pool \
                    and those in headroom, the packet that came included. Of an `xoff` at least the \
                    threshold.",
        ),
        Column::integer(
            "threshold_bytes",
            "The threshold at that instant: X_off for `xoff` and `xoff-refresh`, X_on for \
                    `xon`. Of an `xoff` no more than the shared pool had room for: a packet that \
                    finds it full goes to headroom and pauses, however large X_off is.",
        ),
        Column::integer(
            "shared_free_bytes",
            "Free bytes of the switch's shared pool at that instant.",
        ),
        Column::text(
            "level",
            "`queue`: the ingress queue decided; `port`: the whole port did (DSH), with one \
                    frame and a row for each class. A pause of a level at a port in a priority is from its `xoff`, or its \
                    `xoff-refresh` if none is open, to its `xon`. When one level takes over from the other, the pause of that one \
                    ends in an `xon` of which no frame says anything; it has the numbers of the row after it, by which the \
                    other level goes on: a port's `xoff`, or the `xoff-refresh` of a queue whose class a port's RESUME leaves out. So \
                    pauses never overlap, and add up to what `pause_time.csv` and `summary.json` have.",
        ),
        Column::text(
            "state",
            "The column is there only with `switch.threshold.kind = \"spfc\"`. Whether the port was a `victim` or \
                    `normal` when it decided: of an `xoff` before it, because the PAUSE of a victim makes it normal; of an \
                    `xon` after it. With `state_of = \"queue\"` that of the ingress queue.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.node).add(self.port).add(self.peer).add(self.priority);
        row.add(self.event.name()).add(self.occupancy).add(self.threshold);
        row.add(self.shared_free).add(self.level.name());
        if let Some(state) = self.state {
            row.add(state.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::csv::{CsvTable, line};

    #[test]
    fn a_pause_says_who_whom_and_why() {
        let row = PauseRow {
            time: Nanos(12_345),
            node: "leaf0",
            port: 4,
            peer: "spine1",
            peer_port: 2,
            priority: 3,
            event: PauseEvent::XoffRefresh,
            level: PauseLevel::Port,
            occupancy: Bytes(200_000),
            threshold: Bytes(190_000),
            shared_free: Bytes(380_000),
            state: Some(PortState::Victim),
        };
        let shown = "12345,leaf0,4,spine1,3,xoff-refresh,200000,190000,380000,port";
        assert_eq!(line(&row), format!("{shown},victim\n"));
        let mut out = Vec::new();
        let columns = PauseRow::columns(false).iter().copied();
        let mut table = CsvTable::new(&mut out, Path::new("pauses.csv"), columns).unwrap();
        table.row(&PauseRow { state: None, ..row }).unwrap();
        table.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().nth(1), Some(shown));
        let names = |has_states| PauseRow::columns(has_states).iter().map(|column| column.name);
        assert_eq!(
            (names(true).next_back(), names(false).next_back()),
            (Some("state"), Some("level"))
        );
    }
}
