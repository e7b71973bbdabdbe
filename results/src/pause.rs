//! Decisions to pause and to resume.

use std::fmt;

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

#[cfg(test)]
mod tests {
    use units::{Bytes, Nanos};

    use super::*;
    use std::path::Path;

    use crate::csv::{CsvTable, line};
    use crate::port_state::PortState;
    use crate::tables::PauseRow;

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
