//! PFC storms.

use std::fmt::{self, Write};

use units::{Bytes, Nanos};

use super::{Style, quantity};
use crate::watchdog::WatchdogTotals;

/// Section on PFC storms, and on the packets that they affected.
pub(super) fn storms(out: &mut String, totals: &WatchdogTotals, style: Style) -> fmt::Result {
    writeln!(out, "\n{}", style.heading("PFC storms"))?;
    let WatchdogTotals { storms, restored, storm_ns, .. } = *totals;
    if storms == 0 {
        return writeln!(out, "no watchdog detected one");
    }
    let line = format!(
        "{} detected, {} over before the end, {} in sum",
        quantity::counted(storms, "storm"),
        quantity::count(restored),
        quantity::span(Nanos(storm_ns)),
    );
    writeln!(out, "{}", style.bad(&line))?;
    for (what, packets, bytes) in [
        ("dropped, for stormed ports", totals.egress_dropped_packets, totals.egress_dropped_bytes),
        (
            "dropped, from stormed ports",
            totals.ingress_dropped_packets,
            totals.ingress_dropped_bytes,
        ),
        ("sent in spite of pauses", totals.forwarded_packets, totals.forwarded_bytes),
    ] {
        if packets > 0 {
            let packets = quantity::counted(packets, "packet");
            writeln!(out, "{what}: {packets} ({})", quantity::bytes(Bytes(bytes)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(totals: WatchdogTotals) -> String {
        let mut out = String::new();
        storms(&mut out, &totals, Style::plain()).unwrap();
        out
    }

    #[test]
    fn storms_are_counted_and_what_they_cost_is_said() {
        let totals = WatchdogTotals {
            storms: 2,
            restored: 1,
            storm_ns: 5_000_000,
            egress_dropped_packets: 1,
            egress_dropped_bytes: 1058,
            forwarded_packets: 2,
            forwarded_bytes: 2000,
            ..WatchdogTotals::default()
        };
        let expected = "\nPFC storms\n2 storms detected, 1 over before the end, 5 ms in sum\n\
                        dropped, for stormed ports: 1 packet (1.058 kB)\n\
                        sent in spite of pauses: 2 packets (2 kB)\n";
        assert_eq!(text(totals), expected);
        assert_eq!(text(WatchdogTotals::default()), "\nPFC storms\nno watchdog detected one\n");
    }
}
