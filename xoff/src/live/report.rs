//! A live fabric as text.

use std::fmt::Write;

use emulation::live::clock::{Fidelity, GOOD_LATENESS, Lateness};
use emulation::live::view::{HostView, PortView, StormView, SwitchView, View};
use results::span;
use units::Nanos;

use super::folder::Description;

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
    for switch in &view.switches {
        render_switch(&mut text, switch);
    }
    render_storms(&mut text, view);
    let width = width(view.hosts.iter().map(|host| host.name.len()));
    writeln!(
        text,
        "\n{:width$}  address         frames out    frames in  programs out  programs in  state",
        "host"
    )
    .expect(WRITES);
    for host in &view.hosts {
        let mut state = state(host.is_up, &host.paused);
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
            "{name:width$}  {address:14} {sent_frames:11}  {received_frames:11}  {:12}  {:11}  {}",
            host.program_frames_sent, host.program_frames_received, state,
        )
        .expect(WRITES);
    }
    text
}

const WRITES: &str = "a String takes every write";

/// Whether programs see the fabric as it is.
pub fn verdict(fidelity: &Fidelity) -> String {
    let Fidelity { is_good, dilation, recent, all, recently_slipped_ns, slipped_ns } = fidelity;
    let good = if *is_good { "good" } else { "NOT GOOD" };
    let limit = span(Nanos(u64::try_from(GOOD_LATENESS.as_nanos()).unwrap_or(u64::MAX)));
    let within = |lateness: &Lateness| {
        let (p99, most) = (span(Nanos(lateness.p99_ns)), span(Nanos(lateness.most_ns)));
        format!("99 of 100 deadlines were served within {p99}, all within {most}")
    };
    let mut text = match (recent.windows, all.windows) {
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
    if *slipped_ns > 0 {
        write!(
            text,
            "; the emulated clock lost {} because the machine could not keep up, {} of it lately",
            span(Nanos(*slipped_ns)),
            span(Nanos(*recently_slipped_ns))
        )
        .expect(WRITES);
    }
    if *dilation > 1 {
        write!(text, "; an emulated second takes {dilation} seconds").expect(WRITES);
    }
    if !is_good {
        text += "; a larger --dilation asks less of the machine";
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

/// What watchdogs have seen; nothing if that is nothing.
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
