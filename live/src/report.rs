//! A live fabric as text.

use std::fmt::Write;

use emulation::live::clock::{Fidelity, GOOD_LATENESS};
use emulation::live::desk::Meanwhile;
use emulation::live::impairment::Impairment;
use emulation::live::view::{
    HostView, NodeFidelity, PortView, StormView, SwitchView, View, WireView,
};
use results::{DeadlineCount, Lateness, counted, span};
use scenario::quantity::display;
use serde::Serialize;
use units::{BitsPerSecond, Nanos, Picos};

use super::folder::Description;

/// State of a fabric, in JSON.
#[derive(Debug, Serialize)]
pub struct Seen {
    /// Reason for the dilation, unless it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// View of the fabric.
    #[serde(flatten)]
    pub view: Box<View>,
}

/// Formats the state of a fabric.
pub fn render(description: &Description, view: &View) -> String {
    let mut text = format!(
        "{}: {}, up for {} of emulated time\n{}\nflows: {} under way, {} done; {} packet-hops\n",
        description.name,
        description.shape,
        span(Nanos(view.emulated_ns)),
        verdict(&view.fidelity),
        view.active_flows,
        view.completed_flows,
        view.packet_hops,
    );
    if let Some(why) = &description.calibration {
        writeln!(text, "{why}").expect(WRITES);
    }
    if let Some(results) = &view.results {
        match &results.stopped {
            None => writeln!(text, "results: at the end, in {}", results.folder),
            Some(why) => writeln!(text, "results: NONE: {why}; the fabric goes on without"),
        }
        .expect(WRITES);
    }
    if let Some(lossy) = &description.lossy {
        writeln!(text, "{lossy}").expect(WRITES);
    }
    for switch in &view.switches {
        render_switch(&mut text, switch);
    }
    render_storms(&mut text, view);
    let width = width(view.hosts.iter().map(|host| host.name.len()));
    writeln!(
        text,
        "\n{:width$}  address         frames out    frames in  programs out  programs in  99 of 100 met in  state",
        "host"
    )
    .expect(WRITES);
    for host in &view.hosts {
        let mut state = state(&host.wire_state, &host.paused);
        for priority in &host.storms {
            write!(state, "; pauses priority {priority} without end").expect(WRITES);
        }
        if host.program_frames_too_long > 0 {
            write!(
                state,
                "; {} frames of programs dropped: too long",
                host.program_frames_too_long
            )
            .expect(WRITES);
        }
        if host.program_frames_dropped > 0 {
            let frames = host.program_frames_dropped;
            write!(state, "; {frames} frames of programs dropped: paused for too long")
                .expect(WRITES);
        }
        let HostView { name, address, sent_frames, received_frames, .. } = host;
        writeln!(
            text,
            "{name:width$}  {address:14} {sent_frames:11}  {received_frames:11}  {:12}  {:11}  {:>17}  {}",
            host.program_frames_sent,
            host.program_frames_received,
            punctuality(&host.fidelity),
            state,
        )
        .expect(WRITES);
    }
    text
}

const WRITES: &str = "a String takes every write";

/// Describes whether programs see the fabric as it should be.
pub fn verdict(fidelity: &Fidelity) -> String {
    let Fidelity { is_good, dilation, recent, all, lost_ns, recently_lost_ns, .. } = fidelity;
    let good = if *is_good { "good" } else { "NOT GOOD" };
    let limit = span(Nanos(u64::try_from(GOOD_LATENESS.as_nanos()).unwrap_or(u64::MAX)));
    let mut text = match (recent.deadlines, all.deadlines) {
        (_, 0) => format!("fidelity: {good}: nothing was due so far"),
        (0, _) => format!(
            "fidelity: {good}: nothing was due in the last seconds; since the start {}",
            within(all)
        ),
        _ => format!(
            "fidelity: {good}: in the last seconds {} ({limit} for 99 of 100 is good); since the start {}",
            within(recent),
            within(all)
        ),
    };
    let sleeps = &fidelity.recent_sleeps;
    if !sleeps.count().is_good_of_sleeps() {
        write!(
            text,
            "; the machine woke the engine up late: {} of {} times, by up to {}",
            sleeps.late,
            sleeps.deadlines,
            span(Nanos(sleeps.most_ns))
        )
        .expect(WRITES);
    }
    if *lost_ns > 0 {
        write!(
            text,
            "; the emulated clock lost {} because the machine could not keep up, {} of it lately",
            span(Nanos(*lost_ns)),
            span(Nanos(*recently_lost_ns))
        )
        .expect(WRITES);
    }
    if *dilation > 1 {
        write!(text, "; an emulated second takes {dilation} seconds").expect(WRITES);
    }
    if !is_good {
        text += "; a larger --dilation asks less of the machine, and --real-time gives the fabric more of it";
    }
    text
}

