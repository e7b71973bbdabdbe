//! `link_priorities.csv`.

use units::{BitsPerSecond, Picos};

use super::column::Column;
use super::row::{Fields, Row};
use super::share::Share;

/// Frames and bytes of a priority on a wire, which is one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPriorityRow {
    /// The wire.
    pub wire: String,
    /// Sender of the wire.
    pub from: String,
    /// Receiver of the wire.
    pub to: String,
    /// The priority; `None` for frames without a priority.
    pub priority: Option<u8>,
    /// The wire's rate.
    pub rate: BitsPerSecond,
    /// Frames whose transmission began.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Bytes of these frames on the wire, gaps and FCS included.
    pub wire_bytes: u64,
    /// Frames of these that carried an ECN mark.
    pub marked: u64,
    /// Frames of these that vanished on the wire.
    pub lost: u64,
    /// Frames of these that arrived with a wrong FCS.
    pub damaged: u64,
    /// Frames of these that the switch at the wire's end dropped.
    pub dropped: u64,
    /// The run's end.
    pub end: Picos,
}

impl Row for LinkPriorityRow {
    const FILE: &'static str = "link_priorities.csv";
    const ABOUT: &'static str = "Only with `results.link_priorities`. One row per wire and priority that it has carried; the rows of a wire add \
                                 up to its row in `links.csv`.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::text("wire", "The wire, as captures and faults name it."),
        Column::text("from", "Host or switch that sends on it."),
        Column::text("to", "Host or switch at its other end."),
        Column::integer(
            "priority",
            "Priority of the packets; empty for frames between neighbours, such as PAUSE, which have none.",
        )
        .or_empty(),
        Column::integer("frames", "Frames whose transmission began."),
        Column::integer("bytes", "Their lengths."),
        Column::integer(
            "wire_bytes",
            "The same with preamble, FCS and gap, if the scenario counts these (`frames`).",
        ),
        Column::decimal(
            "utilisation",
            "`wire_bytes` as a share of what the wire carries in the run, as in `links.csv`.",
        ),
        Column::integer(
            "ecn_marked",
            "Packets that carried an ECN mark (CE), by whichever switch.",
        ),
        Column::integer("lost", "Frames that `[[faults]]` took."),
        Column::integer("damaged", "Frames that arrived with a wrong FCS, by `[[faults]]`."),
        Column::integer(
            "dropped",
            "Packets that came by the wire and that the switch at its end dropped, at arrival or later.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        let Self { wire, from, to, priority, rate, frames, bytes, wire_bytes, .. } = self;
        let utilisation = Share {
            part: u128::from(*wire_bytes) * 8_000_000_000_000,
            whole: u128::from(rate.0) * u128::from(self.end.0),
        };
        row.add(&**wire).add(&**from).add(&**to).add(*priority);
        row.add(*frames).add(*bytes).add(*wire_bytes).add(utilisation);
        row.add(self.marked).add(self.lost).add(self.damaged).add(self.dropped);
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
