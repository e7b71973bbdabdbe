//! The report's section on pauses of flows.

use std::fmt::{self, Write};

use units::Nanos;

use super::{Style, quantity};
use crate::flow_pause::{FlowPauseTotals, UnresumedFlow};

/// Section on pauses of flows, and on packets without an entry of a flow table.
pub(super) fn flow_pauses(out: &mut String, totals: &FlowPauseTotals, style: Style) -> fmt::Result {
    let FlowPauseTotals { pause_frames, flows, resume_frames, .. } = *totals;
    let FlowPauseTotals { class_pauses, unnamed_packets, .. } = *totals;
    writeln!(out, "{}", style.heading("Pauses of flows"))?;
    if pause_frames == 0 {
        writeln!(out, "no switch paused a flow")?;
    } else {
        writeln!(
            out,
            "{} of {}, {}",
            quantity::counted(pause_frames, "PAUSE"),
            quantity::counted(flows, "flow"),
            quantity::counted(resume_frames, "RESUME"),
        )?;
    }
    for UnresumedFlow { flow, node, by, resumed_ns, .. } in &totals.unresumed {
        writeln!(
            out,
            "flow {flow} waits at {node} for a RESUME that {by} decided on at {} and that was lost",
            quantity::span(Nanos(*resumed_ns)),
        )?;
    }
    if unnamed_packets == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "flow tables were too small for {}: {} of their classes",
        quantity::counted(unnamed_packets, "packet"),
        quantity::counted(class_pauses, "PAUSE"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_without_an_entry_are_reported() {
        let described = |totals| {
            let mut out = String::new();
            flow_pauses(&mut out, &totals, Style::plain()).unwrap();
            out
        };
        let some =
            FlowPauseTotals { pause_frames: 2, flows: 5, resume_frames: 1, ..Default::default() };
        assert_eq!(described(some), "Pauses of flows\n2 PAUSEs of 5 flows, 1 RESUME\n");
        let full = FlowPauseTotals { class_pauses: 1, unnamed_packets: 9, ..Default::default() };
        assert_eq!(
            described(full),
            "Pauses of flows\nno switch paused a flow\nflow tables were too small for 9 packets: 1 PAUSE of their classes\n"
        );
    }
}
