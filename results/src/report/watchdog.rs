//! PFC storms.

use std::fmt::{self, Write};

use units::{Bytes, Nanos};

use super::{Style, quantity};
use crate::watchdog::WatchdogTotals;

/// How many there were, and what became of packets.
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
    for (packets, bytes, what) in [
        (
            totals.egress_dropped_packets,
            totals.egress_dropped_bytes,
            "for stormed ports were dropped",
        ),
        (
            totals.ingress_dropped_packets,
            totals.ingress_dropped_bytes,
            "from stormed ports were dropped",
        ),
        (totals.forwarded_packets, totals.forwarded_bytes, "were sent in spite of pauses"),
    ] {
        if packets > 0 {
            let packets = quantity::counted(packets, "packet");
            writeln!(out, "{packets} ({}) {what}", quantity::bytes(Bytes(bytes)))?;
        }
    }
    Ok(())
}
