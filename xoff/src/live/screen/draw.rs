//! Draws a screen, however large or small.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table as TableWidget, Wrap};
use results::span;
use units::Nanos;

use super::{Screen, Table};
use crate::live::glance::{Glance, Hold, HostGlance, PortGlance, SwitchGlance};
use crate::live::rates::{bits_per_second, bytes};
use crate::live::report;

/// Below so many lines there is the table alone.
const ROOM_FOR_PANELS: u16 = 16;
/// Lines of the panels below the table.
const PANELS: u16 = 8;
/// Below this width the panels are one.
const ROOM_FOR_TWO: u16 = 90;
/// Cells of a bar.
const BAR: usize = 8;

const KEYS: &str = "r rate  u queue  p pauses  d drops  o order   sort the table
t               ports or hosts
s S  Tab        the next or previous switch
a               all switches
space f         freeze
j k  arrows     scroll, also by page, Home and End
? h             this help
q Esc Ctrl-C    quit";

/// Draws it.
pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    let area = frame.area();
    let panels = if area.height >= ROOM_FOR_PANELS { PANELS } else { 0 };
    let heads = area.height.min(3);
    let [head, table, below, foot] = Layout::vertical([
        Constraint::Length(heads),
        Constraint::Min(0),
        Constraint::Length(panels),
        Constraint::Length(u16::from(area.height > 5)),
    ])
    .areas(area);
    frame.render_widget(header(screen), head);
    if let Some(glance) = screen.glance.take() {
        draw_table(frame, screen, &glance, table);
        draw_panels(frame, screen, &glance, below);
        screen.glance = Some(glance);
    } else {
        frame.render_widget(Paragraph::new("rates are known after a period .."), table);
    }
    frame.render_widget(footer(), foot);
    if screen.shows_help {
        draw_help(frame, area);
    }
}

fn header(screen: &Screen) -> Paragraph<'static> {
    let mut first = vec![screen.name.clone().bold(), format!(": {}", screen.shape).into()];
    let Some(glance) = &screen.glance else {
        let late = screen.late.clone().map_or_else(Line::default, |why| why.red().into());
        return Paragraph::new(vec![Line::from(first), late]).wrap(Wrap { trim: true });
    };
    let Glance { emulated_ns, active_flows, completed_flows, .. } = glance;
    first.push(format!(", up for {}", seconds(*emulated_ns)).into());
    if screen.is_frozen {
        first.push("  FROZEN".bold().yellow());
    }
    let marked = glance.ecn_marked();
    let delivered = bits_per_second(glance.delivered_bps());
    let mut second: Vec<Span<'_>> = vec![
        format!(
            "to hosts {delivered}; flows {active_flows} under way, {completed_flows} done; ECN marks +{} ({})",
            marked.period, marked.all
        )
        .into(),
    ];
    for (reason, count) in glance.drops() {
        let text = format!("; {reason} +{} ({})", count.period, count.all);
        second.push(if count.period > 0 { text.red() } else { text.into() });
    }
    let fidelity = report::verdict(&glance.fidelity);
    let third = match &screen.late {
        Some(why) => why.clone().red().bold(),
        None if glance.fidelity.is_good => fidelity.green(),
        None => fidelity.red(),
    };
    Paragraph::new(vec![first.into(), second.into(), third.into()])
}

fn footer() -> Line<'static> {
    let keys =
        "q quit  ? help  sort: r rate u queue p pauses d drops  s switch  t hosts  space freeze";
    Line::from(keys).style(Style::new().add_modifier(Modifier::DIM))
}

fn title(screen: &Screen, what: &str, rows: usize) -> String {
    let of = screen.switch.as_ref().map(|switch| format!(" of {switch}")).unwrap_or_default();
    let last = rows.min(screen.scrolled + screen.rows);
    let place = if rows > screen.rows {
        format!(", {} to {last} of {rows}", screen.scrolled + 1)
    } else {
        String::new()
    };
    format!(" {what}{of} by {}{place} ", screen.sort.name())
}