fn within(lateness: &Lateness) -> String {
    let (p99, most) = (span(Nanos(lateness.p99_ns)), span(Nanos(lateness.most_ns)));
    format!("99 of 100 deadlines were met within {p99}, all within {most}")
}

/// Describes a node's punctuality in one line.
fn node_verdict(fidelity: &NodeFidelity) -> String {
    let NodeFidelity { is_good, recent, all } = fidelity;
    let good = if *is_good { "good" } else { "NOT GOOD" };
    match (recent.deadlines, all.deadlines) {
        (_, 0) => format!("fidelity {good}: nothing was due"),
        (0, _) => format!("fidelity {good}: since the start {}", within(all)),
        _ => format!("fidelity {good}: lately {}", within(recent)),
    }
}

/// Describes the lateness of 99 of 100 deadlines of a host, with a mark if it is too large.
fn punctuality(fidelity: &NodeFidelity) -> String {
    let NodeFidelity { is_good, recent, all } = fidelity;
    let lateness = if recent.deadlines > 0 { recent } else { all };
    match (lateness.deadlines, is_good) {
        (0, _) => "-".to_owned(),
        (_, true) => span(Nanos(lateness.p99_ns)),
        (_, false) => format!("{} LATE", span(Nanos(lateness.p99_ns))),
    }
}

/// Describes the fabric's punctuality while a flow was under way.
pub fn meanwhile(fidelity: &Meanwhile) -> String {
    let Meanwhile { is_good, deadlines, late, sleeps, late_sleeps, lost_ns } = *fidelity;
    if is_good {
        return "fidelity good".to_owned();
    }
    let mut text = format!("fidelity NOT GOOD: {late} of {deadlines} deadlines met late");
    let of_sleeps = DeadlineCount { deadlines: sleeps, late: late_sleeps };
    if !of_sleeps.is_good_of_sleeps() {
        write!(text, ", the engine woke up late {late_sleeps} of {sleeps} times").expect(WRITES);
    }
    if lost_ns > 0 {
        write!(text, ", {} lost", span(Nanos(lost_ns))).expect(WRITES);
    }
    text
}

fn render_switch(text: &mut String, switch: &SwitchView) {
    let SwitchView { name, buffer_bytes, most_buffer_bytes, capacity_bytes, .. } = switch;
    write!(
        text,
        "\n{name}: {buffer_bytes} of {capacity_bytes} B in the buffer, at most {most_buffer_bytes}; {} packets marked",
        switch.ecn_marked
    )
    .expect(WRITES);
    for (reason, frames) in &switch.drops {
        write!(text, "; {frames} dropped: {reason}").expect(WRITES);
    }
    write!(text, "\n  {}", node_verdict(&switch.fidelity)).expect(WRITES);
    let width = width(switch.ports.iter().map(|port| port.peer.len()));
    writeln!(
        text,
        "\n  {:width$}  Gbit/s   frames out    frames in  waiting B  from it B  state",
        "to"
    )
    .expect(WRITES);
    for port in &switch.ports {
        let PortView { peer, rate_bps, sent_frames, received_frames, .. } = port;
        writeln!(
            text,
            "  {peer:width$}  {:6}  {sent_frames:11}  {received_frames:11}  {:9}  {:9}  {}",
            *rate_bps as f64 / 1e9,
            port.queued_bytes.iter().sum::<u64>(),
            port.ingress_bytes.iter().sum::<u64>(),
            port_state(port),
        )
        .expect(WRITES);
    }
}

/// Describes the state of a port in both directions.
fn port_state(port: &PortView) -> String {
    let state = state(&port.wire_state, &port.paused);
    match victim_words(port.victim.as_deref()) {
        Some(words) => format!("{state}; {words}"),
        None => state,
    }
}

/// Lists the priorities in which a port is a victim (SPFC), if it is one.
pub fn victim_words(priorities: Option<&[u8]>) -> Option<String> {
    let numbers: Vec<String> = priorities?.iter().map(u8::to_string).collect();
    match numbers.len() {
        0 => None,
        1 => Some(format!("victim in priority {}", numbers[0])),
        _ => Some(format!("victim in priorities {}", numbers.join(", "))),
    }
}

