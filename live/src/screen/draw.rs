//! Drawing of a screen of any size.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table as TableWidget, Wrap};
use results::span;
use units::Nanos;

use super::{Screen, Table};
use crate::glance::{Glance, Hold, HostGlance, PortGlance, SwitchGlance};
use crate::rates::{bits_per_second, bytes};
use crate::report::{self, victim_words};

/// Min number of lines for panels besides the table.
const ROOM_FOR_PANELS: u16 = 16;
/// Min number of lines for a wrapped head.
const ROOM_FOR_WRAPPED: u16 = 20;
/// Number of lines of the panels below the table.
const PANELS: u16 = 8;
/// Min width for two panels side by side.
const ROOM_FOR_TWO: u16 = 90;
/// Cells of a bar, and width of its column.
const BAR: usize = 8;

const KEYS: &str = "r rate  u queue  p pauses  d drops  o order   sort the table
t               ports or hosts
s S  Tab        the next or previous switch
a               all switches
space f         freeze
j k  arrows     scroll, also by page, Home and End
? h             this help
q Esc Ctrl-C    quit";

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    let area = frame.area();
    let panels = if area.height >= ROOM_FOR_PANELS { PANELS } else { 0 };
    let heads = if area.height >= ROOM_FOR_WRAPPED { 5 } else { area.height.min(3) };
    let [head, table, below, foot] = Layout::vertical([
        Constraint::Length(heads),
        Constraint::Min(0),
        Constraint::Length(panels),
        Constraint::Length(u16::from(area.height > 5)),
    ])
    .areas(area);
    let header = Paragraph::new(header(screen));
    let wraps = screen.glance.is_none() || heads > 3;
    frame.render_widget(if wraps { header.wrap(Wrap { trim: true }) } else { header }, head);
    if let Some(glance) = screen.glance.take() {
        draw_table(frame, screen, &glance, table);
        draw_panels(frame, screen, &glance, below);
        screen.glance = Some(glance);
    } else {
        frame.render_widget(Paragraph::new("rates are known after a period .."), table);
    }
    frame.render_widget(footer(area.width), foot);
    if screen.shows_help {
        draw_help(frame, area);
    }
}

fn header(screen: &Screen) -> Vec<Line<'static>> {
    let mut first = vec![screen.name.clone().bold(), format!(": {}", screen.shape).into()];
    let Some(glance) = &screen.glance else {
        let late = screen.late.clone().map_or_else(Line::default, |why| why.red().into());
        return vec![Line::from(first), late];
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
    vec![first.into(), second.into(), third.into()]
}

/// Returns the line of keys, as long as there is room for.
fn footer(room: u16) -> Line<'static> {
    const FOOTERS: [&str; 4] = [
        "q quit  ? help  sort: r rate u queue p pauses d drops  s switch  t hosts  space freeze",
        "q quit  ? help  sort: r u p d  s switch  t hosts  space freeze",
        "q quit  ? help  r u p d sort  s switch  t hosts  f freeze",
        "q quit  ? help",
    ];
    let fits = |keys: &&&str| keys.len() <= usize::from(room);
    let keys = FOOTERS.iter().find(fits).copied().unwrap_or_default();
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

/// A column of a table.
struct Column {
    name: &'static str,
    width: u16,
    is_number: bool,
    /// Rank of the column: columns of higher rank are left out first; rank 0 always stays.
    rank: u8,
}

const fn text(name: &'static str, width: u16, rank: u8) -> Column {
    Column { name, width, is_number: false, rank }
}

const fn number(name: &'static str, width: u16, rank: u8) -> Column {
    Column { name, width, is_number: true, rank }
}

const MAX_RANK: u8 = 6;

/// The first column is as wide as its longest cell.
const PORTS: [Column; 8] = [
    text("wire", 0, 0),
    number("out", 11, 0),
    number("in", 11, 2),
    number("of rate", 7, 3),
    number("waiting", 9, 1),
    text("", 8, 4),
    number("from it", 9, 5),
    text("paused by peer", 20, 0),
];
const HOSTS: [Column; 9] = [
    text("host", 0, 0),
    text("address", 13, 6),
    number("out", 11, 0),
    number("in", 11, 2),
    number("programs out", 12, 3),
    number("programs in", 11, 4),
    number("waiting", 7, 1),
    number("dropped", 7, 5),
    text("paused", 10, 0),
];

fn draw_table(frame: &mut Frame<'_>, screen: &mut Screen, glance: &Glance, area: Rect) {
    // Without the border and the names of the columns.
    screen.rows = usize::from(area.height.saturating_sub(3)).max(1);
    match screen.table {
        Table::Ports => {
            let ports = screen.ports(glance);
            screen.scrolled = screen.scrolled.min(ports.len().saturating_sub(screen.rows));
            let longest = ports.iter().map(|port| port.wire.len()).max();
            let most = ports.iter().map(|port| sum(port)).max().unwrap_or(0);
            let rows = ports.iter().skip(screen.scrolled).take(screen.rows);
            let rows = rows.map(|port| port_cells(port, most, glance.period_ns));
            let title = title(screen, "ports", ports.len());
            frame.render_widget(table(&PORTS, longest, rows, area.width, title), area);
        }
        Table::Hosts => {
            let hosts = screen.hosts(glance);
            screen.scrolled = screen.scrolled.min(hosts.len().saturating_sub(screen.rows));
            let longest = hosts.iter().map(|(host, _)| host.name.len()).max();
            let rows = hosts.iter().skip(screen.scrolled).take(screen.rows);
            let rows = rows.map(|(host, port)| host_cells(host, port, glance.period_ns));
            let title = title(screen, "hosts, programs in frames,", hosts.len());
            frame.render_widget(table(&HOSTS, longest, rows, area.width, title), area);
        }
    }
}

