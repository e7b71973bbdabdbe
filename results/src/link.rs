//! `links.csv`.

use units::{BitsPerSecond, Picos};

use super::column::Column;
use super::row::{Fields, Row};
use super::share::Share;

/// Frames and bytes of a wire, which is one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// The wire.
    pub wire: String,
    /// Sender of the wire.
    pub from: String,
    /// Receiver of the wire.
    pub to: String,
    /// Rate of the wire.
    pub rate: BitsPerSecond,
    /// Frames whose transmission began.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Bytes of these frames on the wire, gaps and FCS included.
    pub wire_bytes: u64,
    /// Frames of these that vanished on the wire.
    pub lost: u64,
    /// Frames of these that arrived with a wrong FCS.
    pub damaged: u64,
    /// The run's end.
    pub end: Picos,
}

impl Row for LinkRow {
    const FILE: &'static str = "links.csv";
    const ABOUT: &'static str = "One row per wire, which is one direction of a link.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::text("wire", "The wire, as captures and faults name it."),
        Column::text("from", "Host or switch that sends on it."),
        Column::text("to", "Host or switch at its other end."),
        Column::integer("rate_bps", "Its rate, in bits per second."),
        Column::integer("frames", "Frames whose transmission began, of all kinds."),
        Column::integer("bytes", "Their lengths."),
        Column::integer(
            "wire_bytes",
            "The same with preamble, FCS and gap, if the scenario counts these (`frames`).",
        ),
        Column::decimal(
            "utilisation",
            "`wire_bytes` as a share of what the wire carries until the run's end, which counts in picoseconds here (`emulated_ns` in \
                    `summary.json` is rounded down), six decimals, rounded down. A frame that is being sent at the run's end counts whole.",
        ),
        Column::integer("lost", "Frames that `[[faults]]` took."),
        Column::integer("damaged", "Frames that arrived with a wrong FCS, by `[[faults]]`."),
    ];

    fn fields(&self, row: &mut impl Fields) {
        let utilisation = Share {
            part: u128::from(self.wire_bytes) * 8_000_000_000_000,
            whole: u128::from(self.rate.0) * u128::from(self.end.0),
        };
        row.add(&*self.wire).add(&*self.from).add(&*self.to).add(self.rate);
        row.add(self.frames).add(self.bytes).add(self.wire_bytes).add(utilisation);
        row.add(self.lost).add(self.damaged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn utilisation_is_of_the_whole_run() {
        let row = LinkRow {
            wire: "h0->leaf0".into(),
            from: "h0".into(),
            to: "leaf0".into(),
            rate: BitsPerSecond(100_000_000_000),
            frames: 2,
            bytes: 2116,
            wire_bytes: 2164,
            lost: 1,
            damaged: 0,
            end: Picos(1_000_000),
        };
        assert_eq!(line(&row), "h0->leaf0,h0,leaf0,100000000000,2,2116,2164,0.173120,1,0\n");
        let idle = LinkRow { wire_bytes: 0, end: Picos::ZERO, ..row };
        assert!(line(&idle).contains(",0.000000,"));
    }
}
