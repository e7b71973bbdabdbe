//! Pauses of single queues.

use std::fmt::{self, Write};

use units::Nanos;

use super::{Style, quantity};
use crate::flow_queue::FlowQueueTotals;
use crate::queue_pause::QueuePauseTotals;

/// Section on pauses of single queues: numbers and durations.
pub(super) fn queue_pauses(
    out: &mut String,
    totals: &QueuePauseTotals,
    flows: Option<&FlowQueueTotals>,
    style: Style,
) -> fmt::Result {
    let span = |nanos| quantity::span(Nanos(nanos));
    writeln!(out, "{}", style.heading("Pauses of queues"))?;
    if let Some(FlowQueueTotals { activations, collisions }) = flows {
        let times = quantity::counted(*activations, "time");
        writeln!(
            out,
            "a flow came to have packets at a port {times}, {collisions} of these in a queue with other packets"
        )?;
    }
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