fn draw_table(frame: &mut Frame<'_>, screen: &mut Screen, glance: &Glance, area: Rect) {
    // The border, and the names of the columns.
    screen.rows = usize::from(area.height.saturating_sub(3)).max(1);
    match screen.table {
        Table::Ports => {
            let ports = screen.ports(glance);
            screen.scrolled = screen.scrolled.min(ports.len().saturating_sub(screen.rows));
            let rows = ports.iter().skip(screen.scrolled).take(screen.rows);
            let names =
                ["wire", "out", "in", "of rate", "waiting", "", "from it", "paused by peer"];
            let widths = [
                wide(ports.iter().map(|port| port.wire.len())),
                Constraint::Length(11),
                Constraint::Length(11),
                Constraint::Length(7),
                Constraint::Length(9),
                Constraint::Length(8),
                Constraint::Length(9),
                Constraint::Min(14),
            ];
            let most = ports.iter().map(|port| sum(port)).max().unwrap_or(0);
            let rows = rows.map(|port| port_row(port, most, glance.period_ns));
            let title = title(screen, "ports", ports.len());
            let table = TableWidget::new(rows, widths).header(Row::new(names).bold());
            frame.render_widget(table.block(Block::bordered().title(title)), area);
        }
        Table::Hosts => {
            let hosts = screen.hosts(glance);
            screen.scrolled = screen.scrolled.min(hosts.len().saturating_sub(screen.rows));
            let rows = hosts.iter().skip(screen.scrolled).take(screen.rows);
            let names = [
                "host",
                "address",
                "out",
                "in",
                "programs out",
                "in",
                "waiting",
                "dropped",
                "paused",
            ];
            let widths = [
                wide(hosts.iter().map(|(host, _)| host.name.len())),
                Constraint::Length(13),
                Constraint::Length(11),
                Constraint::Length(11),
                Constraint::Length(12),
                Constraint::Length(10),
                Constraint::Length(7),
                Constraint::Length(7),
                Constraint::Min(10),
            ];
            let rows = rows.map(|(host, port)| host_row(host, port, glance.period_ns));
            let title = title(screen, "hosts", hosts.len());
            let table = TableWidget::new(rows, widths).header(Row::new(names).bold());
            frame.render_widget(table.block(Block::bordered().title(title)), area);
        }
    }
}

fn wide(names: impl Iterator<Item = usize>) -> Constraint {
    let longest = names.max().unwrap_or(0).clamp(4, 24);
    Constraint::Length(u16::try_from(longest).unwrap_or(24))
}

fn sum(port: &PortGlance) -> u64 {
    port.queued_bytes.iter().sum()
}

fn port_row(port: &PortGlance, most: u64, period_ns: u64) -> Row<'_> {
    let name = if port.is_up { port.wire.as_str().into() } else { port.wire.as_str().red() };
    let busiest = port.out_bps.max(port.in_bps);
    let share = share_of(busiest, port.rate_bps);
    let waiting = sum(port);
    Row::new([
        Cell::from(name),
        rate_cell(port.out_bps),
        rate_cell(port.in_bps),
        Cell::from(Line::from(format!("{share} %")).right_aligned()),
        Cell::from(Line::from(bytes(waiting)).right_aligned()),
        Cell::from(bar(waiting, most)),
        Cell::from(Line::from(bytes(port.ingress_bytes.iter().sum())).right_aligned()),
        Cell::from(paused(port, period_ns, true)),
    ])
}

fn host_row<'a>(host: &'a HostGlance, port: &PortGlance, period_ns: u64) -> Row<'a> {
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let name = if port.is_up { host.name.as_str().into() } else { host.name.as_str().red() };
    Row::new([
        Cell::from(name),
        Cell::from(host.address.as_str()),
        rate_cell(port.out_bps),
        rate_cell(port.in_bps),
        right(format!("+{}", host.programs_sent.period)),
        right(format!("+{}", host.programs_received.period)),
        right(host.programs_waiting.to_string()),
        right(host.programs_dropped.all.to_string()),
        Cell::from(paused(port, period_ns, false)),
    ])
}

fn rate_cell(bps: u64) -> Cell<'static> {
    let text = Line::from(bits_per_second(bps)).right_aligned();
    Cell::from(if bps == 0 { text.dim() } else { text })
}

/// In percent, rounded down.
fn share_of(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 100 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

fn bar(part: u64, most: u64) -> String {
    let cells = usize::try_from(share_of(part, most)).unwrap_or(0).min(100) * BAR;
    // Whatever waits is seen.
    "#".repeat(cells.div_ceil(100))
}

/// The priorities of a port that its peer pauses, or has paused, and for which part of the period.
fn paused(port: &PortGlance, period_ns: u64, names_peer: bool) -> Line<'static> {
    let mut spans: Vec<Span<'_>> = Vec::new();
    for priority in port.held() {
        let share = share_of(port.paused_ns[usize::from(priority)], period_ns);
        let text = format!("{priority}: {share} %  ");
        let is_now = port.paused.contains(&priority);
        spans.push(if is_now { text.red().bold() } else { text.yellow() });
    }
    if names_peer && !spans.is_empty() {
        spans.push(format!("by {}", port.peer).into());
    }
    if !port.is_up {
        spans.push("down".red());
    }
    spans.into()
}

