//! Pauses of single queues.

use std::fmt::{self, Write};

use units::Nanos;

use super::{Style, quantity};
use crate::queue_pause::QueuePauseTotals;

/// How many there were, and how long.
pub(super) fn queue_pauses(
    out: &mut String,
    totals: &QueuePauseTotals,
    style: Style,
) -> fmt::Result {
    let span = |nanos| quantity::span(Nanos(nanos));
    writeln!(out, "{}", style.heading("Pauses of queues"))?;
    if totals.pauses == 0 {
        return writeln!(out, "no switch paused a queue");
    }
    writeln!(
        out,
        "{} of {}, ordered for {} in sum, the longest for {}",
        quantity::counted(totals.pauses, "pause"),
        quantity::counted(totals.queues, "queue"),
        span(totals.ordered_ns),
        span(totals.longest_ns),
    )
}
