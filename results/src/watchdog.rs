//! PFC storms in `summary.json`.

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::tables::WatchdogRow;

/// Totals of all storms of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogTotals {
    /// Storms that were detected.
    pub storms: u64,
    /// Storms that were over before the run's end.
    pub restored: u64,
    /// Time from each detection to the end of the storm or of the run, in sum.
    pub storm_ns: u64,
    /// Packets that were to leave by stormed ports and were dropped.
    pub egress_dropped_packets: u64,
    /// Bytes of these packets.
    pub egress_dropped_bytes: u64,
    /// Packets that came in by stormed ports and were dropped.
    pub ingress_dropped_packets: u64,
    /// Bytes of these packets.
    pub ingress_dropped_bytes: u64,
    /// Packets that were sent in spite of pauses.
    pub forwarded_packets: u64,
    /// Bytes of these packets.
    pub forwarded_bytes: u64,
}

impl WatchdogTotals {
    /// Adds a storm of a run that has come to `now`.
    pub fn record(&mut self, row: &WatchdogRow<'_>, now: Nanos) {
        self.storms += 1;
        self.restored += u64::from(row.restored.is_some());
        self.storm_ns += row.restored.unwrap_or(now).0.saturating_sub(row.detected.0);
        self.egress_dropped_packets += row.egress_dropped.packets;
        self.egress_dropped_bytes += row.egress_dropped.bytes;
        self.ingress_dropped_packets += row.ingress_dropped.packets;
        self.ingress_dropped_bytes += row.ingress_dropped.bytes;
        self.forwarded_packets += row.forwarded.packets;
        self.forwarded_bytes += row.forwarded.bytes;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use fabric_core::watchdog::Traffic;

    use super::*;
    use crate::csv::line;

    pub const fn traffic(packets: u64) -> Traffic {
        Traffic { packets, bytes: 1000 * packets }
    }

    pub fn row() -> WatchdogRow<'static> {
        WatchdogRow {
            detected: Nanos(500),
            restored: None,
            node: "leaf0",
            port: 3,
            peer: "h3",
            priority: 4,
            action: "drop",
            waiting: traffic(1),
            egress_dropped: traffic(2),
            ingress_dropped: traffic(3),
            forwarded: traffic(4),
        }
    }

    #[test]
    fn a_storm_that_lasts_has_no_end() {
        let counts = "1,1000,2,2000,3,3000,4,4000\n";
        assert_eq!(line(&row()), format!("500,,leaf0,3,h3,4,drop,{counts}"));
        let over = WatchdogRow { restored: Some(Nanos(900)), ..row() };
        assert_eq!(line(&over), format!("500,900,leaf0,3,h3,4,drop,{counts}"));
    }

    #[test]
    fn totals_are_sums() {
        let mut totals = WatchdogTotals::default();
        totals.record(&row(), Nanos(700));
        totals.record(&WatchdogRow { restored: Some(Nanos(600)), ..row() }, Nanos(700));
        let expected = WatchdogTotals {
            storms: 2,
            restored: 1,
            storm_ns: 300,
            egress_dropped_packets: 4,
            egress_dropped_bytes: 4000,
            ingress_dropped_packets: 6,
            ingress_dropped_bytes: 6000,
            forwarded_packets: 8,
            forwarded_bytes: 8000,
        };
        assert_eq!(totals, expected);
    }
}