fn draw_panels(frame: &mut Frame<'_>, screen: &Screen, glance: &Glance, area: Rect) {
    let two = area.width >= ROOM_FOR_TWO;
    let widths = if two {
        [Constraint::Fill(1), Constraint::Fill(1)]
    } else {
        [Constraint::Fill(1), Constraint::Length(0)]
    };
    let [left, right] = Layout::horizontal(widths).areas(area);
    let holds = Block::bordered().title(" who pauses whom ");
    frame.render_widget(Paragraph::new(who_pauses_whom(screen, glance)).block(holds), left);
    if two {
        let switches = Block::bordered().title(" switches ");
        frame.render_widget(Paragraph::new(switches_text(screen, glance)).block(switches), right);
    }
}

/// A line for each node and priority, with the wires that it holds, the longest held first.
fn who_pauses_whom(screen: &Screen, glance: &Glance) -> Text<'static> {
    let mut groups: Vec<(&str, u8, Vec<&Hold>)> = Vec::new();
    for hold in &glance.holds {
        match groups
            .iter_mut()
            .find(|(by, priority, _)| *by == hold.by && *priority == hold.priority)
        {
            Some((.., held)) => held.push(hold),
            None => groups.push((&hold.by, hold.priority, vec![hold])),
        }
    }
    groups.retain(|(by, _, held)| {
        screen.switch.is_none()
            || held
                .iter()
                .any(|hold| screen.is_picked(by, hold.wire.split("->").next().unwrap_or("")))
    });
    for (.., held) in &mut groups {
        held.sort_by_key(|hold| std::cmp::Reverse(hold.paused_ns));
    }
    groups.sort_by_key(|(.., held)| {
        std::cmp::Reverse(held.iter().map(|hold| hold.paused_ns).sum::<u64>())
    });
    if groups.is_empty() {
        return Text::from("nobody paused anybody in this period".dim());
    }
    let line = |(by, priority, held): &(&str, u8, Vec<&Hold>)| {
        let mut spans: Vec<Span<'static>> = vec![format!("{by} holds {priority} of ").into()];
        for (place, hold) in held.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let share = share_of(hold.paused_ns, glance.period_ns);
            let text = format!("{comma}{} {share} %", hold.wire);
            spans.push(if hold.now { text.red() } else { text.yellow() });
        }
        Line::from(spans)
    };
    groups.iter().map(line).collect::<Vec<_>>().into()
}

fn switches_text(screen: &Screen, glance: &Glance) -> Text<'static> {
    let picked = glance
        .switches
        .iter()
        .filter(|switch| screen.switch.as_deref().is_none_or(|picked| picked == switch.name));
    let mut switches: Vec<_> = picked.collect();
    switches.sort_by_key(|switch| {
        std::cmp::Reverse(share_of(switch.buffer_bytes, switch.capacity_bytes))
    });
    let line = |switch: &&SwitchGlance| {
        let filled = bar(switch.buffer_bytes, switch.capacity_bytes);
        let mut spans: Vec<Span<'static>> = vec![
            format!(
                "{} [{filled:BAR$}] {} of {}, at most {}; marked +{}",
                switch.name,
                bytes(switch.buffer_bytes),
                bytes(switch.capacity_bytes),
                bytes(switch.most_buffer_bytes),
                switch.ecn_marked.period,
            )
            .into(),
        ];
        for (reason, count) in &switch.drops {
            let text = format!("; {reason} +{} ({})", count.period, count.all);
            spans.push(if count.period > 0 { text.red() } else { text.into() });
        }
        Line::from(spans)
    };
    switches.iter().map(line).collect::<Vec<_>>().into()
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let [width, height] = [area.width.min(56), area.height.min(10)];
    let help = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, help);
    let text = Paragraph::new(KEYS).style(Style::new().fg(Color::Reset));
    frame.render_widget(text.block(Block::bordered().title(" keys ")), help);
}

fn seconds(nanos: u64) -> String {
    if nanos < 1_000_000_000 {
        span(Nanos(nanos))
    } else {
        format!("{}.{} s", nanos / 1_000_000_000, nanos / 100_000_000 % 10)
    }
}
