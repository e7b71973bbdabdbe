//! `drops.csv`.

use std::io::{self, Write};

use units::{Bytes, Nanos};

use super::column::Column;
use super::csv::{Maybe, Row, Text};

/// Who is to blame for a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropClass {
    /// The switch's buffer policy.
    Policy,
    /// The frame itself: malformed, or not for this switch.
    Frame,
    /// Not a loss: a control frame that is consumed without effect.
    Ignored,
    /// The machine below the emulation.
    Substrate,
    /// A fault that the scenario asked for.
    Injected,
}

impl DropClass {
    /// As `drops.csv` names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Frame => "frame",
            Self::Ignored => "ignored",
            Self::Substrate => "substrate",
            Self::Injected => "injected",
        }
    }
}

/// A frame that went no further.
#[derive(Clone, Copy, Debug)]
pub struct DropRow<'a> {
    /// When.
    pub time: Nanos,
    /// The switch or host that dropped it, or the wire that lost it.
    pub node: &'a str,
    /// The port it came in by, where there is one.
    pub port: Option<u16>,
    /// Its priority, where it was known.
    pub priority: Option<u8>,
    /// The name of the reason.
    pub reason: &'a str,
    /// Who is to blame.
    pub class: DropClass,
    /// Its frame length.
    pub bytes: Bytes,
}

impl Row for DropRow<'_> {
    const FILE: &'static str = "drops.csv";
    const ABOUT: &'static str = "One row per frame that went no further.";
    const COLUMNS: &'static [Column] = &[
        Column { name: "time_ns", about: "Instant of the drop." },
        Column { name: "node", about: "Switch or host that dropped it, or wire that lost it." },
        Column { name: "port", about: "Ingress port; empty where there is none." },
        Column { name: "priority", about: "Priority; empty where it was not known." },
        Column { name: "reason", about: "Name of the reason." },
        Column {
            name: "class",
            about: "`policy` (the buffer's rules), `frame` (malformed, or not for this switch), \
                    `ignored` (a control frame without effect: not a loss), `substrate` (the \
                    machine below the emulation) or `injected` (a fault the scenario asked for).",
        },
        Column { name: "bytes", about: "Frame length, FCS not counted." },
    ];

    fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{},{},{},{},{},{},{}",
            self.time.0,
            Text(self.node),
            Maybe(self.port),
            Maybe(self.priority),
            Text(self.reason),
            self.class.name(),
            self.bytes.0,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn what_is_not_known_is_empty() {
        let row = DropRow {
            time: Nanos(5),
            node: "leaf0->h0",
            port: None,
            priority: None,
            reason: "substrate-loss",
            class: DropClass::Substrate,
            bytes: Bytes(64),
        };
        assert_eq!(line(&row), "5,leaf0->h0,,,substrate-loss,substrate,64\n");
    }
}
