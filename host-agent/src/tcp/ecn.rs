//! Echo of ECN marks by a receiver.

/// Use of ECN by a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// No use of ECN: packets are not ECN-capable.
    #[default]
    Off,
    /// From a marked segment until the sender reports a reduced window, each ACK has ECE (RFC 3168, 6.1.3).
    Classic,
    /// An ACK has ECE exactly if the segments that it acknowledges were marked (RFC 8257, 3.2).
    Accurate,
}

/// The receiver's state.
#[derive(Clone, Copy, Debug)]
pub struct EcnEcho {
    ecn: Ecn,
    echo: bool,
}

impl EcnEcho {
    /// State of a connection that has seen no mark.
    pub const fn new(ecn: Ecn) -> Self {
        Self { ecn, echo: false }
    }

    /// Returns true if a segment changes the ECE of ACKs, so that a waiting ACK must go before it.
    pub fn changes(self, marked: bool) -> bool {
        self.ecn == Ecn::Accurate && marked != self.echo
    }

    /// Handles a segment, `marked` or not; `reduced` if it reports that the sender has reduced its window.
    pub fn receive(&mut self, marked: bool, reduced: bool) {
        self.echo = match self.ecn {
            Ecn::Off => false,
            Ecn::Classic => marked || (self.echo && !reduced),
            Ecn::Accurate => marked,
        };
    }

    /// Returns true if the ACK being built has ECE.
    pub fn echo(self) -> bool {
        self.echo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acks_say_of_marks() {
        let segments = [
            (false, false),
            (true, false),
            (false, false),
            (false, true),
            (true, true),
            (false, false),
        ];
        for (ecn, said) in [
            (Ecn::Off, [false; 6]),
            (Ecn::Classic, [false, true, true, false, true, true]),
            (Ecn::Accurate, [false, true, false, false, true, false]),
        ] {
            let mut echo = EcnEcho::new(ecn);
            for ((marked, reduced), said) in segments.into_iter().zip(said) {
                let changes = echo.changes(marked);
                let before = echo.echo();
                echo.receive(marked, reduced);
                assert_eq!(echo.echo(), said, "{ecn:?}");
                assert_eq!(changes, ecn == Ecn::Accurate && before != said);
            }
        }
    }
}
