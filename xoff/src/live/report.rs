//! A live fabric as text.

use std::fmt::Write;

use emulation::live::clock::{Fidelity, GOOD_LATENESS};
use emulation::live::desk::Meanwhile;
use emulation::live::view::{HostView, NodeFidelity, PortView, SwitchView, View};
use results::{Lateness, span};
use serde::Serialize;
use units::Nanos;

use super::folder::Description;

/// How a fabric is, in JSON.
#[derive(Debug, Serialize)]
pub struct Seen {
    /// Why it has its dilation, unless that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// How it is.
    #[serde(flatten)]
    pub view: Box<View>,
}

/// How a fabric is.
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
    for switch in &view.switches {
        render_switch(&mut text, switch);
    }
    let width = width(view.hosts.iter().map(|host| host.name.len()));
    writeln!(
        text,
        "\n{:width$}  address         frames out    frames in  programs out  programs in  99 of 100 met in  state",
        "host"
    )
    .expect(WRITES);
    for host in &view.hosts {
        let mut state = state(host.is_up, &host.paused);
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

/// Whether programs see the fabric as it is.
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
    if !sleeps.is_good() {
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

/// How punctual a node is, in a line.
fn node_verdict(fidelity: &NodeFidelity) -> String {
    let NodeFidelity { is_good, recent, all } = fidelity;
    let good = if *is_good { "good" } else { "NOT GOOD" };
    match (recent.deadlines, all.deadlines) {
        (_, 0) => format!("fidelity {good}: nothing was due"),
        (0, _) => format!("fidelity {good}: since the start {}", within(all)),
        _ => format!("fidelity {good}: lately {}", within(recent)),
    }
}

/// How late 99 of 100 deadlines of a host were at most, and a mark if that is too late.
fn punctuality(fidelity: &NodeFidelity) -> String {
    let NodeFidelity { is_good, recent, all } = fidelity;
    let lateness = if recent.deadlines > 0 { recent } else { all };
    match (lateness.deadlines, is_good) {
        (0, _) => "-".to_owned(),
        (_, true) => span(Nanos(lateness.p99_ns)),
        (_, false) => format!("{} LATE", span(Nanos(lateness.p99_ns))),
    }
}

/// What programs saw of the fabric while a flow was under way.
pub fn meanwhile(fidelity: &Meanwhile) -> String {
    let Meanwhile { is_good, deadlines, late, lost_ns } = *fidelity;
    if is_good {
        return "fidelity good".to_owned();
    }
    let mut text = format!("fidelity NOT GOOD: {late} of {deadlines} deadlines met late");
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
            state(port.is_up, &port.paused),
        )
        .expect(WRITES);
    }
}

fn width(names: impl Iterator<Item = usize>) -> usize {
    names.max().unwrap_or(0).max(4)
}

/// What a port may send.
fn state(is_up: bool, paused: &[u8]) -> String {
    let mut words = Vec::new();
    if !is_up {
        words.push("down".to_owned());
    }
    words.extend(paused.iter().map(|priority| format!("priority {priority} paused")));
    if words.is_empty() { "up".to_owned() } else { words.join(", ") }
}
