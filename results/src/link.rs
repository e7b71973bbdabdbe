//! `links.csv`.

use std::io::{self, Write};

use units::{BitsPerSecond, Picos};

use super::column::Column;
use super::csv::{Row, Text};
use super::share::Share;

/// What a wire, one direction of a link, has carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// The wire.
    pub wire: String,
    /// Its sender.
    pub from: String,
    /// Its receiver.
    pub to: String,
    /// Its rate.
    pub rate: BitsPerSecond,
    /// Frames whose transmission began.
    pub frames: u64,
    /// Their lengths.
    pub bytes: u64,
    /// What they took on the wire, gaps and FCS included.
    pub wire_bytes: u64,
    /// Those of them that vanished on the wire.
    pub lost: u64,
    /// Those of them that arrived with a wrong FCS.
    pub damaged: u64,
    /// The run's end.
    pub end: Picos,
}

impl Row for LinkRow {
    const FILE: &'static str = "links.csv";
    const ABOUT: &'static str = "One row per wire, which is one direction of a link.";
    const COLUMNS: &'static [Column] = &[
        Column { name: "wire", about: "The wire, as captures and faults name it." },
        Column { name: "from", about: "Host or switch that sends on it." },
        Column { name: "to", about: "Host or switch at its other end." },
        Column { name: "rate_bps", about: "Its rate, in bits per second." },
        Column { name: "frames", about: "Frames whose transmission began, of all kinds." },
        Column { name: "bytes", about: "Their lengths." },
        Column {
            name: "wire_bytes",
            about: "The same with preamble, FCS and gap, if the scenario counts these (`frames`).",
        },
        Column {
            name: "utilisation",
            about: "`wire_bytes` as a share of what the wire carries in the run (`emulated_ns` in `summary.json`), six \
                    decimals, rounded down. A frame that is being sent at the run's end counts whole.",
        },
        Column { name: "lost", about: "Frames that `[[faults]]` took." },
        Column { name: "damaged", about: "Frames that arrived with a wrong FCS, by `[[faults]]`." },
    ];

    fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { wire, from, to, rate, frames, bytes, wire_bytes, lost, damaged, end } = self;
        let utilisation = Share {
            part: u128::from(*wire_bytes) * 8_000_000_000_000,
            whole: u128::from(rate.0) * u128::from(end.0),
        };
        let [wire, from, to] = [wire, from, to].map(|name| Text(name));
        let rate = rate.0;
        writeln!(
            out,
            "{wire},{from},{to},{rate},{frames},{bytes},{wire_bytes},{utilisation},{lost},{damaged}"
        )
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