/// Writes the storms that watchdogs have detected; nothing without storms.
fn render_storms(text: &mut String, view: &View) {
    let mut histories = view
        .switches
        .iter()
        .flat_map(|switch| switch.storms.iter().map(move |storm| (&switch.name, storm)));
    if view.storm_events.is_empty() && histories.clone().next().is_none() {
        return;
    }
    writeln!(text, "\nPFC storms").expect(WRITES);
    histories.try_for_each(|(switch, storm)| {
        let StormView { port, peer, priority, detected, restored, counts, .. } = storm;
        let now = if storm.is_present { "NOW" } else { "not now" };
        writeln!(
            text,
            "  {switch} port {port} to {peer}, priority {priority}: {now}; {detected} detected, {restored} over; {counts}"
        )
    })
    .expect(WRITES);
    for event in &view.storm_events {
        writeln!(text, "  {event}").expect(WRITES);
    }
}

/// Describes a wire's deviations from the scenario, and its lost frames.
pub fn wire_words(wire: &WireView) -> Vec<String> {
    let WireView { is_up, is_flapping, is_avoided, impairment, lost_frames, damaged_frames } = wire;
    let Impairment { loss_millionths, corrupt_millionths, delay_ps, jitter_ps, rate_bps } =
        *impairment;
    let states =
        [(!is_up, "down"), (*is_flapping, "flapping"), (*is_avoided, "routes avoid its link")];
    let states = states.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word.to_owned());
    let settings = [
        (loss_millionths > 0, format!("loss {}", percent(loss_millionths))),
        (corrupt_millionths > 0, format!("corrupt {}", percent(corrupt_millionths))),
        (delay_ps > 0, format!("delay +{}", display(Picos(delay_ps)))),
        (jitter_ps > 0, format!("jitter {}", display(Picos(jitter_ps)))),
        (rate_bps > 0, format!("rate {}", display(BitsPerSecond(rate_bps)))),
        (*lost_frames > 0, format!("{} lost", counted(*lost_frames, "frame"))),
        (*damaged_frames > 0, format!("{} damaged", counted(*damaged_frames, "frame"))),
    ];
    states.chain(settings.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word)).collect()
}

/// Formats millionths as a percentage: 1000 are 0.1%.
pub fn percent(millionths: u32) -> String {
    let digits = format!("{}.{:04}", millionths / 10_000, millionths % 10_000);
    format!("{}%", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn width(names: impl Iterator<Item = usize>) -> usize {
    names.max().unwrap_or(0).max(4)
}

/// Describes the state of a port's wire, and its paused priorities.
fn state(wire: &WireView, paused: &[u8]) -> String {
    let mut words = wire_words(wire);
    words.extend(paused.iter().map(|priority| format!("priority {priority} paused")));
    if words.is_empty() { "up".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impairments_are_reported_as_they_are_written() {
        let set = Impairment {
            loss_millionths: 1000,
            corrupt_millionths: 1_000_000,
            delay_ps: 5_000_000,
            jitter_ps: 500,
            rate_bps: 50_000_000,
        };
        let wire = WireView {
            is_up: false,
            is_flapping: true,
            is_avoided: true,
            impairment: set,
            lost_frames: 1,
            damaged_frames: 2000,
        };
        let words = "down, flapping, routes avoid its link, loss 0.1%, corrupt 100%, delay +5us, jitter 500ps, \
                     rate 50Mbps, 1 frame lost, 2,000 frames damaged, priority 3 paused";
        assert_eq!(state(&wire, &[3]), words);
        let plain = WireView {
            is_up: true,
            is_flapping: false,
            is_avoided: false,
            impairment: Impairment::default(),
            lost_frames: 0,
            damaged_frames: 0,
        };
        assert_eq!(state(&plain, &[]), "up");
        assert_eq!([1, 12_345, 500_000].map(percent), ["0.0001%", "1.2345%", "50%"]);
    }

    #[test]
    fn a_port_that_is_a_victim_is_reported() {
        let wire_state = WireView { is_up: true, ..WireView::default() };
        let port = |victim: Option<Vec<u8>>| {
            port_state(&PortView { wire_state, victim, ..PortView::default() })
        };
        assert_eq!([None, Some(vec![])].map(port), ["up", "up"]);
        assert_eq!(port(Some(vec![3])), "up; victim in priority 3");
        assert_eq!(port(Some(vec![3, 4])), "up; victim in priorities 3, 4");
    }
}
