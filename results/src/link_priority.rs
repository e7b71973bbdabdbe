//! `link_priorities.csv`.

use std::io::{self, Write};

use units::{BitsPerSecond, Picos};

use super::column::Column;
use super::csv::{Maybe, Row, Text};
use super::share::Share;

/// What a wire, one direction of a link, has carried of a priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPriorityRow {
    /// The wire.
    pub wire: String,
    /// Its sender.
    pub from: String,
    /// Its receiver.
    pub to: String,
    /// The priority; `None` of frames that have none.
    pub priority: Option<u8>,
    /// The wire's rate.
    pub rate: BitsPerSecond,
    /// Frames whose transmission began.
    pub frames: u64,
    /// Their lengths.
    pub bytes: u64,
    /// What they took on the wire, gaps and FCS included.
    pub wire_bytes: u64,
    /// Those of them that carried an ECN mark.
    pub marked: u64,
    /// Those of them that vanished on the wire.
    pub lost: u64,
    /// Those of them that arrived with a wrong FCS.
    pub damaged: u64,
    /// Those of them that the switch at the wire's end dropped.
    pub dropped: u64,
    /// The run's end.
    pub end: Picos,
}

impl Row for LinkPriorityRow {
    const FILE: &'static str = "link_priorities.csv";
    const ABOUT: &'static str = "Only with `results.link_priorities`. One row per wire and priority that it has carried; the rows of a wire add \
                                 up to its row in `links.csv`.";
    const COLUMNS: &'static [Column] = &[
        Column { name: "wire", about: "The wire, as captures and faults name it." },
        Column { name: "from", about: "Host or switch that sends on it." },
        Column { name: "to", about: "Host or switch at its other end." },
        Column {
            name: "priority",
            about: "Priority of the packets; empty for frames between neighbours, such as PAUSE, which have none.",
        },
        Column { name: "frames", about: "Frames whose transmission began." },
        Column { name: "bytes", about: "Their lengths." },
        Column {
            name: "wire_bytes",
            about: "The same with preamble, FCS and gap, if the scenario counts these (`frames`).",
        },
        Column {
            name: "utilisation",
            about: "`wire_bytes` as a share of what the wire carries in the run, as in `links.csv`.",
        },
        Column {
            name: "ecn_marked",
            about: "Packets that carried an ECN mark (CE), by whichever switch.",
        },
        Column { name: "lost", about: "Frames that `[[faults]]` took." },
        Column { name: "damaged", about: "Frames that arrived with a wrong FCS, by `[[faults]]`." },
        Column {
            name: "dropped",
            about: "Packets that came by the wire and that the switch at its end dropped, at arrival or later.",
        },
    ];

    fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { wire, from, to, priority, rate, frames, bytes, wire_bytes, .. } = self;
        let utilisation = Share {
            part: u128::from(*wire_bytes) * 8_000_000_000_000,
            whole: u128::from(rate.0) * u128::from(self.end.0),
        };
        let [wire, from, to] = [wire, from, to].map(|name| Text(name));
        let priority = Maybe(*priority);
        let Self { marked, lost, damaged, dropped, .. } = self;
        writeln!(
            out,
            "{wire},{from},{to},{priority},{frames},{bytes},{wire_bytes},{utilisation},{marked},{lost},{damaged},{dropped}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn frames_without_a_priority_have_an_empty_field() {
        let row = LinkPriorityRow {
            wire: "h0->leaf0".into(),
            from: "h0".into(),
            to: "leaf0".into(),
            priority: Some(3),
            rate: BitsPerSecond(100_000_000_000),
            frames: 2,
            bytes: 2116,
            wire_bytes: 2164,
            marked: 1,
            lost: 0,
            damaged: 0,
            dropped: 1,
            end: Picos(1_000_000),
        };
        assert_eq!(line(&row), "h0->leaf0,h0,leaf0,3,2,2116,2164,0.173120,1,0,0,1\n");
        let control = LinkPriorityRow { priority: None, ..row };
        assert!(line(&control).starts_with("h0->leaf0,h0,leaf0,,2,"));
    }
}
