//! The report's section on states of ports.

use std::fmt::{self, Write};

use units::Nanos;

use super::{Style, quantity};
use crate::port_state::PortStateTotals;

/// Section on ports as victims: times, durations, and pauses by state.
pub(super) fn port_states(out: &mut String, totals: &PortStateTotals, style: Style) -> fmt::Result {
    let PortStateTotals { victims, ports, victim_ns, .. } = *totals;
    let PortStateTotals { pauses_of_victims, pauses_of_normal, of_queues, .. } = *totals;
    let noun = if of_queues { "queue" } else { "port" };
    writeln!(out, "{}", style.heading("Victims"))?;
    if victims == 0 {
        return writeln!(out, "there was no victim");
    }
    writeln!(
        out,
        "{} became a victim {}, for {} in sum",
        quantity::counted(ports, noun),
        quantity::counted(victims, "time"),
        quantity::span(Nanos(victim_ns)),
    )?;
    writeln!(out, "PAUSEs: {pauses_of_victims} of victims, {pauses_of_normal} of normal {noun}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victims_are_ports_or_queues_and_pauses_are_distinguished() {
        let ports = PortStateTotals {
            victims: 3,
            ports: 2,
            victim_ns: 1500,
            pauses_of_victims: 4,
            pauses_of_normal: 50,
            of_queues: false,
        };
        let said = |totals| {
            let mut out = String::new();
            port_states(&mut out, &totals, Style::plain()).expect("a String takes every write");
            out.lines().skip(1).collect::<Vec<_>>().join("\n")
        };
        let expected = "2 ports became a victim 3 times, for 1.5 us in sum\n\
                        PAUSEs: 4 of victims, 50 of normal ports";
        assert_eq!(said(ports), expected);
        let queues = PortStateTotals { of_queues: true, ..ports };
        assert_eq!(said(queues), expected.replace("ports", "queues"));
        assert_eq!(said(PortStateTotals::default()), "there was no victim");
    }
}