/// Makes a table of the columns that fit.
fn table<'a, const N: usize>(
    columns: &[Column; N],
    longest: Option<usize>,
    rows: impl Iterator<Item = [Line<'a>; N]>,
    room: u16,
    title: String,
) -> TableWidget<'a> {
    let first = u16::try_from(longest.unwrap_or(0).clamp(4, 24)).unwrap_or(24);
    let width = |column: &Column| if column.width == 0 { first } else { column.width };
    let highest = |most: &u8| {
        let kept = columns.iter().filter(|column| column.rank <= *most);
        // Each column has a space after it, and the table has a border.
        kept.map(|column| width(column) + 1).sum::<u16>() < room
    };
    let most = (0..=MAX_RANK).rev().find(highest).unwrap_or(0);
    let kept = || columns.iter().map(move |column| column.rank <= most);
    let aligned = |line: Line<'a>, column: &Column| {
        Cell::from(if column.is_number { line.right_aligned() } else { line })
    };
    let row = |lines: [Line<'a>; N]| {
        let cells = lines.into_iter().zip(columns).map(|(line, column)| aligned(line, column));
        Row::new(cells.zip(kept()).filter(|(_, is_kept)| *is_kept).map(|(cell, _)| cell))
    };
    let header = row(std::array::from_fn(|place| columns[place].name.into())).bold();
    let widths = columns.iter().zip(kept()).filter(|(_, is_kept)| *is_kept);
    let widths = widths.map(|(column, _)| Constraint::Length(width(column)));
    let rows: Vec<Row<'_>> = rows.map(row).collect();
    TableWidget::new(rows, widths).header(header).block(Block::bordered().title(title))
}

fn sum(port: &PortGlance) -> u64 {
    port.queued_bytes.iter().sum()
}

fn port_cells(port: &PortGlance, most: u64, period_ns: u64) -> [Line<'_>; 8] {
    let busiest = port.out_bps.max(port.in_bps);
    let waiting = sum(port);
    [
        name(&port.wire, port.is_up),
        rate(port.out_bps),
        rate(port.in_bps),
        format!("{} %", share_of(busiest, port.rate_bps)).into(),
        bytes(waiting).into(),
        bar(waiting, most).into(),
        bytes(port.ingress_bytes.iter().sum()).into(),
        paused(port, period_ns, true),
    ]
}

fn host_cells<'a>(host: &'a HostGlance, port: &PortGlance, period_ns: u64) -> [Line<'a>; 9] {
    [
        name(&host.name, port.is_up),
        host.address.as_str().into(),
        rate(port.out_bps),
        rate(port.in_bps),
        format!("+{}", host.programs_sent.period).into(),
        format!("+{}", host.programs_received.period).into(),
        host.programs_waiting.to_string().into(),
        host.programs_dropped.all.to_string().into(),
        paused(port, period_ns, false),
    ]
}

fn name(name: &str, is_up: bool) -> Line<'_> {
    if is_up { name.into() } else { name.red().into() }
}

fn rate(bps: u64) -> Line<'static> {
    let text = Line::from(bits_per_second(bps));
    if bps == 0 { text.dim() } else { text }
}

/// Returns a share in percent, rounded down.
fn share_of(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 100 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

fn bar(part: u64, most: u64) -> String {
    let cells = usize::try_from(share_of(part, most)).unwrap_or(0).min(100) * BAR;
    // Rounded up, so that any nonzero value is visible.
    "#".repeat(cells.div_ceil(100))
}

/// Returns the priorities of a port that its peer pauses or has paused, with their share of the period.
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
    if let Some(words) = victim_words(port.victim.as_deref()) {
        spans.push(format!(" {words}").cyan());
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
    frame.render_widget(
        Paragraph::new(who_pauses_whom(screen, glance)).wrap(Wrap { trim: true }).block(holds),
        left,
    );
    if two {
        let switches = Block::bordered().title(" switches ");
        frame.render_widget(
            Paragraph::new(switches_text(screen, glance, right.width.saturating_sub(2)))
                .wrap(Wrap { trim: true })
                .block(switches),
            right,
        );
    }
}

/// Makes a line for each node and priority, with the paused wires, the longest paused first.
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

/// Makes a line for each switch, the fullest first. The bar is left out if the line would not fit.
fn switches_text(screen: &Screen, glance: &Glance, room: u16) -> Text<'static> {
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
        let held = format!(
            "{} of {}, at most {}; marked +{}",
            bytes(switch.buffer_bytes),
            bytes(switch.capacity_bytes),
            bytes(switch.most_buffer_bytes),
            switch.ecn_marked.period,
        );
        let with_bar = format!("{} [{filled:BAR$}] {held}", switch.name);
        let fits = with_bar.chars().count() <= usize::from(room);
        let line = if fits { with_bar } else { format!("{} {held}", switch.name) };
        let mut spans: Vec<Span<'static>> = vec![line.into()];
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
