//! The report's section on states of ports.

use std::fmt::{self, Write};

use units::Nanos;

use super::{Style, quantity};
use crate::port_state::PortStateTotals;

/// How often ports were victims, how long, and which of them paused.
pub(super) fn port_states(out: &mut String, totals: &PortStateTotals, style: Style) -> fmt::Result {
    let PortStateTotals { victims, ports, victim_ns, pauses_of_victims, pauses_of_normal } =
        *totals;
    writeln!(out, "{}", style.heading("Victims"))?;
    if victims == 0 {
        return writeln!(out, "no port was a victim");
    }
    writeln!(
        out,
        "{} became a victim {}, for {} in sum",
        quantity::counted(ports, "port"),
        quantity::counted(victims, "time"),
        quantity::span(Nanos(victim_ns)),
    )?;
    writeln!(out, "PAUSEs: {pauses_of_victims} of victims, {pauses_of_normal} of normal ports")
}
